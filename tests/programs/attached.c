/* SPDX-License-Identifier: MIT */
/*
 * For `loupe attach`: files in a directory, the first argument, tell the ranks what to do.
 *
 *     go    so many rounds as the second argument says; before that, time passes
 *     load  a library is loaded, the third argument, whose function calls MPI before each round
 *     spin  rounds until there is `end`
 *     silent  while time passes no call of MPI is made, not even MPI_Comm_rank
 *
 * In a round everybody takes a step of 0.5 ms, one in a thread beside and one in a thread that is
 * started for it, sends two messages of 8 ints to the next rank, gets 100 from one rank and sends
 * them to another in a communicator in which all ranks are in reverse order, and all sum up. What
 * was begun before (a receive, a persistent send) ends in the first round. All that is received is
 * checked, and that errno stays as it is where MPI leaves it alone.
 */
#include "told.h"

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size, bad;
static MPI_Comm reverse;

static void pass_time(const char *until)
{
    int me;
    while (!told(until)) {
        if (!told("silent")) {
            errno = EXDEV;
            MPI_Comm_rank(MPI_COMM_WORLD, &me);
            bad += errno != EXDEV;
        }
        usleep(2000);
    }
}

/* A library that was not there before. */
static int (*call_mpi)(int);

static void load(const char *path)
{
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    *(void **)&call_mpi = library ? dlsym(library, "call_mpi") : NULL;
    bad += !call_mpi;
}

/* A procedure of 0.5 ms at least, with room for a probe at its end. */
__attribute__((noinline)) int take_step(long ns)
{
    const struct timespec nap = {.tv_nsec = ns};
    int failed = nanosleep(&nap, NULL) != 0;
    __asm__ volatile("nopl 0(%%rax,%%rax)\n\tnopl 0(%%rax,%%rax)" ::: "memory");
    return failed;
}

/* Another thread, which calls no MPI, takes as many steps of its own. */
static _Atomic long asked, taken;

__attribute__((noinline)) long step_aside(long number)
{
    __asm__ volatile("nopl 0(%%rax,%%rax)\n\tnopl 0(%%rax,%%rax)" ::: "memory");
    return number + 1;
}

static void *walk_beside(void *unused)
{
    for (;; usleep(500))
        while (taken < asked)
            taken = step_aside(taken);
    return unused;
}

/* And one that was not there before takes a single one. */
__attribute__((noinline)) long step_anew(long number)
{
    __asm__ volatile("nopl 0(%%rax,%%rax)\n\tnopl 0(%%rax,%%rax)" ::: "memory");
    return number + 2;
}

static void *walk_once(void *number)
{
    *(long *)number = step_anew(*(long *)number);
    return number;
}

static void start_another(long number)
{
    pthread_t other;
    long result = number;
    bad += pthread_create(&other, NULL, walk_once, &result) != 0;
    bad += pthread_join(other, NULL) != 0;
    bad += result != number + 2;
}

static void round_of(long number)
{
    bad += take_step(500000);
    asked++;
    start_another(number);
    if (call_mpi)
        bad += call_mpi(rank) != size * (size - 1) / 2 + 1;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int out[8], in[8], big[100], got[100], sum;
    MPI_Request request;
    for (int i = 0; i < 100; i++)
        big[i] = (int)number + rank + i;
    for (int i = 0; i < 8; i++)
        out[i] = (int)number * 8 + i + rank;
    for (int k = 0; k < 2; k++) {
        MPI_Irecv(in, 8, MPI_INT, last, k, MPI_COMM_WORLD, &request); /* @irecv */
        MPI_Send(out, 8, MPI_INT, next, k, MPI_COMM_WORLD);           /* @send */
        MPI_Wait(&request, MPI_STATUS_IGNORE);                        /* @wait */
        for (int i = 0; i < 8; i++)
            bad += in[i] != (int)number * 8 + i + last;
    }
    int me = size - 1 - rank; /* in the other one, where the next is our last */
    /* @sendrecv */
    MPI_Sendrecv(big, 100, MPI_INT, (me + 1) % size, 7, got, 100, MPI_INT, (me + size - 1) % size,
                 7, reverse, MPI_STATUS_IGNORE);
    for (int i = 0; i < 100; i++)
        bad += got[i] != (int)number + next + i;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* @allreduce */
    bad += sum != size * (size - 1) / 2;
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? atol(argv[2]) : 10, number = 0;
    int going = 1, early = 0, level, mine, next;
    pthread_t beside;
    MPI_Request before[2];
    directory = argc > 1 ? argv[1] : ".";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reverse);
    next = (rank + 1) % size;
    mine = rank + 1;
    MPI_Irecv(&early, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &before[0]);
    MPI_Send_init(&mine, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &before[1]);
    bad += pthread_create(&beside, NULL, walk_beside, NULL) != 0;
    if (rank == 0)
        tell("ready");
    pass_time("go");
    MPI_Start(&before[1]);                       /* @start */
    MPI_Waitall(2, before, MPI_STATUSES_IGNORE); /* @waitall */
    bad += early != (rank + size - 1) % size + 1;
    for (; number < rounds; number++)
        round_of(number);
    while (taken < asked)
        usleep(500);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier */
    if (rank == 0)
        tell("done");
    pass_time("spin");
    if (told("load"))
        load(argc > 3 ? argv[3] : NULL);
    for (; going; number++) {
        round_of(number);
        going = !told("end");
        MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD); /* @bcast */
    }
    MPI_Request_free(&before[1]);
    MPI_Comm_free(&reverse);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("rounds %ld bad %d\n", number, bad);
    MPI_Finalize();
    return bad != 0;
}
