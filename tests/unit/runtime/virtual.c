/* SPDX-License-Identifier: MIT */
/*
 * Times without what we have caused: events, regions and probes while the thread's delay changes,
 * by meetings, resets, measurement off and on, and from one thread to the next. Times of events are
 * made up where they must be exact.
 */
#include "virtual.h"

#include <pthread.h>

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
    ok(r->delay - r->received >= own + 80 && r->delay - r->received < own + 100 * MS,
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

/* A procedure of ten milliseconds in which something happens, against itself without. Again if the
 * processor was lost just outside of it. */
static bool takes(int64_t by, double expected)
{
    bool right = false;
    for (int i = 0; i < 20 && !right; i++) {
        double before = time_of(CALL);
        uint64_t began = now();
        (LOUPE_CALL(CALL), work(10 * MS, by));
        double real = (double)(now() - began);
        right = near(time_of(CALL) - before, expected + real - 10 * MS, MS);
    }
    return right;
}

static void test_frames(void)
{
    (LOUPE_CALL(CALL), work(1, 0)); /* whatever must be made */
    (LOUPE_CALL(CALL), work(1, 1));
    ok(takes(0, 10 * MS), "a procedure takes as long as it takes");
    ok(takes(6 * MS, 4 * MS), "less where a meeting in it raised the delay");
    ok(takes(-6 * MS, 16 * MS), "more where one lowered it");
    uint64_t before = now(); /* other programs may get the processor at any moment */
    loupe_runtime_begin("around");
    uint64_t after = now();
    raise_delay(-20 * MS, 1 * MS);
    raise_delay(5 * MS, 6 * MS);
    busy(10 * MS);
    double least = (double)(now() - after);
    statement(0);
    double real = (double)(now() - before);
    ok(between((double)region.time - 15 * MS, least, real), "a region that is open");
    least = (double)(now() - after);
    loupe_runtime_end("around");
    real = (double)(now() - before);
    statement(0);
    ok(between((double)region.time - 15 * MS, least, real), "and has ended");
    ok(between((double)region.real, least, real), "in real time");
    ok(between((double)region.self + 22 * MS - 15 * MS, least, real),
       "without the time of the events in it");
}

static void visit_hot_loop(void)
{
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 200; k++) {
            LOUPE_LOOP(HOT_LOOP)
            busy(5000);
            if (k % 64 == 0)
                raise_delay(3 * MS, 0); /* as if most of the time were probes' */
        }
}

static void test_budget(void)
{
    struct probe_thread *p = loupe_tls.self->probes;
    int tries = 0;
    loupe_process.writer.header->control.budget = 500;
    do { /* a probe that loses the processor has cost much */
        p->pressure = 256;
        visit_hot_loop();
    } while (++tries < 10 && p->pressure != 256);
    ok(p->pressure == 256, "what came from others is not what our probes have cost: %lu",
       (unsigned long)p->pressure);
    loupe_process.writer.header->control.budget = RECORD_BUDGET_OFF;
    ok(near(reading_of(read_back(), LOUPE_UNIT_ID, HOT_LOOP, false).count, 20000.0 * tries, 0),
       "visits");
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
    raise_delay(900 * MS, 0);
    uint64_t before = now();
    set_control(1u << RECORD_CONTROL_RESET_SHIFT);
    event(0x8000, 1000, NULL);
    uint64_t after = now();
    struct readings *r = read_back();
    ok(r->delay < 100 * MS && r->delay >= 0 && r->received == 0,
       "after a reset the delay since is seen");
    busy(2 * MS);
    raise_delay(-4 * MS, 0);
    r = read_back();
    ok(near((double)r->received, -4 * MS, MS / 10.0), "and what was received since");
    double least = (double)(now() - after), loop = time_of(LOOP), real = (double)(now() - before);
    ok(between(loop - 4 * MS, least, real), "a loop that is open has begun with it");
    least = (double)(now() - after);
    loupe_runtime_end("around");
    real = (double)(now() - before);
    statement(0);
    ok(between((double)region.time - 4 * MS, least, real) &&
           between((double)region.real, least, real),
       "so has a region");
}

static void test_off(void)
{
    struct readings *r = read_back();
    struct thread *t = loupe_tls.self;
    int64_t received = r->received;
    uint32_t word = loupe_process.writer.header->control.word;
    set_control(word | RECORD_CONTROL_OFF);
    event(0x8000, 1000, NULL);
    ok(t->off, "measurement is off");
    int64_t seen = read_back()->delay;
    for (int i = 0; i < 1000; i++)
        event(0x8000, 1000, NULL);
    int64_t before = delay();
    struct meeting m = meeting_begin(0, delay_told(t, before));
    meeting_join(&m, 1000, delay_told(t, delay()) - 900 * MS, 1);
    thread_met(t, delay(), &m);
    r = read_back();
    ok(r->delay == seen && r->received == received, "meanwhile readers see the delay stand still");
    set_control(word);
    event(0x8000, 1000, NULL);
    r = read_back();
    ok(near((double)r->delay, (double)seen, 100 * MS) && r->received == received,
       "nothing of it is seen afterwards");
    ok(delay() < before - (int64_t)(800 * MS) * 256, "but it is there");
}

/* ---- threads ---- */

static void *first_thread(void *unused)
{
    event(0x9000, 100, NULL);
    struct thread *t = loupe_tls.self;
    int64_t cost_then = delay();
    thread_delay_set(t, cost_then + (int64_t)(900 * MS) * 256);
    event(0x9000, 100, NULL);
    return unused;
}

static void *second_thread(void *creator)
{
    event(0x9000, 100, NULL);
    ok(delay() - (int64_t)(intptr_t)creator < (int64_t)(100 * MS) * 256,
       "a thread begins with the delay of who starts it, not of the one before");
    struct readings *r = read_back();
    ok(r->blocks == 2, "whose block it has");
    struct record_thread *block = loupe_tls.self->block;
    int64_t own = block->delay - block->received;
    thread_delay_set(loupe_tls.self, (int64_t)(7 * MS) * 256);
    ok(block->delay == 7 * MS && near((double)(block->delay - block->received), (double)own, 1),
       "what it gets from others is not its own cost");
    return creator;
}

static void test_threads(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, first_thread, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, second_thread, (void *)(intptr_t)delay());
    pthread_join(thread, NULL);
}

static void test_fork(void)
{
    fflush(stdout);
    set_delay(900 * MS);
    pid_t child = fork();
    if (child == 0) {
        event(0xa000, 100, NULL);
        struct readings *r = read_back();
        bool good = r->blocks == 1 && delay() >= 0 && delay() < (int64_t)(100 * MS) * 256;
        (LOUPE_CALL(CALL), work(10, 0));
        _exit(good && time_of(CALL) < 100 * MS ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ok(status == 0, "a forked child begins without its parent's delay");
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=off");
    event(0x100, 0, NULL); /* from here on this thread has a block */
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
    return tap_done();
}
