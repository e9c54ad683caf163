/* SPDX-License-Identifier: MIT */
/*
 * Times without what we have caused: events, regions and probes while the thread's delay changes,
 * by meetings, resets, measurement off and on, and from one thread to the next. Times of events are
 * made up where they must be exact.
 *
 *     runtime-virtual [local|none|extra]
 */
#define LOUPE_UNIT_ID    0x5001
#define LOUPE_UNIT_SITES 4
enum { KEY_WORK = 41 };
enum { WORK, CALL, LOOP, HOT_LOOP };
#define LOUPE_UNIT_TABLE                                                                           \
    [WORK] = LOUPE_SITE(LOUPE_SITE_PROCEDURE, KEY_WORK),                                           \
    [CALL] = LOUPE_SITE(LOUPE_SITE_CALL, KEY_WORK), [LOOP] = LOUPE_SITE(LOUPE_SITE_LOOP, 0),       \
    [HOT_LOOP] = LOUPE_SITE(LOUPE_SITE_LOOP, 0)
#include <loupe-probe.h>

#include "probing.h"

#include "runtime/hot.h"
#include "runtime/probe.h"

#include <pthread.h>

void loupe_runtime_begin(const char *name);
void loupe_runtime_end(const char *name);

enum { MS = 2000000, SHIFT = RECORD_TIME_SHIFT }; /* ticks, a millisecond or somewhat less */
static const struct event_cost cost = {40 << SHIFT, (10 << SHIFT) - 128, 10 << SHIFT};

/* ---- what readers see ---- */

static struct record_statement region, at_address;
static uint64_t wanted; /* address */

static void on_statement(void *data, uint32_t block, uint32_t index,
                         const struct record_statement *s)
{
    (void)data;
    (void)block;
    (void)index;
    if (s->call == RECORD_CALL_REGION)
        region = *s;
    else if (s->offset == wanted && s->call != RECORD_CALL_OTHERS)
        at_address = *s;
}

static struct record_statement statement(uint64_t address)
{
    const struct record_visitor visitor = {.statement = on_statement};
    struct record_reader *reader;
    int dir = open(getenv(PLACE_ENV_JOB_DIR), O_RDONLY | O_DIRECTORY);
    wanted = address;
    memset(&region, 0, sizeof region);
    memset(&at_address, 0, sizeof at_address);
    if (!record_open(dir, -1, loupe_process.writer.name, &reader)) {
        record_visit(reader, record_now(reader), &visitor);
        record_close(reader);
    }
    close(dir);
    return at_address;
}

static bool near(double a, double b, double by)
{
    if (fabs(a - b) <= by)
        return true;
    printf("# %.0f, not %.0f (%.0f)\n", a, b, by);
    return false;
}

/* A moment that was taken between two others, some slack given. */
static bool between(double a, double least, double most)
{
    return near(a, (least + most) / 2, (most - least) / 2 + MS / 2);
}

/* ---- events ---- */

static uint64_t now(void)
{
    return clock_now();
}

static uint64_t busy(uint64_t ticks)
{
    uint64_t began = now();
    while (now() - began < ticks)
        ;
    return began;
}

/* What a partner says that was there `late` ticks after the event began, with this delay. */
struct partner {
    int64_t late, delay;
    uint64_t sync;
};

/* An event of this length, the full way or the short way. Returns its virtual time. */
__attribute__((noinline)) static uint64_t event(uintptr_t address, uint64_t length,
                                                const struct partner *p)
{
    struct event e;
    if (!event_begin(&e, 3, (void *)address, __builtin_frame_address(0)))
        return 0;
    e.thread->full_cost = cost;
    event_end(&e);
    e.now = e.begin + length;
    struct meeting m = event_meeting(&e);
    if (p)
        meeting_join(&m, (int64_t)e.begin + p->late, p->delay, 1);
    if (p)
        event_settle_met(&e, &m, p->sync);
    else
        event_settle(&e);
    event_done(&e);
    return e.ticks;
}

__attribute__((noinline)) static uint64_t short_event(uintptr_t address, uint64_t length,
                                                      const struct partner *p)
{
    struct thread *t = loupe_tls.self;
    struct site *site = event_ready(t, 3, (void *)address);
    struct ending e;
    if (!site)
        return UINT64_MAX;
    t->short_cost = cost;
    event_open(&e, t, site, __builtin_frame_address(0));
    event_stop(&e, site);
    e.now = e.begin + length;
    struct meeting m = event_meeting_short(&e);
    if (p) {
        meeting_join(&m, (int64_t)e.begin + p->late, p->delay, 1);
        event_settle_short_met(&e, &m, p->sync);
    } else {
        event_settle_short(&e);
    }
    event_shut(&e);
    return e.ticks;
}

static int64_t delay(void)
{
    return *loupe_tls.self->delay;
}

static bool delay_is(int64_t ticks)
{
    return near((double)delay() / (1 << SHIFT), (double)ticks, 0);
}

static void set_delay(int64_t ticks)
{
    thread_delay_set(loupe_tls.self, ticks * (1 << SHIFT));
}

typedef uint64_t event_function(uintptr_t address, uint64_t length, const struct partner *p);

static void test_settle(uintptr_t address, event_function *happens)
{
    event(address, 0, NULL); /* its first visit */
    struct record_statement before = statement(address), s;
    set_delay(1000);
    ok(happens(address, 500, NULL) == 490 && delay_is(1040), "an event adds its own cost");
    ok(happens(address, 5, NULL) == 0, "no time is below zero");
    s = statement(address);
    ok(s.time - before.time == 490 && s.real - before.real == 505 && s.sync == 0,
       "real time beside it");
    ok(s.min == 0 && s.max == 490, "least and greatest are virtual");
    /* It waits 300 for one that is 200 late, less whose delay it would have come 300 earlier. */
    set_delay(500);
    struct partner late = {300, 200, 250};
    ok(happens(address, 300, &late) == 590 && delay_is(200 + 40),
       "who waits for one with less delay would have waited longer");
    late.delay = 700; /* without it it would have been there at -400, we at -500 */
    set_delay(500);
    ok(happens(address, 300, &late) == 90 && delay_is(700 + 40), "with more delay, less long");
    late.delay = 5000;
    set_delay(500);
    ok(happens(address, 300, &late) == 0 && delay_is(800 + 40), "at most by the wait");
    struct partner early = {-300, 0, 0};
    set_delay(500);
    ok(happens(address, 100, &early) == 290 && delay_is(300 + 40),
       "one that was there before us had us wait all the same, had we come without delay");
    early.delay = 400;
    set_delay(500);
    ok(happens(address, 100, &early) == 90 && delay_is(540), "or not at all");
    s = statement(address);
    ok(s.sync == 250 + 90 + 0, "of a time no more than all of it is waiting: %lu",
       (unsigned long)s.sync);
    ok(s.time - before.time == 490 + 590 + 90 + 0 + 290 + 90, "times are summed: %lu",
       (unsigned long)(s.time - before.time));
    ok(s.real - before.real == 505 + 300 * 3 + 100 * 2, "and real ones");
}

/* What is spent while an event lasts is not in its time; what is spent after it was never. */
static void test_spent(void)
{
    struct event e;
    set_delay(500);
    if (!event_begin(&e, 3, (void *)0x5000, __builtin_frame_address(0)))
        return;
    e.thread->full_cost = cost;
    int64_t before = delay();
    event_spent(e.thread, 100 << SHIFT);
    event_end(&e);
    event_spent(e.thread, 50 << SHIFT);
    e.now = e.begin + 500;
    event_settle(&e);
    event_done(&e);
    ok(e.ticks == 390, "probes in what MPI called: %lu", (unsigned long)e.ticks);
    ok(delay() - before == 190 << SHIFT, "all that was spent is delay");
}

static void test_received(void)
{
    struct thread *t = loupe_tls.self;
    struct readings *r = read_back();
    ok(near((double)r->delay, (double)delay() / 256, 1), "readers see the delay");
    int64_t own = r->delay - r->received;
    struct partner p = {100, -700, 0};
    event(0x6000, 100, &p);
    event(0x6000, 100, NULL);
    r = read_back();
    ok(r->delay == -700 + 80, "it can be below zero");
    ok(r->delay - r->received >= own + 80 && r->delay - r->received < own + MS,
       "less what was received it is what our own events have cost");
    event_spent(t, 7 << SHIFT);
    ok(delay_is(-700 + 87), "what header work costs is added");
    struct meeting m = meeting_begin(0, delay_told(t, delay()));
    meeting_join(&m, 50, -900, 1);
    uint64_t real = statement(0x6000).real;
    thread_met(t, delay(), &m);
    ok(delay_is(-900) && statement(0x6000).real == real,
       "a meeting that is not recorded counts too");
}

/* ---- what is open meanwhile ---- */

/* Raises the delay by so many ticks, in an event. */
static void raise_delay(int64_t by, uint64_t length)
{
    int64_t told = delay_told(loupe_tls.self, delay());
    struct partner p = {by > 0 ? by : 0, told + by, 0};
    event(0x7000, length, &p);
}

__attribute__((noinline)) static void work(uint64_t ticks, int64_t by)
{
    LOUPE_PROCEDURE(WORK)
    if (by)
        raise_delay(by, 0);
    busy(ticks);
}

static double time_of(uint32_t site)
{
    return reading_of(read_back(), LOUPE_UNIT_ID, site, false).time;
}

/* A procedure of ten milliseconds in which something happens, against itself without. */
static bool takes(int64_t by, double expected)
{
    double before = time_of(CALL);
    uint64_t began = now();
    (LOUPE_CALL(CALL), work(10 * MS, by));
    double real = (double)(now() - began);
    return near(time_of(CALL) - before, expected + real - 10 * MS, MS);
}

static void test_frames(void)
{
    (LOUPE_CALL(CALL), work(1, 0)); /* whatever must be made */
    (LOUPE_CALL(CALL), work(1, 1));
    ok(takes(0, 10 * MS), "a procedure takes as long as it takes");
    ok(takes(6 * MS, 4 * MS), "less where a meeting in it raised the delay");
    ok(takes(-6 * MS, 16 * MS), "more where one lowered it");
    uint64_t began = now();
    loupe_runtime_begin("around");
    raise_delay(-20 * MS, 1 * MS);
    raise_delay(5 * MS, 6 * MS);
    busy(10 * MS);
    double least = (double)(now() - began); /* other programs may get the processor */
    statement(0);
    double real = (double)(now() - began);
    ok(between((double)region.time - 15 * MS, least, real), "a region that is open");
    least = (double)(now() - began);
    loupe_runtime_end("around");
    real = (double)(now() - began);
    statement(0);
    ok(between((double)region.time - 15 * MS, least, real), "and has ended");
    ok(between((double)region.real, least, real), "in real time");
    ok(between((double)region.self + 22 * MS - 15 * MS, least, real),
       "without the time of the events in it");
}

static void test_budget(void)
{
    struct probe_thread *p = loupe_tls.self->probes;
    loupe_process.writer.header->control.budget = 500;
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 200; k++) {
            LOUPE_LOOP(HOT_LOOP)
            busy(5000);
            if (k % 64 == 0)
                raise_delay(3 * MS, 0); /* as if most of the time were probes' */
        }
    ok(p->pressure == 256, "what came from others is not what our probes have cost: %lu",
       (unsigned long)p->pressure);
    loupe_process.writer.header->control.budget = RECORD_BUDGET_OFF;
    ok(near(reading_of(read_back(), LOUPE_UNIT_ID, HOT_LOOP, false).count, 20000, 0), "visits");
}

/* ---- control ---- */

static void set_control(uint32_t word)
{
    __atomic_store_n(&loupe_process.writer.header->control.word, word, __ATOMIC_RELAXED);
}

static void test_reset(void)
{
    LOUPE_LOOP(LOOP)
    loupe_runtime_begin("around");
    busy(5 * MS);
    raise_delay(3 * MS, 0);
    set_control(1u << RECORD_CONTROL_RESET_SHIFT);
    event(0x8000, 1000, NULL);
    uint64_t began = now();
    struct readings *r = read_back();
    ok(r->delay < MS && r->delay >= 0 && r->received == 0, "after a reset the delay since is seen");
    busy(2 * MS);
    raise_delay(-4 * MS, 0);
    r = read_back();
    ok(near((double)r->received, -4 * MS, MS / 10), "and what was received since");
    double least = (double)(now() - began), loop = time_of(LOOP), real = (double)(now() - began);
    ok(between(loop - 4 * MS, least, real), "a loop that is open has begun with it");
    least = (double)(now() - began);
    loupe_runtime_end("around");
    real = (double)(now() - began);
    statement(0);
    ok(between((double)region.time - 4 * MS, least, real) &&
           between((double)region.real, least, real),
       "so has a region");
}

static void test_off(void)
{
    struct readings *r = read_back();
    struct thread *t = loupe_tls.self;
    int64_t seen = r->delay, received = r->received;
    uint32_t word = loupe_process.writer.header->control.word;
    set_control(word | RECORD_CONTROL_OFF);
    event(0x8000, 1000, NULL);
    ok(t->off, "measurement is off");
    seen = read_back()->delay;
    for (int i = 0; i < 1000; i++)
        event(0x8000, 1000, NULL);
    struct meeting m = meeting_begin(0, delay_told(t, delay()));
    meeting_join(&m, 1000, delay_told(t, delay()) - 9 * MS, 1);
    thread_met(t, delay(), &m);
    r = read_back();
    ok(r->delay == seen && r->received == received, "meanwhile readers see the delay stand still");
    set_control(word);
    int64_t before = delay();
    event(0x8000, 1000, NULL);
    r = read_back();
    ok(near((double)r->delay, (double)seen, MS / 10) && r->received == received,
       "nothing of it is seen afterwards");
    ok(delay() - before < MS << SHIFT, "but it is there");
}

/* ---- threads ---- */

static void *first_thread(void *unused)
{
    event(0x9000, 100, NULL);
    struct thread *t = loupe_tls.self;
    int64_t cost_then = delay();
    thread_delay_set(t, cost_then + (int64_t)(5 * MS) * 256);
    event(0x9000, 100, NULL);
    return unused;
}

static void *second_thread(void *unused)
{
    event(0x9000, 100, NULL);
    ok(delay() < (int64_t)MS * 256, "a thread begins without the delay of the one before");
    struct readings *r = read_back();
    ok(r->blocks == 2, "whose block it has");
    struct record_thread *block = loupe_tls.self->block;
    int64_t own = block->delay - block->received;
    thread_delay_set(loupe_tls.self, (int64_t)(7 * MS) * 256);
    ok(block->delay == 7 * MS && near((double)(block->delay - block->received), (double)own, 1),
       "what it gets from others is not its own cost");
    return unused;
}

static void test_threads(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, first_thread, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, second_thread, NULL);
    pthread_join(thread, NULL);
}

static void test_fork(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        event(0xa000, 100, NULL);
        struct readings *r = read_back();
        bool good = r->blocks == 1 && delay() >= 0 && delay() < (int64_t)MS * 256;
        (LOUPE_CALL(CALL), work(10, 0));
        _exit(good && time_of(CALL) < MS ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ok(status == 0, "a forked child begins without its parent's delay");
}

/* ---- options ---- */

static void test_local(void)
{
    struct partner p = {300, 200, 250};
    event(0x1000, 0, NULL);
    set_delay(500);
    ok(event(0x1000, 400, &p) == 390 && delay_is(540), "local: nobody's delay changes ours");
    ok(delay_told(loupe_tls.self, delay()) == 0, "and others are told of none");
    ok(statement(0x1000).sync == 250, "waiting is what it was");
    ok(loupe_process.writer.header->compensation == RECORD_COMPENSATE_LOCAL, "the header says so");
}

static void test_none(void)
{
    struct partner p = {300, 200, 250};
    loupe_tls.self->full_cost.rounded = 0;
    event(0x1000, 0, NULL);
    double before = time_of(CALL);
    uint64_t began = now();
    (LOUPE_CALL(CALL), work(10 * MS, 0));
    (LOUPE_CALL(CALL), work(10 * MS, 0));
    double real = (double)(now() - began);
    ok(near(time_of(CALL) - before, real, MS), "none: procedures take what they took");
    event_calibrate();
    event_costs(loupe_tls.self);
    int64_t own = read_back()->delay - read_back()->received;
    struct event e;
    if (event_begin(&e, 3, (void *)0x2000, __builtin_frame_address(0))) {
        event_end(&e);
        e.now = e.begin + 400;
        struct meeting m = event_meeting(&e);
        meeting_join(&m, (int64_t)e.begin + p.late, p.delay, 1);
        event_settle_met(&e, &m, p.sync);
        event_done(&e);
        ok(e.ticks == 400, "events too: %lu", (unsigned long)e.ticks);
    }
    struct readings *r = read_back();
    ok(r->delay == 0, "no delay is reported");
    ok(own > 0 && r->delay - r->received > own, "but what probes and events cost");
    ok(loupe_process.writer.header->compensation == RECORD_COMPENSATE_NONE, "the header says so");
}

/* Every event and every timed visit costs 0.2 ms more, and nothing of it is in any time. */
static void test_extra(void)
{
    enum { TIMES = 100 };
    double tick = 1e-9 * tick_ns();
    ok(loupe_process.extra * tick > 1.8e-4 && loupe_process.extra * tick < 2.2e-4, "0.2 ms");
    uint64_t began = now();
    for (int i = 0; i < TIMES; i++) {
        loupe_runtime_begin("around");
        struct event e;
        if (event_begin(&e, 3, (void *)0x1000, __builtin_frame_address(0))) {
            busy((uint64_t)(1e-5 / tick));
            event_end(&e);
            event_settle(&e);
            event_done(&e);
        }
        (LOUPE_CALL(CALL), work(1000, 0));
        loupe_runtime_end("around");
    }
    clock_measure(loupe_process.writer.header);
    double real = (double)(now() - began) * 1e-9 * tick_ns();
    struct record_statement s = statement(0x1000);
    ok(real > 2 * TIMES * 1.8e-4, "all are slower: %g s", real);
    ok((double)region.min * tick < 0.4e-4 && region.count == TIMES,
       "a region around them is not: %g s", (double)region.min * tick);
    double events = (double)s.time * tick;
    ok((double)s.min * tick < 0.2e-4 && s.time <= s.real && s.count == TIMES, "nor are they: %g s",
       events);
    ok(events > TIMES * 0.9e-5, "which take their time");
    double work_s = time_of(CALL) * tick;
    ok(work_s < 0.02 * real, "nor are calls: %g s", work_s);
    struct readings *r = read_back();
    ok((double)(r->delay - r->received) * tick > 2 * TIMES * 1.8e-4, "it is said what they cost");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    char options[64];
    snprintf(options, sizeof options, "budget=off,%s%s",
             !strcmp(mode, "extra") ? "extra-delay=200" : "compensation=",
             !strcmp(mode, "extra") ? ""
             : *mode                ? mode
                                    : "full");
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, options);
    event(0x100, 0, NULL); /* from here on this thread has a block */
    if (!strcmp(mode, "local")) {
        test_local();
    } else if (!strcmp(mode, "none")) {
        test_none();
    } else if (!strcmp(mode, "extra")) {
        event_costs(loupe_tls.self);
        test_extra();
    } else {
        test_settle(0x1000, event);
        test_settle(0x2000, short_event);
        test_spent();
        test_received();
        test_frames();
        test_budget();
        test_reset();
        test_off();
        test_threads();
        test_fork();
    }
    return tap_done();
}
