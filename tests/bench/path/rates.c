/* SPDX-License-Identifier: MIT */
/*
 * Two ranks that compute and exchange messages at a given rate, as the program of paper 3's Figure
 * 7: rates RATE BYTES MESSAGES BLOCKS ENTERED. Three quarters of the time they compute. RATE 0:
 * nothing but a ping-pong. Before each message ENTERED items are visited (items.c, which is made).
 * The critical path is switched on and off by turns, a block of messages each; how long each block
 * took is told.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_BYTES = 1 << 16, EAGER_BYTES = 1024, OFF = 4, ON = 3, WARM = 4 };

static char out[MOST_BYTES], in[MOST_BYTES];
static int rank, entered;

void visit_items(int count);

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void compute(long turns)
{
    uint64_t x = 1;
    for (long i = 0; i < turns; i++)
        x = x * 0x9e3779b97f4a7c15u + 2;
    __asm__ volatile("" : : "r"(x)); /* or the compiler would leave it out */
}

/* Turns of compute() in a second: the best of some, the same for both ranks. */
static long calibrated(void)
{
    double best = 1;
    for (int i = 0; i < 20; i++) {
        double begin = now();
        compute(1000000);
        double took = now() - begin;
        best = took < best ? took : best;
    }
    long turns = (long)(1e6 / best);
    MPI_Bcast(&turns, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return turns;
}

/* Both have the other's soon. What is long waits for its receive, so that is posted before. */
static void exchange(long turns, int bytes, long messages)
{
    for (long i = 0; i < messages; i++) {
        compute(turns);
        visit_items(entered);
        if (bytes > EAGER_BYTES) {
            MPI_Sendrecv(out, bytes, MPI_CHAR, 1 - rank, 0, in, bytes, MPI_CHAR, 1 - rank, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Send(out, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void ping_pong(int bytes, long messages)
{
    for (long i = 0; i < messages; i++) {
        if (rank == 0)
            MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        visit_items(entered);
        if (rank == 1)
            MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static double block(int level, long turns, int bytes, long messages)
{
    if (rank == 0)
        MPI_Pcontrol(level);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(0, bytes, WARM);
    double begin = now();
    if (turns)
        exchange(turns, bytes, messages);
    else
        ping_pong(bytes, messages);
    return now() - begin;
}

int main(int argc, char **argv)
{
    double rate = argc > 1 ? strtod(argv[1], NULL) : 0;
    int bytes = argc > 2 ? atoi(argv[2]) : 8, blocks = argc > 4 ? atoi(argv[4]) : 5;
    long messages = argc > 3 ? atol(argv[3]) : 1000;
    entered = argc > 5 ? atoi(argv[5]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long turns = rate > 0 ? (long)(0.75 * (double)calibrated() / rate) : 0;
    for (int i = 0; i < 2 * blocks; i++) {
        int level = (i + i / 2) % 2 ? ON : OFF; /* off on on off: drift hits both */
        double seconds = block(level, turns, bytes, messages);
        if (rank == 0)
            printf("block %s %.9f\n", level == ON ? "on" : "off", seconds);
    }
    MPI_Finalize();
    return 0;
}
