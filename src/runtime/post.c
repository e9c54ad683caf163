/* SPDX-License-Identifier: MIT */
/* Which posts are timed, and what those stand for. The slow side of post.h. */
#include "runtime/post.h"

#include "runtime/process.h"
#include "runtime/system_call.h"

#include <sys/resource.h>
#include <sys/syscall.h>

enum {
    POST_EXACT = 1024,   /* posts that are all timed before it is decided anew */
    POST_LATE = 1 << 15, /* ticks, some 10 us: another thread may have had the processor */
};

/* Was the processor given to another thread since this was last asked? */
static bool switched(struct thread *t)
{
    uint64_t began = clock_now();
    struct rusage usage;
    usage.ru_nivcsw = 0;
    long error = system_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0);
    bool more = !error && (uint64_t)usage.ru_nivcsw != t->post_switches;
    if (more)
        t->post_switches = (uint64_t)usage.ru_nivcsw;
    event_spent_since(t, began);
    return more;
}

/* It stands for others that are not timed. One that was interrupted is no measure for them. */
static void stand_for_others(const struct ending *e, struct post_sampling *p,
                             struct record_peer *peer)
{
    uint64_t others = p->weight - 1, real = clock_since(e->begin, e->now);
    if (UNLIKELY(e->ticks > POST_LATE) && switched(e->thread))
        return;
    e->record->time += others * e->ticks;
    e->record->real += others * real;
    e->thread->talked += others * real;
    if (peer)
        peer->time += others * e->ticks;
    p->block += (int64_t)e->ticks;
}

/* The variance that one block in `weight` leaves, from two that follow each other. */
static void add_variance(struct record_statement *s, int64_t difference, uint64_t weight)
{
    uint64_t d = (uint64_t)(difference < 0 ? -difference : difference), sum;
    d = d > UINT32_MAX ? UINT32_MAX : d;
    if (__builtin_mul_overflow(d * d, weight * (weight - 1) / 2, &sum) ||
        __builtin_add_overflow(sum, s->variance, &sum))
        sum = UINT64_MAX;
    s->variance = sum;
}

/* Would timing all of them cost more than the budget? */
static bool is_hot(const struct ending *e, struct post_sampling *p)
{
    uint32_t budget =
        __atomic_load_n(&loupe_process.writer.header->control.budget, __ATOMIC_RELAXED);
    const struct record_statement *s = e->record;
    uint64_t visits = s->count > p->count ? s->count - p->count : 0; /* else after a reset */
    uint64_t took = clock_since(p->decided, e->now), cost = (uint64_t)e->thread->short_cost.all;
    bool first = !p->decided;
    p->decided = e->now;
    p->count = s->count;
    return !first && budget != RECORD_BUDGET_OFF && !e->thread->path && !e->thread->watched &&
           (visits * cost >> RECORD_TIME_SHIFT) * 10000 > took * budget;
}

static void choose(const struct ending *e, struct post_sampling *p)
{
    uint32_t rest = 0;
    bool sampled = p->weight > 1;
    if (sampled) {
        if (p->last_known)
            add_variance(e->record, p->block - p->last, p->weight);
        p->last = p->block;
        rest = RECORD_POST_SIZE - 1 - p->drawn; /* blocks of the stratum behind the timed one */
    }
    p->last_known = sampled;
    p->block = 0;
    bool hot = is_hot(e, p);
    uint64_t random = (e->now ^ (uintptr_t)p) * 0x9e3779b97f4a7c15u;
    p->drawn = hot ? (uint32_t)((random >> 32) * RECORD_POST_SIZE >> 32) : 0;
    p->weight = hot ? RECORD_POST_SIZE : 1;
    p->left = hot ? RECORD_POST_BLOCK : POST_EXACT;
    p->skip = (rest + p->drawn) * RECORD_POST_BLOCK;
}

void post_turn(const struct ending *e, struct site *site, struct record_peer *peer)
{
    struct post_sampling *p = &site->posts;
    if (p->skip) { /* somebody has come to need them all: from here on each stands for itself */
        *p = (struct post_sampling){.left = POST_EXACT, .weight = 1};
        return;
    }
    if (p->weight > 1)
        stand_for_others(e, p, peer);
    if (p->left <= 0)
        choose(e, p);
}
