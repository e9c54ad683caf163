/* SPDX-License-Identifier: MIT */
#include "runtime/clock.h"

#include "runtime/thread.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool loupe_clock_tsc, loupe_short_way;
extern bool clock_tsc __attribute__((alias("loupe_clock_tsc")));

static bool tsc_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d))
        return d >> 8 & 1;
#endif
    return false;
}

static bool has_lzcnt(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        return c >> 5 & 1;
#endif
    return false;
}

void clock_open(struct record_header *h)
{
    loupe_clock_tsc = tsc_is_invariant();
    loupe_short_way = loupe_clock_tsc && has_lzcnt();
    h->clock = loupe_clock_tsc ? RECORD_CLOCK_TSC : RECORD_CLOCK_MONOTONIC;
    h->tick_ns = loupe_clock_tsc ? 0.5 : 1.0; /* a guess until the first measurement */
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    h->realtime_origin_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    h->monotonic_origin_ns = clock_monotonic_ns();
    h->tick_origin = clock_now();
}

uint64_t clock_ticks(uint64_t ns)
{
    enum { MEASURED_NS = 2000000 };
    if (!loupe_clock_tsc)
        return ns;
    uint64_t began = clock_monotonic_ns(), from = clock_now(), passed;
    do
        passed = clock_monotonic_ns() - began;
    while (passed < MEASURED_NS);
    return (uint64_t)((double)ns * (double)(clock_now() - from) / (double)passed);
}

void clock_measure(struct record_header *h)
{
    uint64_t ns = clock_monotonic_ns() - h->monotonic_origin_ns;
    uint64_t ticks = clock_now() - h->tick_origin;
    if (loupe_clock_tsc && ticks > 0)
        h->tick_ns = (double)ns / (double)ticks;
}
