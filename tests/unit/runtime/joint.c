/* SPDX-License-Identifier: MIT */
/*
 * What probes cost together. Two procedures take turns; now and then, while one is only counted,
 * the other is not timed either. With everything timed, the time that is left when the delay is
 * taken out has to be that of the same loop without probes; and what was not timed is still
 * counted, and told as estimated.
 */
#define LOUPE_UNIT_ID    0x3101
#define LOUPE_UNIT_SITES 4
enum { KEY_FIRST = 31, KEY_SECOND };
enum { FIRST, CALL_FIRST, SECOND, CALL_SECOND };
#define LOUPE_UNIT_TABLE                                                                           \
    [FIRST] = LOUPE_SITE(LOUPE_SITE_PROCEDURE, KEY_FIRST),                                         \
    [CALL_FIRST] = LOUPE_SITE(LOUPE_SITE_CALL, KEY_FIRST),                                         \
    [SECOND] = LOUPE_SITE(LOUPE_SITE_PROCEDURE, KEY_SECOND),                                       \
    [CALL_SECOND] = LOUPE_SITE(LOUPE_SITE_CALL, KEY_SECOND)
#include <loupe-probe.h>

#include "probing.h"

#include "runtime/clock.h"
#include "runtime/probe.h"

enum { TIMES = 400000, ROUNDS = 4, TRIES = 8 };

static volatile uint64_t sink;

/* Some 75 ns; executions do not depend on each other. */
static inline uint64_t mix(uint64_t x)
{
    uint64_t a = x, b = ~x, c = x + 0x9e37, d = x + 0x79b9;
    for (int i = 0; i < 48; i++) {
        a = (a ^ a >> 27) * 0x9e3779b97f4a7c15u;
        b = (b ^ b >> 27) * 0x9e3779b97f4a7c15u;
        c = (c ^ c >> 27) * 0x9e3779b97f4a7c15u;
        d = (d ^ d >> 27) * 0x9e3779b97f4a7c15u;
    }
    return a + b + c + d;
}

#define BODY(name, probes)                                                                         \
    __attribute__((noinline)) static uint64_t name(uint64_t x)                                     \
    {                                                                                              \
        probes return mix(x);                                                                      \
    }
BODY(first, LOUPE_PROCEDURE(FIRST))
BODY(second, LOUPE_PROCEDURE(SECOND))
BODY(first_plain, )
BODY(second_plain, )

#define RUN(name, one, other)                                                                      \
    __attribute__((noinline)) static double name(void)                                             \
    {                                                                                              \
        uint64_t sum = 0, began = clock_now();                                                     \
        for (uint64_t i = 0; i < TIMES; i++)                                                       \
            sum += (one) + (other);                                                                \
        sink = sum;                                                                                \
        return (double)(clock_now() - began);                                                      \
    }
RUN(run, (LOUPE_CALL(CALL_FIRST), first(i)), (LOUPE_CALL(CALL_SECOND), second(i + TIMES)))
RUN(run_plain, first_plain(i), second_plain(i + TIMES))

static double delay(void)
{
    return (double)read_back()->delay;
}

/* How far the time without the delay is from the plain one, as a part of what probes took. */
static double error(void)
{
    double plain = 0, with = 0, before = delay();
    for (int i = 0; i < ROUNDS; i++) {
        with += run();
        plain += run_plain();
    }
    double left = with - (delay() - before);
    printf("# plain %.0f, with probes %.0f, without their delay %.0f\n", plain, with, left);
    return (left - plain) / (with - plain);
}

static bool counts_are_exact(void)
{
    struct readings *r = read_back();
    uint64_t one = reading_of(r, LOUPE_UNIT_ID, CALL_FIRST, false).count;
    uint64_t other = reading_of(r, LOUPE_UNIT_ID, CALL_SECOND, false).count;
    uint64_t entries = reading_of(r, LOUPE_UNIT_ID, FIRST, false).count;
    return one && one % TIMES == 0 && one == other && one == entries;
}

static bool all_are_told(void)
{
    struct record_probe_reading one = reading_of(read_back(), LOUPE_UNIT_ID, CALL_FIRST, false);
    return one.estimated && one.timed > one.count * 9 / 10 && one.time > 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=off");
    run(); /* what they cost is found out */
    double best = INFINITY;
    for (int i = 0; i < TRIES && best > 0.2; i++) { /* a machine in a machine has its bad moments */
        double off = fabs(error());
        best = off < best ? off : best;
    }
    ok(best <= 0.2, "what two that take turns cost together is taken out, but for %.2f", best);
    ok(loupe_probes->quiets > 0, "the thread was quiet now and then: %u", loupe_probes->quiets);
    ok(counts_are_exact(), "all visits are counted");
    ok(all_are_told(), "those that were not timed are told as estimated");
    return tap_done();
}
