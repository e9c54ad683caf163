/* SPDX-License-Identifier: MIT */
/*
 * What the programs of the time table share: their own clock, which shows the truth when they run
 * without loupe, and work for the processor in tiny procedures, which probes slow down.
 *
 * A rank's time runs from MPI_Init's return to MPI_Finalize's entry, a stage's around the calls of
 * the procedure of that name. Both are printed after MPI_Finalize, and how much of the rank's time
 * others had its processor.
 */
#ifndef LOUPE_BENCH_STAGE_H
#define LOUPE_BENCH_STAGE_H

#include "../../programs/waited.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAGES = 16 };

static struct {
    int rank, ranks, stages;
    double begin, wall, lost;
    struct {
        const char *name;
        double seconds;
    } stage[STAGES];
} run;

static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* double begin = clock_now(); procedure(...); stage("procedure", begin); */
static inline void stage(const char *name, double begin)
{
    double seconds = clock_now() - begin;
    int i = 0;
    while (i < run.stages && strcmp(run.stage[i].name, name) != 0)
        i++;
    if (i == STAGES)
        return;
    run.stages += i == run.stages;
    run.stage[i].name = name;
    run.stage[i].seconds += seconds;
}

static inline void run_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    run.lost = 1e-9 * (double)thread_waited();
    run.begin = clock_now();
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
}

static inline int run_end(uint64_t result)
{
    char text[2048];
    run.wall = clock_now() - run.begin;
    run.lost = 1e-9 * (double)thread_waited() - run.lost;
    MPI_Finalize();
    int used = snprintf(text, sizeof text, "rank %d wall %.9f\nrank %d lost %.9f\n", run.rank,
                        run.wall, run.rank, run.lost);
    for (int i = 0; i < run.stages; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "rank %d stage %s %.9f\n",
                         run.rank, run.stage[i].name, run.stage[i].seconds);
    snprintf(text + used, sizeof text - (size_t)used, "rank %d result %016llx\n", run.rank,
             (unsigned long long)result);
    fputs(text, stdout);
    return 0;
}

/* How much there is to do, 100 by default: about a second. */
static inline long scale(int argc, char **argv, long usual)
{
    return argc > 1 ? usual * atol(argv[1]) / 100 : usual;
}

/*
 * Some 75 ns that keep the multiplier busy: probes make that 1.5 to 2 times as long. Executions do
 * not depend on each other, so that the processor has no idle time in which a probe would cost
 * nothing.
 */
#define MIX(x)              ((x) ^= (x) >> 27, (x) *= 0x9e3779b97f4a7c15u)
#define MIX_ALL(a, b, c, d) (MIX(a), MIX(b), MIX(c), MIX(d))
#define MIX_4(a, b, c, d)                                                                          \
    (MIX_ALL(a, b, c, d), MIX_ALL(a, b, c, d), MIX_ALL(a, b, c, d), MIX_ALL(a, b, c, d))
#define GRAIN(x)                                                                                   \
    ({                                                                                             \
        uint64_t a_ = (x), b_ = ~a_, c_ = a_ + 0x9e37, d_ = a_ + 0x79b9;                           \
        MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_);                       \
        MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_);                       \
        MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_);                       \
        MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_), MIX_4(a_, b_, c_, d_);                       \
        a_ + b_ + c_ + d_;                                                                         \
    })

__attribute__((noinline, unused)) static uint64_t grain(uint64_t x)
{
    return GRAIN(x);
}

/* The same work without a call that a probe could slow. */
__attribute__((noinline, unused)) static uint64_t solid(uint64_t x, long grains)
{
    uint64_t sum = x;
    for (long i = 0; i < grains; i++)
        sum += GRAIN(x + (uint64_t)i);
    return sum;
}

#endif
