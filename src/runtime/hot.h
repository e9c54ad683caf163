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
 *     event_peer(&e, ...);        any number of them
 *     event_done(&e);             closes it
 */
#ifndef LOUPE_RUNTIME_HOT_H
#define LOUPE_RUNTIME_HOT_H

#include "runtime/clock.h"
#include "runtime/thread.h"

/* Once more than the compiler would by itself: a call costs as much as the work. */
#define HOT         static inline __attribute__((always_inline))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Calls with many arguments have their frame a little lower than others from the same place. A
 * frame that is less than this below the guard's is a sister of it, not inside it. */
enum { GUARD_REACH = 72 };

struct event {
    struct thread *thread;
    struct site *site;
    uint64_t begin, ticks;
};

/* The control word in the header; a private zero until there is one. */
extern const uint32_t *loupe_control EXPORT;
/* Moves on when code was unloaded: addresses may mean something else now. */
extern uint32_t loupe_code_epoch EXPORT;

struct thread *event_begin_slow(void *frame) EXPORT_AS(event_begin_slow);
struct site *event_site_slow(struct thread *t, uint64_t key, uintptr_t address, uint32_t call)
    EXPORT_AS(event_site_slow);
struct record_peer *event_peer_slow(struct thread *t, struct site *site, int32_t rank,
                                    uint32_t direction) EXPORT_AS(event_peer_slow);

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

static inline uint32_t site_hash(const struct thread *t, uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> t->shift);
}

HOT struct site *event_site(struct thread *t, uintptr_t address, uint32_t call)
{
    uint64_t key = site_key(address, call);
    for (uint32_t h = site_hash(t, key);; h = (h + 1) & t->slot_mask) {
        const struct site_slot *slot = &t->slots[h];
        if (LIKELY(slot->key == key) && LIKELY(slot->site->code_epoch == loupe_code_epoch))
            return slot->site;
        if (slot->key == key || !slot->key)
            return event_site_slow(t, key, address, call);
    }
}

/* `frame` is the frame address of the function that watches: saved frame pointer, then return
 * address. From here on calls of MPI by MPI itself are nobody's statements. */
static inline void guard_set(struct thread *t, void *frame)
{
    t->guard = frame;
    t->guard_return = t->guard[1];
}

/* Everything about an event that can be done before its clock starts. */
HOT bool event_enter(struct event *e, uint32_t call, void *address, void *frame)
{
    struct thread *t = loupe_tls.self;
    if (UNLIKELY(!t || t->guard ||
                 t->control != __atomic_load_n(loupe_control, __ATOMIC_RELAXED))) {
        t = event_begin_slow(frame);
        if (!t)
            return false;
    }
    guard_set(t, frame);
    e->thread = t;
    e->site = event_site(t, (uintptr_t)address, call);
    return true;
}

HOT void event_start(struct event *e)
{
    struct thread *t = e->thread;
    struct record_frame *f = &t->block->frames[t->region_depth];
    f->statement = e->site->index;
    e->begin = f->begin = clock_now();
    __atomic_store_n(&t->block->depth, t->region_depth + 1, __ATOMIC_RELEASE);
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
    __atomic_store_n(&s->version, s->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void statement_close(struct record_statement *s)
{
    __atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELEASE);
}

static inline void statement_add(struct record_statement *s, uint64_t ticks)
{
    s->count++;
    s->time += ticks;
    if (ticks < s->min)
        s->min = ticks;
    if (ticks > s->max)
        s->max = ticks;
}

HOT void event_end(struct event *e)
{
    struct thread *t = e->thread;
    struct record_statement *s = e->site->record;
    statement_open(s);
    uint64_t now = clock_now();
    __atomic_store_n(&t->block->depth, t->region_depth, __ATOMIC_RELAXED);
    e->ticks = clock_since(e->begin, now);
    t->block->last = now;
    if (UNLIKELY(t->region_depth))
        t->covered += e->ticks;
    statement_add(s, e->ticks); /* its self time is its time: readers know */
}

/* The two halves of event_done, for those who go on to other statements in between. */
HOT void event_close(struct event *e)
{
    statement_close(e->site->record);
}

HOT void event_leave(struct event *e)
{
    e->thread->guard = NULL;
}

HOT void event_done(struct event *e)
{
    event_close(e);
    event_leave(e);
}

static inline uint32_t size_bucket(uint64_t bytes)
{
    uint32_t bucket = bytes ? 64u - (uint32_t)__builtin_clzll(bytes) : 0;
    return bucket < RECORD_SIZE_BUCKETS ? bucket : RECORD_SIZE_BUCKETS - 1;
}

/* Bytes of the statement as a whole, one message or one collective. */
static inline void statement_bytes(struct record_statement *s, uint64_t bytes)
{
    s->bytes += bytes;
    s->sizes[size_bucket(bytes)]++;
}

static inline struct record_peer *event_find_peer(struct thread *t, struct site *site, int32_t rank,
                                                  uint32_t direction)
{
    if (LIKELY(site->last_rank[direction] == rank && site->last_peer[direction]))
        return site->last_peer[direction];
    return event_peer_slow(t, site, rank, direction);
}

/* One message to or from `rank`; inside the odd section of `site`'s statement. */
static inline void event_peer(struct thread *t, struct site *site, int32_t rank, uint32_t direction,
                              uint64_t bytes, uint64_t ticks)
{
    struct record_peer *p = event_find_peer(t, site, rank, direction);
    if (LIKELY(p != NULL)) {
        p->count++;
        p->bytes += bytes;
        p->time += ticks;
    }
}

#endif
