/* SPDX-License-Identifier: MIT */
/* A unit of work is some fifty microseconds of computing; how long it really took is told too. */
#ifndef LOUPE_TEST_WORK_H
#define LOUPE_TEST_WORK_H

#include <stdio.h>
#include <time.h>

static volatile double work_sink;

static inline double work_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void work(int units)
{
    double x = work_sink;
    for (long i = 0; i < units * 20000L; i++)
        x = x * 0.999 + 1;
    work_sink = x;
}

#endif
