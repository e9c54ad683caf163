/* SPDX-License-Identifier: MIT */
/*
 * The hot path: what every event costs. No call, lock, allocation or system call in here; the
 * slow paths stand in thread.c, site.c and peer.c.
 *
 *     struct event e;
 *     if (!event_begin(&e, call, address, frame))
 *         return the call, unrecorded;
 *     ... the call ...
 *     event_end(&e);              opens the statement's odd section and stops the clock
 *     event_settle(&e);           adds its time, in virtual time; or event_settle_met
 *     event_peer(&e, ...);        any number of them
 *     event_done(&e);             closes it
 *
 * Where all that an event needs is at hand, its site says so at once:
 *
 *     t = loupe_tls.ready;
 *     site = event_ready(t, call, address);   NULL: the long way, as above
 *     event_open(&e, t, site, frame);
 *     ... the call ...
 *     event_stop(&e, site);
 *     event_settle_short(&e);     or event_settle_short_met
 *     event_shut(&e);
 *
 * What waits for others asks between stopping and settling when they were there (runtime/delay.h):
 *
 *     struct meeting m = event_meeting(&e);            ticks
 *     meeting_join(&m, at, its delay, who);            as its header says
 *     event_settle_met(&e, &m, sync);
 */
#ifndef LOUPE_RUNTIME_HOT_H
#define LOUPE_RUNTIME_HOT_H

#include "runtime/clock.h"
#include "runtime/delay.h"
#include "runtime/path.h"
#include "runtime/thread.h"

/* Once more than the compiler would by itself: a call costs as much as the work. */
#define HOT         static inline __attribute__((always_inline))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Calls with many arguments have their frame a little lower than others from the same place. A
 * frame that is less than this below the guard's is a sister of it, not inside it. */
enum { GUARD_REACH = 72 };
/* In a guard: the return address of the frame is not that of the open site. */
enum { GUARD_OTHER = 1 };

struct event {
    struct thread *thread;
    struct site *site;
    uint64_t begin, now; /* real */
    uint64_t ticks;      /* how long it took, in virtual time: once it is settled */
    int64_t before;      /* the thread's delay when it began, */
    int64_t inner;       /* and what was added until it ended */
};

/* The control words in the header; private zeros until there is one. */
extern const struct record_control *loupe_control EXPORT;
/* Moves on whenever what was looked up for a site may be wrong (epoch_moves). */
extern uint32_t loupe_epoch EXPORT;
/* Moves on when code was unloaded: addresses may mean something else now. */
extern uint32_t loupe_code_epoch EXPORT;

struct thread *event_begin_slow(void *frame) EXPORT_AS(event_begin_slow);
struct site *event_site_slow(struct thread *t, uint64_t key, uintptr_t address, uint32_t call)
    EXPORT_AS(event_site_slow);
struct record_peer *event_peer_slow(struct thread *t, struct site *site, int32_t rank,
                                    uint32_t direction) EXPORT_AS(event_peer_slow);
/* Notes that `rank` of the site's communicator is `world`, if that is a peer of it already. */
void event_near_peer(struct site *site, int32_t rank, int32_t world, uint32_t direction)
    EXPORT_AS(event_near_peer);
/* None of the communicator's ranks is known, as when it is another one. */
void event_near_none(struct site *site) EXPORT_AS(event_near_none);

/* A call may stand at an address that also calls others (through a pointer): both make the key.
 * User addresses have 47 bits. */
static inline uint64_t site_key(uintptr_t address, uint32_t call)
{
    return (uint64_t)address ^ (uint64_t)(call + 1) << 47;
}

static inline uintptr_t site_address(const struct site *site)
{
    return (uintptr_t)(site->key & (((uint64_t)1 << 47) - 1));
}

typedef uint64_t control_words __attribute__((may_alias));

static inline uint64_t control_load(const struct record_control *c)
{
    return __atomic_load_n((const control_words *)c, __ATOMIC_RELAXED);
}

static inline uint32_t near_hash(uintptr_t address)
{
    return (uint32_t)address * 0x9e3779b1u / (UINT32_MAX / NEAR_SITES + 1);
}

static inline uint32_t site_hash(const struct thread *t, uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> t->shift);
}

HOT struct site *event_site(struct thread *t, uintptr_t address, uint32_t call)
{
    uint32_t h = near_hash(address);
    if (LIKELY(t->near_address[h] == address && t->near_site[h]->call == call))
        return t->near_site[h];
    return event_site_slow(t, site_key(address, call), address, call);
}

/* `frame` is the frame address of the function that watches: saved frame pointer, then return
 * address. From here on calls of MPI by MPI itself are nobody's statements. */
static inline void guard_set(struct thread *t, void *frame)
{
    t->guard_return = ((void **)frame)[1];
    t->guard = (uintptr_t)frame | GUARD_OTHER;
}

/* Everything about an event that can be done before its clock starts. */
HOT bool event_enter(struct event *e, uint32_t call, void *address, void *frame)
{
    struct thread *t = loupe_tls.self;
    if (UNLIKELY(!t || t->guard || t->control != control_load(t->control_at))) {
        t = event_begin_slow(frame);
        if (!t)
            return false;
    }
    guard_set(t, frame);
    e->thread = t;
    e->site = event_site(t, (uintptr_t)address, call);
    return true;
}

/* It is time to see whether the processor was lost (runtime/preempt.h): an event begins, or has
 * ended after so long. Kept apart from what the event needs in registers. */
static inline void event_look(struct thread *t)
{
#if defined(__x86_64__)
    __asm__ volatile("call *%0" : : "m"(t->look) : "cc", "memory");
#else
    t->look();
#endif
}

HOT void event_start(struct event *e)
{
    e->thread->open = e->site;
    e->before = *e->thread->delay;
    e->begin = clock_now();
    if (UNLIKELY(e->begin >= e->thread->look_at)) {
        event_look(e->thread);
        e->before = *e->thread->delay;
        e->begin = clock_now();
    }
    __atomic_store_n(&e->site->record->open, e->begin, __ATOMIC_RELAXED);
    if (UNLIKELY(e->thread->path))
        e->before = path_wait(e->thread, e->site->item, e->begin, e->before);
}

/* The site of a call of which nothing is to be found out first; NULL: the long way. */
HOT struct site *event_ready(const struct thread *t, uint32_t call, void *address)
{
    if (UNLIKELY(t->guard || t->control != control_load(t->control_at)))
        return NULL;
    uint32_t h = near_hash((uintptr_t)address);
    if (UNLIKELY(t->near_address[h] != (uintptr_t)address))
        return NULL;
    struct site *site = t->near_site[h];
    return LIKELY(site->call == call) ? site : NULL;
}

static inline uint64_t short_clock(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return clock_now();
#endif
}

/* An event that goes the short way. */
struct ending {
    struct record_statement *record;
    struct thread *thread;
    uint64_t begin, now, ticks; /* as in struct event */
    int64_t before, inner;
};

/* The site's address is the return address in `frame`. Thread and record are not taken from the
 * site anew: what is stored before the clock is read should not have to wait for its address. */
HOT void event_open(struct ending *e, struct thread *t, struct site *site, void *frame)
{
    e->record = site->record;
    e->before = *t->delay;
    t->open = site;
    t->guard = (uintptr_t)frame;
    e->begin = short_clock();
    if (UNLIKELY(e->begin >= t->look_at)) {
        event_look(t);
        e->before = *t->delay;
        e->begin = short_clock();
    }
    __atomic_store_n(&e->record->open, e->begin, __ATOMIC_RELAXED);
    if (UNLIKELY(t->path))
        e->before = path_wait(t, site->item, e->begin, e->before);
}

HOT bool event_begin(struct event *e, uint32_t call, void *address, void *frame)
{
    bool recorded = event_enter(e, call, address, frame);
    if (LIKELY(recorded))
        event_start(e);
    return recorded;
}

/* Writers are alone on their records; on this machine's memory order plain stores between compiler
 * barriers are enough. Or-ing heals a section that a longjmp left open. */
static inline void statement_open(struct record_statement *s)
{
    s->version |= 1;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void statement_close(struct record_statement *s)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    s->version++;
}

static inline void statement_add(struct record_statement *s, uint64_t ticks)
{
    s->count++;
    s->time += ticks;
    if (UNLIKELY(ticks < s->min))
        s->min = ticks;
    if (UNLIKELY(ticks > s->max))
        s->max = ticks;
}

HOT void event_end(struct event *e)
{
    statement_open(e->site->record); /* first: between the clock and this it would seem to go on */
    e->now = clock_now();
    e->inner = *e->thread->delay - e->before;
}

/* ---- virtual time ---- */

/* A delay as others are told of it, in ticks; 0 where what comes from others is not taken out. */
static inline int64_t delay_told(const struct thread *t, int64_t delay)
{
    return ((delay + (1 << RECORD_TIME_SHIFT) / 2) >> RECORD_TIME_SHIFT) & t->told;
}

/* The thread has lost so much time by our doing, in 1/256 ticks. */
static inline void event_spent(struct thread *t, int64_t cost)
{
    *t->delay += cost;
    t->apart += cost;
}

/* So many ticks of ours have been charged as they passed. If others had the processor meanwhile,
 * that is delay, and not to be taken off once more as lost: a look now tells it from what is lost
 * elsewhere (runtime/preempt.h). */
static inline void event_charged(struct thread *t, uint64_t ticks)
{
    if (UNLIKELY(ticks > PREEMPT_STRETCH) && t->preempt.known && t->taken) {
        t->preempt.charged = ticks;
        event_look(t);
    }
}

/* The same, measured: since `began`, when the clock was read for it. */
static inline void event_spent_since(struct thread *t, uint64_t began)
{
    uint64_t ticks = clock_since(began, clock_now());
    int64_t cost = (int64_t)(ticks << RECORD_TIME_SHIFT) + t->short_cost.inside;
    event_spent(t, cost);
    t->measured += cost;
    event_charged(t, ticks);
}

/* Where what is measured may itself account for parts of it. */
struct spending {
    uint64_t began;
    int64_t known; /* accounted for */
};

static inline struct spending spending_begin(const struct thread *t)
{
    return (struct spending){clock_now(), -t->measured};
}

/* An event was begun, ended and settled meanwhile: the call is the program's. */
static inline void spending_call(struct spending *s, const struct event *e)
{
    s->began += e->now - e->begin;
    s->known += e->thread->full_cost.all - e->thread->full_cost.inside;
}

static inline void spending_end(struct thread *t, const struct spending *s)
{
    event_spent(t, -(s->known + t->measured));
    event_spent_since(t, s->began);
}

/* By how much a meeting changes a delay that was `before` when it began, in 1/256 ticks. */
static inline int64_t delay_moved(const struct thread *t, int64_t before, const struct meeting *m)
{
    return ((meeting_delay(m) - delay_told(t, before)) & t->told) * (1 << RECORD_TIME_SHIFT);
}

/* A meeting of which nothing is recorded, because measurement is off. */
static inline void thread_met(struct thread *t, int64_t before, const struct meeting *m)
{
    int64_t moved = delay_moved(t, before, m);
    *t->delay += moved;
    t->apart += moved;
    t->received += moved;
}

/* Of those who are asked: regions that are open, and the budget of probes in the source. */
static inline void event_watched(struct thread *t, uint64_t ticks, int64_t cost)
{
    t->covered += ticks;
    t->apart += cost;
}

/* The end of an event, into whose statement's odd section this falls. What the delay has changed by
 * while it lasted, `moved`, has not passed in virtual time: a meeting's doing, and that of probes
 * in code that MPI called. Of it `met` is yet to come. */
HOT uint64_t event_add(struct thread *t, struct record_statement *s, uint64_t begin, uint64_t now,
                       int64_t moved, int64_t met, const struct event_cost *cost)
{
    int64_t delay = *t->delay + met, real = (int64_t)(now - begin);
    int64_t time = real * (1 << RECORD_TIME_SHIFT) - cost->rounded;
    if (UNLIKELY(moved))
        time -= moved & t->taken;
    time >>= RECORD_TIME_SHIFT;
    if (UNLIKELY(time <= 0)) { /* an empty call, less what the clock takes; or the clock jumped */
        time = 0;
        real = real < 0 ? 0 : real;
    }
    delay += cost->all;
    *t->delay = delay;
    t->block->delay = delay >> RECORD_TIME_SHIFT;
    if (UNLIKELY(t->watched))
        event_watched(t, (uint64_t)time, met + cost->all);
    s->open = 0;
    s->last = now;
    s->real += (uint64_t)real;
    t->talked += (uint64_t)real;
    statement_add(s, (uint64_t)time); /* its self time is its time: readers know */
    if (UNLIKELY(now >= t->look_at))
        event_look(t);
    return (uint64_t)time;
}

HOT void event_add_met(struct thread *t, struct record_statement *s, int64_t met, uint64_t sync,
                       uint64_t ticks)
{
    t->received += met;
    t->block->received = t->received >> RECORD_TIME_SHIFT;
    s->sync += sync < ticks ? sync : ticks;
}

HOT void event_extra(struct thread *t)
{
    if (UNLIKELY(t->extra))
        thread_extra(t);
}

/* What it has added to the critical path. */
HOT void event_path(struct thread *t, uint64_t ticks, uint64_t sync)
{
    if (UNLIKELY(t->path))
        path_go(t, ticks, sync);
}

/* Nobody was met: the delay grows by the event's own cost. */
HOT void event_settle(struct event *e)
{
    e->ticks =
        event_add(e->thread, e->site->record, e->begin, e->now, e->inner, 0, &e->thread->full_cost);
    event_path(e->thread, e->ticks, 0);
    event_extra(e->thread);
}

HOT struct meeting event_meeting(const struct event *e)
{
    return meeting_begin((int64_t)e->begin, delay_told(e->thread, e->before));
}

/* Of the time `sync` ticks, if it took so long, were waiting for others. */
HOT void event_settle_met(struct event *e, const struct meeting *m, uint64_t sync)
{
    int64_t met = delay_moved(e->thread, e->before, m);
    e->ticks = event_add(e->thread, e->site->record, e->begin, e->now, e->inner + met, met,
                         &e->thread->full_cost);
    event_add_met(e->thread, e->site->record, met, sync, e->ticks);
    event_path(e->thread, e->ticks, sync);
    event_extra(e->thread);
}

/* The two halves of event_done, for those who go on to other statements in between. */
HOT void event_close(struct event *e)
{
    statement_close(e->site->record);
}

HOT void event_leave(struct event *e)
{
    e->thread->guard = 0;
}

HOT void event_done(struct event *e)
{
    event_close(e);
    event_leave(e);
}

HOT void event_stop(struct ending *e, const struct site *site)
{
    statement_open(e->record);
    e->now = short_clock();
    e->thread = site->thread;
    e->inner = *e->thread->delay - e->before;
}

HOT void event_settle_short(struct ending *e)
{
    e->ticks =
        event_add(e->thread, e->record, e->begin, e->now, e->inner, 0, &e->thread->short_cost);
    event_path(e->thread, e->ticks, 0);
}

HOT struct meeting event_meeting_short(const struct ending *e)
{
    return meeting_begin((int64_t)e->begin, delay_told(e->thread, e->before));
}

HOT void event_settle_short_met(struct ending *e, const struct meeting *m, uint64_t sync)
{
    int64_t met = delay_moved(e->thread, e->before, m);
    e->ticks = event_add(e->thread, e->record, e->begin, e->now, e->inner + met, met,
                         &e->thread->short_cost);
    event_add_met(e->thread, e->record, met, sync, e->ticks);
    event_path(e->thread, e->ticks, sync);
}

HOT void event_shut(const struct ending *e)
{
    statement_close(e->record);
    e->thread->guard = 0;
}

#include "runtime/hot_peer.h"

#endif
