/* SPDX-License-Identifier: MIT */
/*
 * What the programs share whose critical path is known by construction: units of work. A unit is 5
 * ms of the thread's processor time, whatever the processor's speed is just then and whoever takes
 * it away meanwhile. The test builds these programs with `loupe cc`; what is inline gets no probes
 * there.
 */
#ifndef LOUPE_TEST_PATH_UNIT_H
#define LOUPE_TEST_PATH_UNIT_H

#include "../waited.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { UNIT_NS = 5000000, UNIT_TURNS = 5000 };

static struct {
    int rank, ranks;
    int64_t waited; /* for a processor, until MPI_Init had returned, ns */
    int64_t others; /* all the time, by threads that ended */
    int64_t away;   /* while all threads were at work: not on a processor of this machine's, or a
                       hypervisor had that, ns */
} unit;

static inline int64_t unit_time(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Multiplications that wait for each other. What they make is used, or the compiler would leave
 * them out. */
static inline void unit_turns(void)
{
    uint64_t x = 1;
    for (int i = 0; i < UNIT_TURNS; i++)
        x = x * 0x9e3779b97f4a7c15u + 2;
    __asm__ volatile("" : : "r"(x));
}

static inline void unit_spend(int64_t ns)
{
    int64_t real = unit_time(CLOCK_MONOTONIC), begin = unit_time(CLOCK_THREAD_CPUTIME_ID), now;
    while ((now = unit_time(CLOCK_THREAD_CPUTIME_ID)) < begin + ns)
        unit_turns();
    int64_t away = unit_time(CLOCK_MONOTONIC) - real - (now - begin);
    __atomic_fetch_add(&unit.away, away, __ATOMIC_RELAXED);
}

static inline void units(int count)
{
    unit_spend((int64_t)count * UNIT_NS);
}

/* A thread other than the first is about to end. */
static inline void unit_thread_end(void)
{
    __atomic_fetch_add(&unit.others, thread_waited(), __ATOMIC_RELAXED);
}

static inline void unit_begin(int *argc, char ***argv)
{
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    unit.waited = thread_waited();
    MPI_Comm_rank(MPI_COMM_WORLD, &unit.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &unit.ranks);
}

static inline int unit_end(void)
{
    int64_t waited = thread_waited() - unit.waited + unit.others;
    int64_t stolen = unit.away > waited ? unit.away - waited : 0;
    MPI_Finalize();
    printf("checksum %d\nwaited %.6f\nstolen %.6f\n", unit.rank, (double)waited / 1e9,
           (double)stolen / 1e9);
    return 0;
}

#endif
