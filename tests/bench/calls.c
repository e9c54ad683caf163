/* SPDX-License-Identifier: MIT */
/*
 * What single MPI calls cost, in nanoseconds, one line "name value" on rank 0. Run plain and under
 * a tool; tests/bench/run.py makes the ratios. Each in many short batches, of which the lower
 * quartile is what it takes when nothing else happens: a long batch always has something in it.
 *
 *     calls [SCALE [long]]
 *
 * With `long` only what takes microseconds, of which watching must be a hundredth.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 400 };

static int rank;
static char *a, *b;

static int compare(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return p < q ? -1 : p > q;
}

/* Runs body(n) in batches and prints the cost of one in the lower quartile of them. */
static void measure(const char *name, int batches, int n, void (*body)(int n))
{
    double ns[BATCHES] = {0};
    body(n); /* what is new to it is no part of this */
    for (int i = 0; i < batches; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        body(n);
        ns[i] = (MPI_Wtime() - begin) / n * 1e9;
    }
    qsort(ns, (size_t)batches, sizeof *ns, compare);
    if (rank == 0)
        printf("%s %.2f\n", name, ns[batches / 4]);
}

static void two_tsc(int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        sum += __builtin_ia32_rdtsc();
        sum -= __builtin_ia32_rdtsc();
    }
    *(volatile uint64_t *)a = sum;
}

static void comm_rank(int n)
{
    int r;
    for (int i = 0; i < n; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &r);
}

static void iprobe(int n)
{
    int flag;
    for (int i = 0; i < n; i++)
        MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void ping_pong(int n, int bytes)
{
    int other = 1 - rank;
    for (int i = 0; i < n; i += 2) { /* two messages each: a one-way time */
        if (rank == 0) {
            MPI_Send(a, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
            MPI_Recv(b, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(b, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(a, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
        }
    }
}

static void ping_pong_8(int n)
{
    ping_pong(n, 8);
}

static void ping_pong_64k(int n)
{
    ping_pong(n, 64 * 1024);
}

static void ping_pong_1m(int n)
{
    ping_pong(n, 1024 * 1024);
}

static void exchange_self(int n)
{
    MPI_Request requests[2];
    for (int i = 0; i < n; i++) {
        MPI_Irecv(b, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(a, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void allreduce_8(int n)
{
    double x = 1, y;
    for (int i = 0; i < n; i++)
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    a = calloc(1, 1 << 20);
    b = calloc(1, 1 << 20);
    int scale = argc > 1 ? atoi(argv[1]) : 1; /* for slow tools: fewer of the short ones */
    if (argc <= 2 || strcmp(argv[2], "long") != 0) {
        measure("two_tsc", BATCHES, 10000 / scale, two_tsc);
        measure("comm_rank", BATCHES, 10000 / scale, comm_rank);
        measure("iprobe", BATCHES, 10000 / scale, iprobe);
        measure("ping_pong_8", BATCHES, 5000 / scale, ping_pong_8);
        measure("exchange_self", BATCHES, 5000 / scale, exchange_self);
        measure("allreduce_8", BATCHES, 5000 / scale, allreduce_8);
    }
    measure("ping_pong_64k", BATCHES, 100, ping_pong_64k);
    measure("ping_pong_1m", BATCHES / 2, 8, ping_pong_1m);
    free(a);
    free(b);
    return MPI_Finalize();
}
