/* SPDX-License-Identifier: MIT */
/*
 * For tests of virtual time: a unit with probes, events whose times are made up, and what readers
 * see of them.
 */
#ifndef LOUPE_TESTS_VIRTUAL_H
#define LOUPE_TESTS_VIRTUAL_H

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

static inline void on_statement(void *data, uint32_t block, uint32_t index,
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

static inline struct record_statement statement(uint64_t address)
{
    const struct record_visitor visitor = {.statement = on_statement};
    struct record_reader *reader;
    const char *place = getenv(PLACE_ENV_JOB_DIR);
    int dir = open(place ? place : "", O_RDONLY | O_DIRECTORY);
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

static inline bool near(double a, double b, double by)
{
    if (fabs(a - b) <= by)
        return true;
    printf("# %.0f, not %.0f (%.0f)\n", a, b, by);
    return false;
}

/* A moment that was taken between two others, some slack given. */
static inline bool between(double a, double least, double most)
{
    return near(a, (least + most) / 2, (most - least) / 2 + MS / 2.0);
}

/* ---- events ---- */

static inline uint64_t now(void)
{
    return clock_now();
}

static inline uint64_t busy(uint64_t ticks)
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
__attribute__((noinline, unused)) static uint64_t event(uintptr_t address, uint64_t length,
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

__attribute__((noinline, unused)) static uint64_t short_event(uintptr_t address, uint64_t length,
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

static inline int64_t delay(void)
{
    return *loupe_tls.self->delay;
}

static inline bool delay_is(int64_t ticks)
{
    return near((double)delay() / (1 << SHIFT), (double)ticks, 0);
}

static inline void set_delay(int64_t ticks)
{
    /* Whether others have had the processor is asked in an event that comes after it was lost, and
     * would be in times that are made up. */
    loupe_tls.self->look_at = UINT64_MAX;
    thread_delay_set(loupe_tls.self, ticks * (1 << SHIFT));
}

/* Raises the delay by so many ticks, in an event. */
static inline void raise_delay(int64_t by, uint64_t length)
{
    int64_t told = delay_told(loupe_tls.self, delay());
    struct partner p = {by > 0 ? by : 0, told + by, 0};
    event(0x7000, length, &p);
}

__attribute__((noinline, unused)) static void work(uint64_t ticks, int64_t by)
{
    LOUPE_PROCEDURE(WORK)
    if (by)
        raise_delay(by, 0);
    busy(ticks);
}

static inline double time_of(uint32_t site)
{
    return reading_of(read_back(), LOUPE_UNIT_ID, site, false).time;
}

#endif
