/* SPDX-License-Identifier: MIT */
/* What is taken out of the times, by option; and that an extra delay of every event is.
 *
 *     runtime-compensation local|none|extra
 */
#include "virtual.h"

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

static bool takes_what_it_took(void)
{
    double before = time_of(CALL);
    uint64_t began = now();
    (LOUPE_CALL(CALL), work(10 * MS, 0));
    (LOUPE_CALL(CALL), work(10 * MS, 0));
    double real = (double)(now() - began);
    return near(time_of(CALL) - before, real, MS);
}

static void test_none(void)
{
    struct partner p = {300, 200, 250};
    loupe_tls.self->full_cost.rounded = 0;
    event(0x1000, 0, NULL);
    bool right = false;
    for (int i = 0; i < 20 && !right; i++) /* visits that lose the processor are left out */
        right = takes_what_it_took();
    ok(right, "none: procedures take what they took");
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
    const char *mode = argc > 1 ? argv[1] : "none";
    char options[64];
    bool extra = !strcmp(mode, "extra");
    snprintf(options, sizeof options, "budget=off,%s%s",
             extra ? "extra-delay=200" : "compensation=", extra ? "" : mode);
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, options);
    event(0x100, 0, NULL); /* from here on this thread has a block */
    event_costs(loupe_tls.self);
    if (extra)
        test_extra();
    else if (!strcmp(mode, "local"))
        test_local();
    else
        test_none();
    return tap_done();
}
