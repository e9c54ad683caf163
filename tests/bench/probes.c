/* SPDX-License-Identifier: MIT */
/*
 * What probes of `loupe cc` add to a call and to a loop, against two readings of the TSC that are
 * kept in a thread-local table. Run it under `loupe exec`: with budget=off everything is timed,
 * with LOUPE=budget=0.01% nearly all is counted only. Prints nanoseconds per call, the least of
 * many batches; alone it measures the probes when they are off.
 */
#define LOUPE_UNIT_ID    0x2001
#define LOUPE_UNIT_SITES 8
#define LOUPE_UNIT_TABLE                                                                           \
    LOUPE_SITE(LOUPE_SITE_PROCEDURE, 1), LOUPE_SITE(LOUPE_SITE_CALL, 1),                           \
        LOUPE_SITE(LOUPE_SITE_LOOP, 0), LOUPE_SITE(LOUPE_SITE_PROCEDURE, 2),                       \
        LOUPE_SITE(LOUPE_SITE_CALL, 2), 0, 0, 0
#include <loupe-probe.h>

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

enum { BATCHES = 400, CALLS = 20000 };

static uint64_t value = 1;

__attribute__((noinline)) static uint64_t plain(uint64_t x)
{
    return x * 3 + 1;
}

__attribute__((noinline)) static uint64_t probed(uint64_t x)
{
    LOUPE_PROCEDURE(0)
    return x * 3 + 1;
}

static __thread struct {
    uint64_t count, time, begin;
} table[64];

__attribute__((noinline)) static uint64_t two_reads(uint64_t x)
{
    table[3].begin = __rdtsc();
    x = x * 3 + 1;
    table[3].time += __rdtsc() - table[3].begin;
    table[3].count++;
    return x;
}

__attribute__((noinline)) static uint64_t loop_plain(uint64_t x)
{
    for (int i = 0; i < 1; i++)
        __asm__ volatile("" : "+r"(x));
    return x * 3 + 1;
}

__attribute__((noinline)) static uint64_t loop_probed(uint64_t x)
{
    {
        LOUPE_LOOP(2)
        for (int i = 0; i < 1; i++)
            __asm__ volatile("" : "+r"(x));
    }
    return x * 3 + 1;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BATCH(name, statement)                                                                     \
    __attribute__((noinline)) static double name(void)                                             \
    {                                                                                              \
        uint64_t x = value;                                                                        \
        double begin = seconds();                                                                  \
        for (int i = 0; i < CALLS; i++)                                                            \
            statement;                                                                             \
        value = x;                                                                                 \
        return (seconds() - begin) / CALLS * 1e9;                                                  \
    }
BATCH(batch_plain, x = plain(x))
BATCH(batch_probed, x = (LOUPE_CALL(1), probed(x)))
BATCH(batch_two_reads, x = two_reads(x))
BATCH(batch_loop_plain, x = loop_plain(x))
BATCH(batch_loop_probed, x = loop_probed(x))

int main(void)
{
    static double (*const batches[])(void) = {batch_plain, batch_probed, batch_two_reads,
                                              batch_loop_plain, batch_loop_probed};
    static const char *const names[] = {"plain", "probed", "two_reads", "loop_plain",
                                        "loop_probed"};
    double least[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < 5; i++) {
            double ns = batches[i]();
            least[i] = ns < least[i] ? ns : least[i];
        }
    for (int i = 0; i < 5; i++)
        printf("%s %.3f\n", names[i], least[i]);
    return 0;
}
