/* SPDX-License-Identifier: MIT */
/*
 * For `loupe attach`: who waits for whom, when the job was attached to in mid-run. A file `go` in
 * the directory, the first argument, starts the rounds, a file `end` ends them.
 *
 * Before that, rank 1 has sent 5 messages in a duplicate of MPI_COMM_WORLD of which rank 0 has
 * received none, but has posted 2 receives: these are under way. In each round rank 1 is late by
 * the second argument in ms, with a message and with an MPI_Allreduce; every third round it sends
 * two messages, of which the second has come when it is received. Sizes and contents are checked,
 * and that the program's error handler hears of each receive that MPI refuses, once.
 */
#include "told.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD = 5, POSTED = 2, TAG = 3, MOST = 16, REFUSED = 16 };

static int rank, size, bad;
static MPI_Comm duplicate;
static long sent, received;

static int length_of(long number)
{
    return 1 + (int)(number % 3);
}

__attribute__((noinline)) static void send_one(void)
{
    long data[MOST];
    for (int i = 0; i < length_of(sent); i++)
        data[i] = sent + i;
    MPI_Send(data, length_of(sent), MPI_LONG, 0, TAG, duplicate); /* @send */
    sent++;
    __asm__ volatile("nopl 0(%%rax,%%rax)" ::: "memory");
}

static void check(const long *data, MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_LONG, &count);
    bad += count != length_of(received);
    for (int i = 0; i < count; i++)
        bad += data[i] != received + i;
    received++;
}

static void receive_one(void)
{
    long data[MOST];
    MPI_Status status;
    MPI_Request request;
    if (received % 2) {
        MPI_Recv(data, MOST, MPI_LONG, 1, TAG, duplicate, &status); /* @recv */
    } else {
        MPI_Irecv(data, MOST, MPI_LONG, 1, TAG, duplicate, &request); /* @irecv */
        MPI_Wait(&request, &status);                                  /* @wait */
    }
    check(data, &status);
}

static int heard;

static void hear(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    heard++;
}

static void be_refused(void)
{
    int data;
    MPI_Errhandler ours;
    MPI_Comm_create_errhandler(hear, &ours);
    MPI_Comm_set_errhandler(duplicate, ours);
    for (int i = 0; i < REFUSED; i++)
        bad += MPI_Recv(&data, 1, MPI_INT, size, MPI_ANY_TAG, duplicate, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS;
    bad += heard != REFUSED;
    MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&ours);
}

__attribute__((noinline)) static void pass_ms(int ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000L};
    nanosleep(&t, NULL);
    __asm__ volatile("nopl 0(%%rax,%%rax)" ::: "memory"); /* room for a probe at its end */
}

static void round_of(long number, int late)
{
    int sum, messages = number % 3 ? 1 : 2;
    if (rank == 1) {
        pass_ms(late);
        for (int i = 0; i < messages; i++)
            send_one();
        pass_ms(late);
    }
    for (int i = 0; rank == 0 && i < messages; i++)
        receive_one();
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* @allreduce */
    bad += sum != size * (size - 1) / 2;
}

int main(int argc, char **argv)
{
    int going = 1, me, late = argc > 2 ? atoi(argv[2]) : 2;
    long number = 0, data[POSTED][MOST];
    MPI_Request posted[POSTED];
    MPI_Status status;
    directory = argc > 1 ? argv[1] : ".";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    for (int i = 0; rank == 0 && i < POSTED; i++)
        MPI_Irecv(data[i], MOST, MPI_LONG, 1, TAG, duplicate, &posted[i]);
    for (int i = 0; rank == 1 && i < AHEAD; i++)
        send_one();
    if (rank == 0)
        tell("ready");
    while (!told("go")) {
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        usleep(2000);
    }
    if (rank == 0)
        be_refused();
    for (int i = 0; rank == 0 && i < AHEAD; i++) {
        if (i < POSTED) {
            MPI_Wait(&posted[i], &status);
            check(data[i], &status);
        } else {
            receive_one();
        }
    }
    for (; going; number++) {
        round_of(number, late);
        going = !told("end");
        MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&duplicate);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("rounds %ld bad %d\n", number, bad);
    MPI_Finalize();
    return bad != 0;
}
