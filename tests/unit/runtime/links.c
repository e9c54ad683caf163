/* SPDX-License-Identifier: MIT */
/* Calls that are timed without marks: whose they are, and what happens where the return address or
 * the count does not tell. */
#define LOUPE_UNIT_ID    0x1003
#define LOUPE_UNIT_SITES 16
enum { KEY_WORK = 31, KEY_DEEP, KEY_SUM };
#define P(key) LOUPE_SITE(LOUPE_SITE_PROCEDURE, key)
#define C(key) LOUPE_SITE(LOUPE_SITE_CALL, key)
#define LOUPE_UNIT_TABLE                                                                           \
    [0] = P(KEY_WORK), [1] = C(KEY_WORK), [2] = C(KEY_WORK), [3] = C(KEY_WORK), [4] = C(KEY_WORK), \
    [5] = C(KEY_WORK), [6] = C(KEY_WORK), [7] = C(KEY_WORK), [8] = P(KEY_DEEP), [9] = C(KEY_DEEP), \
    [10] = C(KEY_DEEP), [11] = P(KEY_SUM), [12] = C(KEY_SUM), [15] = C(0)
#include "loupe-probe.h"

#include "probing.h"

#include "runtime/clock.h"

#include <setjmp.h>

enum { CHEAP = 50, DEAR = 20000 };

static volatile uint64_t sink;

static struct record_probe_reading at(const struct readings *r, uint32_t site)
{
    return reading_of(r, LOUPE_UNIT_ID, site, false);
}

static double mean(struct record_probe_reading r)
{
    return r.count ? r.time / (double)r.count : 0;
}

__attribute__((noinline)) static void work(int n)
{
    LOUPE_PROCEDURE(0)
    for (int i = 0; i < n; i++)
        sink = sink * 3 + 1;
}

/* A statement that marks comes to the slow path at each visit: its cell is never above zero. */
static void test_no_marks(void)
{
    enum { CALLS = 20000 };
    int above = 0;
    for (int i = 0; i < CALLS; i++) {
        (LOUPE_CALL(1), work(CHEAP));
        above += ((const volatile int *)(const void *)loupe_here_())[1] > 0;
    }
    struct readings *r = read_back();
    ok(at(r, 1).count == CALLS, "executions are exact: %lu", (unsigned long)at(r, 1).count);
    ok(at(r, 1).timed > CALLS * 3 / 4, "nearly all are timed: %lu", (unsigned long)at(r, 1).timed);
    ok(above > CALLS * 3 / 4, "and few of them by marks: %d without", above);
    ok(reading_of(r, LOUPE_UNIT_ID, 0, true).count == 0, "nobody unknown has called");
}

/* As compilers make it of two statements that end in the same call. */
__attribute__((noinline)) static void one_instruction(bool dear)
{
    if (dear)
        LOUPE_CALL(2);
    else
        LOUPE_CALL(3);
    work(dear ? DEAR : CHEAP);
}

static void test_shared_call(void)
{
    for (int i = 0; i < 4000; i++)
        one_instruction(i % 400 < 100);
    struct readings *r = read_back();
    ok(at(r, 2).count == 1000 && at(r, 3).count == 3000, "one call of two statements: executions");
    ok(at(r, 2).timed > 500 && at(r, 3).timed > 1500, "both are timed: %lu %lu",
       (unsigned long)at(r, 2).timed, (unsigned long)at(r, 3).timed);
    ok(mean(at(r, 2)) > 30 * mean(at(r, 3)), "each has its own time: %.0f %.0f", mean(at(r, 2)),
       mean(at(r, 3)));
}

/* An argument that throws, or `a && f()`: the statement counts, and nobody comes. */
static void test_not_called(void)
{
    for (int i = 0; i < 4000; i++) {
        LOUPE_CALL(4);
        if (i < 1000 || i % 7)
            work(CHEAP);
    }
    struct readings *r = read_back();
    ok(at(r, 4).count == 4000, "calls that were not made are executions too");
    ok(at(r, 4).timed > 500 && at(r, 4).timed <= 4000 - 428, "and are not timed: %lu",
       (unsigned long)at(r, 4).timed);
    ok(mean(at(r, 4)) < mean(at(r, 2)) / 10, "the time is of those that were: %.0f",
       mean(at(r, 4)));
}

/* A tail call returns to whoever called this: one statement, several return addresses. */
__attribute__((noinline)) static void pass_on(int n)
{
    LOUPE_CALL(5);
    work(n);
}

static void test_tail_call(void)
{
    for (int i = 0; i < 1000; i++) {
        if (i % 4 < 2) {
            pass_on(CHEAP);
            sink++;
        } else {
            pass_on(DEAR);
            sink--;
        }
        (LOUPE_CALL(6), work(DEAR));
    }
    struct readings *r = read_back();
    ok(at(r, 5).count == 1000 && at(r, 5).timed > 900,
       "nearly all calls are timed, from whichever address: %lu", (unsigned long)at(r, 5).timed);
    ok(at(r, 5).min < at(r, 6).min / 10 && at(r, 5).max >= at(r, 6).min,
       "cheap ones and dear ones");
}

/* The procedure is entered from inside itself only after many calls that were not. */
__attribute__((noinline)) static void deep(int depth);

__attribute__((noinline)) static void call_deep(int depth)
{
    (LOUPE_CALL(9), deep(depth));
    sink++;
}

static void deep(int depth)
{
    LOUPE_PROCEDURE(8)
    (LOUPE_CALL(7), work(CHEAP));
    if (depth)
        call_deep(depth - 1);
}

static void test_late_recursion(void)
{
    uint64_t begin = clock_now();
    for (int i = 0; i < 1000; i++)
        call_deep(0);
    for (int i = 0; i < 100; i++)
        (LOUPE_CALL(10), deep(10));
    uint64_t took = clock_now() - begin;
    struct readings *r = read_back();
    ok(at(r, 8).count == 1000 + 1100 && at(r, 9).count == 2000, "recursion: executions");
    ok(at(r, 9).timed == 0, "the call inside the circle has no time of its own");
    ok(at(r, 10).time > 0 && at(r, 10).time <= (double)took,
       "the one from outside has: %.0f of %lu", at(r, 10).time, (unsigned long)took);
}

/* f(f(f(...))), left by a jump once the innermost has returned: of one statement, some have put
 * their marks, one has linked it, and the others are never called. */
static jmp_buf outside;

__attribute__((noinline)) static int sum(int a)
{
    LOUPE_PROCEDURE(11)
    return a + 1;
}

__attribute__((noinline)) static int nested(int depth, int leave_at)
{
    if (!depth)
        return 0;
    int all = (LOUPE_CALL(12), sum(nested(depth - 1, leave_at)));
    if (depth == leave_at)
        longjmp(outside, 1);
    return all;
}

static void nested_or_left(int depth, int leave_at)
{
    if (!setjmp(outside))
        nested(depth, leave_at);
}

static void test_left_arguments(void)
{
    enum { TURNS = 4000, EVERY = 200, DEPTH = 7 };
    uint64_t calls = 0;
    for (int i = 0; i < TURNS; i++) {
        int nearly = i % EVERY - (EVERY - 2), depth = nearly < 0 ? 1 : DEPTH;
        calls += (uint64_t)depth;
        nested_or_left(depth, nearly > 0 ? 1 : 0);
    }
    struct readings *r = read_back();
    ok(at(r, 12).count == calls, "arguments that are left by a jump: executions");
    ok(at(r, 12).timed <= at(r, 11).count, "no more are timed than were made: %lu of %lu",
       (unsigned long)at(r, 12).timed, (unsigned long)at(r, 11).count);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=off");
    loupe_process.writer.spare_shm = false;
    test_no_marks();
    test_shared_call();
    test_not_called();
    test_tail_call();
    test_late_recursion();
    test_left_arguments();
    return tap_done();
}
