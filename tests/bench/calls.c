/* SPDX-License-Identifier: MIT */
/*
 * What single MPI calls cost, in nanoseconds, one line "name value" on rank 0. Run plain and under
 * a tool; tests/bench/run.py makes the ratios. Each in many short batches, of which the lower
 * quartile is what it takes when nothing else happens: a long batch always has something in it.
 *
 *     calls [SCALE [long]]
 *
 * With `long` only what takes microseconds, of which watching must be a hundredth, and each in two
 * ways that take turns in one process: by MPI_ and, as "name_below", by the library's own functions
 * as dlsym finds them in it, which no tool sees.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BATCHES = 400 };

static int rank;
static char *a, *b;

static int compare(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return p < q ? -1 : p > q;
}

static double batch(int n, void (*body)(int n))
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    body(n);
    return (MPI_Wtime() - begin) / n * 1e9;
}

static double lower_quartile(double *ns, int batches)
{
    qsort(ns, (size_t)batches, sizeof *ns, compare);
    return ns[batches / 4];
}

/* Runs body(n) in batches and prints the cost of one in the lower quartile of them. */
static void measure(const char *name, int batches, int n, void (*body)(int n))
{
    double ns[BATCHES] = {0};
    body(n); /* what is new to it is no part of this */
    for (int i = 0; i < batches; i++)
        ns[i] = batch(n, body);
    double cost = lower_quartile(ns, batches);
    if (rank == 0)
        printf("%s %.2f\n", name, cost);
}

/* The same of two bodies that take turns. */
static void measure_two(const char *name, int batches, int n, void (*body)(int n),
                        void (*below)(int n))
{
    double ns[BATCHES] = {0}, ns_below[BATCHES] = {0};
    body(n);
    below(n);
    for (int i = 0; i < batches; i++) {
        ns[i] = batch(n, body);
        ns_below[i] = batch(n, below);
    }
    double cost = lower_quartile(ns, batches), cost_below = lower_quartile(ns_below, batches);
    if (rank == 0)
        printf("%s %.2f\n%s_below %.2f\n", name, cost, name, cost_below);
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

/* Two messages each: a one-way time. */
#define PING_PONG(send, recv, n, bytes)                                                            \
    for (int i = 0; i < (n); i += 2) {                                                             \
        if (rank == 0) {                                                                           \
            send(a, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);                                        \
            recv(b, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);                     \
        } else if (rank == 1) {                                                                    \
            recv(b, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);                     \
            send(a, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);                                        \
        }                                                                                          \
    }

static void ping_pong(int n, int bytes)
{
    PING_PONG(MPI_Send, MPI_Recv, n, bytes)
}

static int (*send_below)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
static int (*recv_below)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

static void ping_pong_below(int n, int bytes)
{
    PING_PONG(send_below, recv_below, n, bytes)
}

/* Not by the name PMPI_Send: a tool may stand before that too. */
static int find_below(void)
{
    static const char *const names[] = {"libmpi.so.40", "libmpich.so.12"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    *(void **)&send_below = library ? dlsym(library, "PMPI_Send") : NULL;
    *(void **)&recv_below = library ? dlsym(library, "PMPI_Recv") : NULL;
    return send_below && recv_below ? 0 : -1;
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

static void ping_pong_64k_below(int n)
{
    ping_pong_below(n, 64 * 1024);
}

static void ping_pong_1m_below(int n)
{
    ping_pong_below(n, 1024 * 1024);
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

/* What lies where in memory makes some per cent of long messages, and any tool moves it: it lies
 * elsewhere in every run. */
static void shuffle(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    srand((unsigned)now.tv_nsec);
    static void *volatile kept;
    kept = malloc((size_t)rand() % (1 << 16));
    kept = mmap(NULL, (size_t)(1 + rand() % 64) << 12, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
    shuffle();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    a = calloc(1, 1 << 20);
    b = calloc(1, 1 << 20);
    int scale = argc > 1 ? atoi(argv[1]) : 1; /* for slow tools: fewer of the short ones */
    if (argc > 2 && strcmp(argv[2], "long") == 0) {
        if (find_below())
            MPI_Abort(MPI_COMM_WORLD, 1);
        measure_two("ping_pong_64k", BATCHES, 100, ping_pong_64k, ping_pong_64k_below);
        measure_two("ping_pong_1m", BATCHES / 2, 8, ping_pong_1m, ping_pong_1m_below);
    } else {
        measure("two_tsc", BATCHES, 10000 / scale, two_tsc);
        measure("comm_rank", BATCHES, 10000 / scale, comm_rank);
        measure("iprobe", BATCHES, 10000 / scale, iprobe);
        measure("ping_pong_8", BATCHES, 5000 / scale, ping_pong_8);
        measure("exchange_self", BATCHES, 5000 / scale, exchange_self);
        measure("allreduce_8", BATCHES, 5000 / scale, allreduce_8);
        measure("ping_pong_64k", BATCHES, 100, ping_pong_64k);
        measure("ping_pong_1m", BATCHES / 2, 8, ping_pong_1m);
    }
    free(a);
    free(b);
    return MPI_Finalize();
}
