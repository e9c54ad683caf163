/* SPDX-License-Identifier: MIT */
/* The processor's time of this process: waiting for a core is nobody's cost. */
#ifndef LOUPE_BENCH_WATCH_H
#define LOUPE_BENCH_WATCH_H

#include <time.h>

static inline double watch(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
