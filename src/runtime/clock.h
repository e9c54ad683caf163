/* SPDX-License-Identifier: MIT */
/* The clock of the target: the TSC where it is invariant, else CLOCK_MONOTONIC in nanoseconds. */
#ifndef LOUPE_RUNTIME_CLOCK_H
#define LOUPE_RUNTIME_CLOCK_H

#include "record/export.h"
#include "record/layout.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern bool loupe_clock_tsc EXPORT; /* set once, before the first event */
extern bool clock_tsc;              /* the same, within libloupe.so: nearer */

static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_now(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(loupe_clock_tsc, 1))
        return __builtin_ia32_rdtsc();
#endif
    return clock_monotonic_ns();
}

/* Reads of the TSC are not ordered among each other, and a thread may have changed its core: a
 * moment that comes out before its beginning is the beginning. */
static inline uint64_t clock_since(uint64_t begin, uint64_t now)
{
    int64_t ticks = (int64_t)(now - begin);
    return __builtin_expect(ticks >= 0, 1) ? (uint64_t)ticks : 0;
}

/* Chooses the clock and writes the origins into the header. */
void clock_open(struct record_header *header);
/* So many nanoseconds, while no tick was measured yet. */
uint64_t clock_ticks(uint64_t ns);
/* Measures the length of a tick over the time since clock_open; cheap, for slow paths. */
void clock_measure(struct record_header *header) EXPORT_AS(clock_measure);

#endif
