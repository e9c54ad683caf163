/* SPDX-License-Identifier: MIT */
/* Probes written by hand: counts, times per caller, recursion, ways out, signals, control. */
#define LOUPE_UNIT_ID    0x1001
#define LOUPE_UNIT_SITES 32
enum {
    KEY_WORK = 11,
    KEY_F,
    KEY_G,
    KEY_FACT,
    KEY_EVEN,
    KEY_ODD,
    KEY_COMPARE,
    KEY_JUMP,
    KEY_HANDLER,
    KEY_POINTED
};
#define P(key) LOUPE_SITE(LOUPE_SITE_PROCEDURE, key)
#define C(key) LOUPE_SITE(LOUPE_SITE_CALL, key)
#define LOUPE_UNIT_TABLE                                                                           \
    [0] = P(KEY_WORK), [1] = C(KEY_WORK), [2] = C(KEY_WORK), [3] = LOUPE_SITE(LOUPE_SITE_LOOP, 0), \
    [4] = LOUPE_SITE(LOUPE_SITE_ITERATION, 0), [5] = P(KEY_F), [6] = P(KEY_G), [7] = C(KEY_F),     \
    [8] = C(KEY_G), [9] = C(KEY_F), [10] = P(KEY_FACT), [11] = C(KEY_FACT), [12] = C(KEY_FACT),    \
    [13] = P(KEY_EVEN), [14] = P(KEY_ODD), [15] = C(KEY_ODD), [16] = C(KEY_EVEN),                  \
    [17] = C(KEY_EVEN), [18] = P(KEY_COMPARE), [19] = LOUPE_SITE(LOUPE_SITE_STATEMENT, 99),        \
    [20] = P(KEY_JUMP), [21] = C(KEY_JUMP), [22] = LOUPE_SITE(LOUPE_SITE_LOOP, 0),                 \
    [23] = P(KEY_HANDLER), [24] = LOUPE_SITE(LOUPE_SITE_POINTER, 0),                               \
    [25] = LOUPE_SITE(LOUPE_SITE_STATEMENT, KEY_WORK), [26] = C(KEY_WORK), [27] = P(KEY_POINTED),  \
    [31] = C(0)
#include "loupe-probe.h"

#include "probing.h"

#include "runtime/hot.h"
#include "runtime/probe.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static struct record_probe_reading at(const struct readings *r, uint32_t site)
{
    return reading_of(r, LOUPE_UNIT_ID, site, false);
}

static volatile uint64_t sink;

/* Some time that does not depend on the clock: about n nanoseconds. */
__attribute__((noinline)) static void work(int n)
{
    LOUPE_PROCEDURE(0)
    for (int i = 0; i < n; i++)
        sink = sink * 3 + 1;
}

static void test_callers(void)
{
    for (int i = 0; i < 1000; i++) {
        (LOUPE_CALL(1), work(50));
        if (i % 10 == 0)
            (LOUPE_CALL(2), work(200000)); /* so much more that an interrupt is nothing */
    }
    {
        LOUPE_STATEMENT(25)
        work(10);
    }
    struct readings *r = read_back();
    struct record_probe_reading cheap = at(r, 1), dear = at(r, 2), all = at(r, 0);
    ok(cheap.count == 1000 && dear.count == 100 && all.count == 1101,
       "executions are exact: %lu %lu %lu", (unsigned long)cheap.count, (unsigned long)dear.count,
       (unsigned long)all.count);
    ok(cheap.timed && dear.timed == 100, "both call statements are timed");
    ok(dear.time > 20 * cheap.time, "each has the time of its own calls: %.0f and %.0f", cheap.time,
       dear.time);
    ok(at(r, 25).count == 1 && at(r, 25).timed == 1,
       "a call that is a statement of its own: %lu %lu", (unsigned long)at(r, 25).count,
       (unsigned long)at(r, 25).timed);
    ok(reading_of(r, LOUPE_UNIT_ID, 0, true).count == 0, "there are no unknown callers");
    ok(!r->damaged && !r->torn, "the reader finds nothing wrong");
}

static void test_loop(void)
{
    for (int i = 0; i < 10; i++) {
        LOUPE_LOOP(3)
        for (int k = 0; k < 1000; k++) {
            LOUPE_ITERATION(4)
            sink += k;
        }
    }
    struct readings *r = read_back();
    ok(at(r, 3).count == 10 && at(r, 3).timed == 10, "a loop's executions");
    ok(at(r, 4).count == 10000 && !at(r, 4).timed, "its iterations");
}

__attribute__((noinline)) static int f(int x)
{
    LOUPE_PROCEDURE(5)
    work(x);
    return x + 1;
}

__attribute__((noinline)) static int g(int x)
{
    LOUPE_PROCEDURE(6)
    return f(x) - x + 20; /* a direct call without a probe: an unknown caller */
}

static void test_arguments(void)
{
    for (int i = 0; i < 40; i++)
        sink += (uint64_t)(LOUPE_CALL(7), f((LOUPE_CALL(8), g((LOUPE_CALL(9), f(3000))))));
    struct readings *r = read_back();
    struct record_probe_reading outer = at(r, 7), middle = at(r, 8), inner = at(r, 9);
    ok(outer.count == 40 && middle.count == 40 && inner.count == 40 && at(r, 5).count == 120,
       "f(g(f(x))): executions");
    ok(outer.timed >= 39 && middle.timed == 40 && inner.timed == 40, "each is timed: %lu %lu %lu",
       (unsigned long)outer.timed, (unsigned long)middle.timed, (unsigned long)inner.timed);
    struct record_probe_reading unknown = reading_of(r, LOUPE_UNIT_ID, 5, true);
    /* A third of the first block's entries; those behind it may be only counted. */
    ok(unknown.count >= 18 && unknown.count <= 41, "the call without a probe is an unknown caller");
    ok(inner.min > 20 * outer.min && middle.min > inner.min / 2,
       "times go to the right statement: %.0f %.0f", outer.min, inner.min);
}

__attribute__((noinline)) static uint64_t factorial(int n)
{
    LOUPE_PROCEDURE(10)
    work(100);
    return n < 2 ? 1 : (uint64_t)n * (LOUPE_CALL(11), factorial(n - 1));
}

__attribute__((noinline)) static bool is_odd(int n);
__attribute__((noinline)) static bool is_even(int n)
{
    LOUPE_PROCEDURE(13)
    return n == 0 ? true : (LOUPE_CALL(15), is_odd(n - 1));
}

static bool is_odd(int n)
{
    LOUPE_PROCEDURE(14)
    return n == 0 ? false : (LOUPE_CALL(16), is_even(n - 1));
}

static void test_recursion(void)
{
    for (int i = 0; i < 20; i++)
        sink += (LOUPE_CALL(12), factorial(20));
    for (int i = 0; i < 20; i++)
        sink += (LOUPE_CALL(17), is_even(101));
    struct readings *r = read_back();
    ok(at(r, 12).count == 20 && at(r, 11).count == 380 && at(r, 10).count == 400,
       "recursion: executions");
    ok(at(r, 12).timed == 20 && !at(r, 11).timed,
       "its time is counted once, at the call from outside");
    ok(at(r, 15).count == 20 * 51 && at(r, 16).count == 20 * 50 && at(r, 17).count == 20,
       "mutual recursion: executions");
    ok(at(r, 17).timed == 20 && !at(r, 15).timed && !at(r, 16).timed, "and time");
}

static int compare(const void *a, const void *b)
{
    LOUPE_PROCEDURE(18)
    return *(const int *)a - *(const int *)b;
}

static void test_unknown(void)
{
    int list[64];
    for (int i = 0; i < 64; i++)
        list[i] = i * 37 % 64;
    {
        LOUPE_STATEMENT(19)
        qsort(list, 64, sizeof *list, compare);
    }
    struct readings *r = read_back();
    struct record_probe_reading called = reading_of(r, LOUPE_UNIT_ID, 18, true);
    /* Behind the first block some may be only counted, which are known by caller later. */
    ok(at(r, 18).count > 100 && called.count <= at(r, 18).count && called.count >= RECORD_BLOCK,
       "callbacks: %lu of %lu", (unsigned long)called.count, (unsigned long)at(r, 18).count);
    ok(at(r, 19).count == 1 && at(r, 19).timed == 1 && at(r, 19).time > 0.8 * called.time,
       "the call of a library is timed at its statement");
}

__attribute__((noinline)) static void pointed(int turns)
{
    LOUPE_PROCEDURE(27)
    for (int i = 0; i < turns; i++)
        sink++;
}

/* Its visits are charged to the address that called, and none to itself. */
static void test_long_unknown(void)
{
    void (*volatile through)(int) = pointed;
    for (int i = 0; i < 10 * RECORD_BLOCK; i++)
        through(3000);
    ok(loupe_probes->owned[loupe_unit_.number]->sites[27]->fenced,
       "long visits through a pointer are timed with fences, too");
}

static jmp_buf back;

__attribute__((noinline)) static void jumps(int n)
{
    LOUPE_PROCEDURE(20)
    {
        LOUPE_LOOP(22)
        for (int i = 0; i <= n; i++)
            if (i == n)
                longjmp(back, 1);
    }
}

static void test_longjmp(void)
{
    volatile int i = 0;
    for (; i < 1000; i++)
        if (!setjmp(back))
            (LOUPE_CALL(21), jumps(3));
    work(1000);
    struct readings *r = read_back();
    ok(at(r, 20).count == 1000 && at(r, 22).count == 1000 && at(r, 21).count == 1000,
       "left by longjmp: executions");
    /* Any block may be followed by four that are only counted. */
    ok(at(r, 21).timed > 100 && at(r, 22).timed > 100, "and their time ends: %lu, %lu",
       (unsigned long)at(r, 21).timed, (unsigned long)at(r, 22).timed);
}

__attribute__((noinline)) static void handle(int signal)
{
    LOUPE_PROCEDURE(23)
    (void)signal;
    (LOUPE_CALL(26), work(1));
}

static void *send_signals(void *data)
{
    for (int i = 0; i < 3000; i++) {
        pthread_kill(*(pthread_t *)data, SIGUSR1);
        usleep(10);
    }
    __atomic_store_n(&sink, 0, __ATOMIC_RELAXED);
    return NULL;
}

static volatile uint64_t handled;
static void on_signal(int signal)
{
    handled++;
    handle(signal);
}

static void test_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t sender, self = pthread_self();
    uint64_t before = at(read_back(), 1).count, entries = at(read_back(), 0).count;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&sender, NULL, send_signals, &self);
    uint64_t n = 0;
    for (; n < 2000000; n++)
        (LOUPE_CALL(1), work(1));
    pthread_join(sender, NULL);
    struct readings *r = read_back();
    ok(at(r, 1).count - before == n, "under signals: executions: %lu of %lu",
       (unsigned long)(at(r, 1).count - before), (unsigned long)n);
    ok(at(r, 23).count == handled && at(r, 26).count == handled && handled > 100,
       "and those of the handler: %lu of %lu", (unsigned long)at(r, 23).count,
       (unsigned long)handled);
    ok(at(r, 0).count - entries == n + handled, "which calls the same procedure");
    (LOUPE_CALL(1), work(1));
    ok(!r->damaged && !r->torn, "the reader finds nothing wrong");
}

static void set_control(uint32_t word)
{
    __atomic_store_n(&loupe_process.writer.header->control.word, word, __ATOMIC_RELAXED);
}

static void test_control(void)
{
    set_control(RECORD_CONTROL_OFF);
    uint64_t before = at(read_back(), 3).count;
    for (int i = 0; i < 10; i++) {
        LOUPE_LOOP(3)
        for (int k = 0; k < 100; k++) {
            LOUPE_ITERATION(4)
            sink += (uint64_t)k;
        }
    }
    ok(at(read_back(), 3).count <= before, "measurement off: not counted");
    set_control(0);
    for (int i = 0; i < 1000; i++) {
        LOUPE_LOOP(3)
        sink++;
    }
    uint64_t after = at(read_back(), 3).count - before;
    ok(after <= 1000 && after >= 1000 - 64, "on again: counted, soon: %lu", (unsigned long)after);
    set_control(1u << RECORD_CONTROL_RESET_SHIFT);
    ok(read_back()->count == 0, "a reset is seen at once");
    for (int i = 0; i < 7; i++)
        (LOUPE_CALL(2), work(1000));
    struct readings *r = read_back();
    ok(at(r, 2).count == 7 && at(r, 0).count == 7 && at(r, 3).count == 0,
       "then what came since: %lu", (unsigned long)at(r, 2).count);
}

static void visit_loop(void)
{
    LOUPE_LOOP(3)
    sink++;
}

/* Nothing of the block is left to be compared with one that is counted. */
static void test_reset_behind_block(void)
{
    const struct probe_site *s = loupe_probes->owned[loupe_unit_.number]->sites[3];
    int tries = 0;
    for (; tries < 1000000 && !(s->phase == PROBE_BLOCK && !s->left && s->size > 1); tries++)
        visit_loop();
    set_control(2u << RECORD_CONTROL_RESET_SHIFT);
    for (int i = 0; i < 10 * RECORD_BLOCK; i++)
        visit_loop();
    ok(tries < 1000000 && at(read_back(), 3).count == 10 * RECORD_BLOCK,
       "a reset behind a timed block");
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=off");
    loupe_process.writer.spare_shm = false;
    test_callers();
    test_loop();
    test_arguments();
    test_recursion();
    test_unknown();
    test_long_unknown();
    test_longjmp();
    test_signals();
    test_control();
    test_reset_behind_block();
    return tap_done();
}
