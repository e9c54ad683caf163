/* SPDX-License-Identifier: MIT */
/* For tests of delay between threads. They get delays of seconds by hand, which nothing here takes
 * long enough to be confused with. */
#ifndef LOUPE_TESTS_DELAYS_H
#define LOUPE_TESTS_DELAYS_H

#include "runtime/thread_delay.h"

#include "probing.h"

#include <errno.h>
#include <pthread.h>

void loupe_runtime_begin(const char *name);
void loupe_runtime_end(const char *name);

static double per_second; /* ticks */

static inline void set_delay(double seconds)
{
    loupe_runtime_begin("block");
    loupe_runtime_end("block");
    thread_delay_set(loupe_tls.self, (int64_t)(seconds * per_second) << RECORD_TIME_SHIFT);
}

static inline double delay(void)
{
    return (double)(thread_delay_now() >> RECORD_TIME_SHIFT) / per_second;
}

static inline double now(void)
{
    return (double)clock_now() / per_second;
}

static inline bool near(double a, double b, double tolerance)
{
    if (fabs(a - b) <= tolerance)
        return true;
    printf("# %.6f instead of %.6f\n", a, b);
    return false;
}

static inline void nap(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* The segment is there, and the calling thread's block. */
static inline void delays_start(void)
{
    loupe_process.writer.spare_shm = false;
    loupe_runtime_begin("block");
    loupe_runtime_end("block");
    per_second = (double)clock_ticks(1000000000);
}

#endif
