/* SPDX-License-Identifier: MIT */
/*
 * Long messages that may wait until the other end is in MPI again. Two ranks swap blocks: each
 * posts its receive and its send, computes, rank 0 twice as long, and waits. In between rank 0 asks
 * MPI for something that moves no message, time and again: what watching that costs, rank 1 has to
 * wait for too.
 *
 *     comesback STEPS ASKED BYTES WAY
 *
 * WAY: `all` waits for both at once, `one` for the receive first, `recv` receives only when it has
 * computed, `barrier` comes to a barrier before it waits. `twice` does so after some steps of
 * `all`, and after the barrier, in which the blocks move, each computes once more: rank 1 twice as
 * long.
 */
#include "checksum.h"
#include <string.h>
#include <time.h>

enum { FAST_US = 1000, SLOW_US = 2000, APART_US = 100, BEFORE = 10, MOST = 1 << 20 };

static char out[MOST], in[MOST];
static int rank, asked;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Who sleeps loses no processor to others. */
static void compute(long us)
{
    nanosleep(&(struct timespec){0, us * 1000}, NULL);
}

/* Nothing of it is MPI's progress. */
static void ask(void)
{
    for (int i = 0; i < asked; i++) {
        int same;
        MPI_Comm_rank(MPI_COMM_WORLD, &same); /* @ask */
    }
}

static void work(void)
{
    if (rank == 0)
        ask();
    compute(rank == 0 ? SLOW_US : FAST_US);
}

static void wait_all(MPI_Request *r)
{
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* @waitall */
}

static void wait_one(MPI_Request *r)
{
    MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* @wait */
    MPI_Wait(&r[1], MPI_STATUS_IGNORE); /* @wait-send */
}

static void wait_barrier(MPI_Request *r)
{
    MPI_Barrier(MPI_COMM_WORLD);            /* @barrier */
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* @waitall-after */
}

static void wait_twice(MPI_Request *r)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        ask();
    compute(rank == 0 ? FAST_US : SLOW_US);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* @waitall-twice */
}

/* The send finds the receive, not the receive the send, which may then move at once. */
static void swap(int bytes, void (*wait)(MPI_Request *))
{
    MPI_Request r[2];
    MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 5, MPI_COMM_WORLD, &r[0]);
    compute(APART_US);
    MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 5, MPI_COMM_WORLD, &r[1]);
    work();
    wait(r);
}

static void swap_late(int bytes)
{
    MPI_Request r;
    MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 5, MPI_COMM_WORLD, &r);
    work();
    MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @recv */
    MPI_Wait(&r, MPI_STATUS_IGNORE);                                               /* @wait-after */
}

static void step(const char *way, int bytes)
{
    if (!strcmp(way, "recv"))
        swap_late(bytes);
    else
        swap(bytes, !strcmp(way, "one")       ? wait_one
                    : !strcmp(way, "barrier") ? wait_barrier
                    : !strcmp(way, "twice")   ? wait_twice
                                              : wait_all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int steps = argument(argc, argv, 1, 100);
    asked = argument(argc, argv, 2, 10);
    int bytes = argument(argc, argv, 3, 1 << 16);
    const char *way = argc > 4 ? argv[4] : "all";
    memset(out, rank + 1, sizeof out);
    for (int i = 0; i < BEFORE && !strcmp(way, "twice"); i++)
        step("all", bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (int i = 0; i < steps; i++)
        step(way, bytes);
    printf("took %d %.6f\n", rank, now() - begin);
    print_checksum(mix(1, in, (size_t)bytes));
    MPI_Finalize();
    return 0;
}
