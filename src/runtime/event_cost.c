/* SPDX-License-Identifier: MIT */
/*
 * What an event costs the program, found out on a thread and a statement of our own: calls of a
 * function that does nothing, through wrappers as they are generated and without. In real programs
 * out-of-order execution hides part of it.
 */
#include "runtime/post.h"

#include "runtime/process.h"

enum { BATCHES = 8, CALLS = 256, SOME_CALL = 0 };

/* In 1/256 ticks; the least of all times it was tried. */
struct found {
    int64_t all, inside;
};
static struct found found_short, found_full, found_post;
static uint32_t lock;

/* All that a trial needs. */
static struct {
    struct thread thread;
    struct record_thread block;
    struct record_statement statement;
    struct record_peer peer;
    struct site site;
    struct record_control control; /* nobody changes it, or calls would be left out */
} trial;

typedef void call_function(struct thread *t);

static __attribute__((noinline)) void nothing(struct thread *t)
{
    __asm__ volatile("" ::"r"(t) : "memory");
}
static call_function *volatile next = nothing;

/* As a send of fast.py. */
static __attribute__((noinline)) void call_short(struct thread *t)
{
    struct site *site = event_ready(t, SOME_CALL, &trial);
    if (!site)
        return;
    struct near_peer *near = near_peer(site, 0, RECORD_SENT);
    struct ending e;
    event_open(&e, t, site, __builtin_frame_address(0));
    next(t);
    event_stop(&e, site);
    event_settle_short(&e);
    statement_bytes(e.record, sizeof e);
    peer_add(near->record, sizeof e, e.ticks);
    event_shut(&e);
}

/* As a post that is only counted. */
static __attribute__((noinline)) void call_post(struct thread *t)
{
    struct site *site = event_ready(t, SOME_CALL, &trial);
    if (!site || !post_counted(t, site))
        return;
    struct near_peer *near = near_peer(site, 0, RECORD_SENT);
    struct ending e;
    post_open(&e, t, site, __builtin_frame_address(0));
    next(t);
    post_count(&e, site);
    statement_bytes(e.record, sizeof e);
    peer_add(near->record, sizeof e, e.ticks);
    event_shut(&e);
}

/* As a call that is only timed. */
static __attribute__((noinline)) void call_full(struct thread *t)
{
    if (t->guard || t->control != control_load(t->control_at))
        return;
    guard_set(t, __builtin_frame_address(0));
    struct event e = {.thread = t, .site = event_site(t, (uintptr_t)&trial, SOME_CALL)};
    event_start(&e);
    next(t);
    event_end(&e);
    event_settle(&e);
    event_done(&e);
}

static uint64_t batch(call_function *call)
{
    call_function *volatile through = call;
    uint64_t begin = clock_now();
    for (int i = 0; i < CALLS; i++)
        through(&trial.thread);
    return clock_now() - begin;
}

static void set_up(void)
{
    struct thread *t = &trial.thread;
    t->control_at = &trial.control;
    t->control = control_load(t->control_at);
    t->block = &trial.block;
    t->delay = &t->own_delay;
    t->look_at = UINT64_MAX;
    trial.site = (struct site){
        .thread = t, .record = &trial.statement, .call = SOME_CALL, .item = RECORD_PATH_NO_ITEM};
    trial.site.posts.skip = UINT32_MAX;
    trial.site.near[RECORD_SENT][0].record = &trial.peer;
    uint32_t h = near_hash((uintptr_t)&trial);
    t->near_address[h] = (uintptr_t)&trial;
    t->near_site[h] = &trial.site;
}

static void keep(struct found *least, uint64_t plain, uint64_t ticks)
{
    int64_t own = (int64_t)clock_since(plain, ticks);
    struct found now = {(own << RECORD_TIME_SHIFT) / CALLS,
                        (int64_t)((trial.statement.real << RECORD_TIME_SHIFT) / CALLS)};
    /* the call itself is the program's: what it takes is not ours */
    now.inside -= (int64_t)((plain << RECORD_TIME_SHIFT) / CALLS);
    if (now.inside > now.all)
        now.inside = now.all;
    if (now.inside < 0)
        now.inside = 0;
    if (now.all > 0 && (!least->all || now.all < least->all))
        *least = now;
}

void event_calibrate(void)
{
    uint64_t plain = UINT64_MAX;
    slow_lock(&lock);
    set_up();
    for (int i = 0; i < BATCHES; i++) {
        uint64_t ticks = batch(nothing);
        plain = ticks < plain ? ticks : plain;
    }
    for (int i = 0; i < BATCHES; i++) {
        trial.statement.real = 0;
        keep(&found_short, plain, batch(call_short));
        trial.statement.real = 0;
        keep(&found_full, plain, batch(call_full));
        trial.statement.real = 0;
        keep(&found_post, plain, batch(call_post));
    }
    slow_unlock(&lock);
    if (loupe_tls.self)
        event_costs(loupe_tls.self);
}

static struct event_cost costs(const struct thread *t, const struct found *f)
{
    int64_t inside = f->inside & t->taken;
    return (struct event_cost){f->all, inside - (1 << RECORD_TIME_SHIFT) / 2, f->inside};
}

void event_costs(struct thread *t)
{
    struct record_header *h = loupe_process.writer.header;
    uint32_t how = h->compensation;
    h->ticks_per_event = (uint64_t)found_short.all << 10 >> RECORD_TIME_SHIFT;
    t->taken = how == RECORD_COMPENSATE_NONE ? 0 : -1;
    t->told = how == RECORD_COMPENSATE_FULL ? -1 : 0;
    t->short_cost = costs(t, &found_short);
    t->full_cost = costs(t, &found_full);
    t->post_cost = found_post.all;
    t->extra = loupe_process.extra;
}
