/* SPDX-License-Identifier: MIT */
/* The middle part of the slow paths, for probe_hot.c alone: cells, frames of timed visits, and
 * marks of calls that are about to be made. */
#ifndef LOUPE_RUNTIME_PROBE_FRAMES_H
#define LOUPE_RUNTIME_PROBE_FRAMES_H

/* ---- cells ---- */

static inline void record_open(struct record_probe *r)
{
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void record_close(struct record_probe *r)
{
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
}

static inline void add(struct probe_site *s, int32_t n)
{
    struct record_probe *r = s->record;
    record_open(r);
    r->armed += (uint64_t)(int64_t)n;
    cell_add(s->cell, n);
    record_close(r);
}

/* The n-th visit from now comes here again. A cell that stays below zero comes at every visit. */
static inline void arm(struct probe_site *s, int32_t n)
{
    add(s, n - 1 - *(volatile int32_t *)s->cell);
}

/* Visits until the turn of a procedure that was pulled, with the one that is being made: its cell
 * has counted those since. */
static inline int32_t owes(const struct probe_site *s)
{
    return (int32_t)s->owed + *(volatile int32_t *)s->cell + 1;
}

/* The next visits of a procedure are to come here, whatever its cell says. */
static inline void pull(struct probe_site *s)
{
    int32_t more = *(volatile int32_t *)s->cell;
    if (more <= 0)
        return;
    s->owed = (uint32_t)more;
    add(s, -more);
}

/* ---- frames ---- */

/* What keeping the path costs, since the clock was read and the delay was `known`; outside of every
 * budget. Learnt, since reading the clock costs as much as the rest. What looks at the processor or
 * writes a log there charges for itself; what took so long that another had the processor is no
 * cost, and found by the next look. */
static inline void items_spent(struct probe_thread *p, enum path_part part, uint64_t since,
                               int64_t known)
{
    struct learnt *l = &p->thread->path->cost[part];
    int64_t cost = l->cost;
    if (UNLIKELY(learnt_due(l))) {
        int64_t clock = p->thread->short_cost.inside; /* which the others do not read */
        int64_t known_ticks = (p->delay - known + clock) >> RECORD_TIME_SHIFT;
        int64_t ticks = (int64_t)(now_ticks() - since) - known_ticks;
        if (ticks > LEARNT_TOO_LONG)
            return;
        cost = learnt_now(l, ticks > 0 ? (uint64_t)ticks : 0) + clock;
    }
    p->delay += cost;
    p->thread->apart += cost;
}

/*
 * Visits of items of the critical path. A visit in a burst stands for others: as many as its weight
 * says, and where the first ones of its block only warmed up (and were not entered) for its part of
 * those too. Visits of what has a name stand for themselves: if not all of them are timed, the
 * others are reckoned (probe_reckon.h).
 */
static inline bool enter_path(struct probe_thread *p, struct probe_frame *f)
{
    struct probe_site *s = f->site;
    uint32_t weight = f->weight;
    f->item_weight = 0;
    if (s->always) {
        weight = s->size == 1 || weight;
    } else if (weight > 1 && s->cut == SAMPLE_WARM) {
        uint64_t all = (uint64_t)weight * RECORD_BLOCK + s->item_rest * (uint64_t)SAMPLE_WARM;
        weight = (uint32_t)(all / (RECORD_BLOCK - SAMPLE_WARM));
        s->item_rest = (uint8_t)(all % (RECORD_BLOCK - SAMPLE_WARM) / SAMPLE_WARM);
    }
    if (!p->thread->path || !weight)
        return false;
    int64_t at = (int64_t)f->begin >> RECORD_TIME_SHIFT;
    f->item_weight = weight;
    f->call_item = s->call_item;
    f->item = f->opened->item;
    if (s->always)
        reckon_enter(p, f);
    if (f->call_item != RECORD_PATH_NO_ITEM)
        path_enter(p->thread, f->call_item, at);
    if (f->item != RECORD_PATH_NO_ITEM)
        path_enter(p->thread, f->item, at);
    return true;
}

static RARELY void enter_items(struct probe_thread *p, struct probe_frame *f, uint64_t now)
{
    int64_t known = p->delay;
    if (enter_path(p, f))
        items_spent(p, PATH_ENTERING, now, known);
}

/* With fences, before the clock is read for the visit: so there is no more between its readings
 * than in others, and what keeping the path costs is measured, not learnt. */
static RARELY void enter_items_before(struct probe_thread *p, struct probe_frame *f)
{
    uint64_t since = now_ticks();
    int64_t known = p->delay;
    f->begin = (since << RECORD_TIME_SHIFT) - (uint64_t)(known & p->taken);
    if (!enter_path(p, f))
        return;
    fence();
    int64_t cost = (int64_t)(now_ticks() - since) * (1 << RECORD_TIME_SHIFT) - (p->delay - known);
    if (cost >> RECORD_TIME_SHIFT > LEARNT_TOO_LONG)
        return;
    p->delay += cost;
    p->thread->apart += cost;
}

/* One that was interrupted, or found to be part of a recursion, is no measure for others. */
static RARELY void leave_items(struct probe_thread *p, struct probe_frame *f, int64_t time,
                               uint64_t now)
{
    int64_t at = (int64_t)(f->begin + (uint64_t)time) >> RECORD_TIME_SHIFT;
    uint32_t weight = f->weight ? f->item_weight : 1;
    int64_t ticks = time >> RECORD_TIME_SHIFT, known = p->delay;
    f->item_weight = 0;
    if (!p->thread->path)
        return;
    if (f->item != RECORD_PATH_NO_ITEM)
        path_leave(p->thread, f->item, at, weight, ticks, ticks);
    if (f->call_item != RECORD_PATH_NO_ITEM)
        path_leave(p->thread, f->call_item, at, weight, ticks, ticks);
    if (f->site->always)
        reckon_leave(p, f, ticks);
    items_spent(p, PATH_LEAVING, now, known);
}

HOT void close_top(struct probe_thread *p, uint64_t now)
{
    struct probe_frame *f = p->top;
    struct probe_site *s = f->site;
    uint64_t taken = (uint64_t)p->delay + s->inside;
    int64_t time = (int64_t)((now << RECORD_TIME_SHIFT) - f->begin - (taken & (uint64_t)p->taken));
    if (UNLIKELY(time > p->late))
        sample_late(p, f, time);
    sample_add(f, time);
    if (UNLIKELY(f->item_weight))
        leave_items(p, f, time, now);
    f->caller = NULL;
    int64_t delay = p->delay + (int64_t)(LIKELY(f->weight) ? s->cost : s->warm_cost);
    p->delay = delay;
    p->block->delay = delay >> RECORD_TIME_SHIFT;
    p->block->last = now;
    f->opened->open--;
    p->top = f - 1;
    __atomic_store_n(&p->mirror->depth, (uint32_t)(f - 1)->depth, __ATOMIC_RELEASE);
}

static RARELY void close_slowly(struct probe_thread *p, uint64_t now)
{
    close_top(p, now);
}

/* What nearly all visits are that end where everything is timed: of a statement or loop, in the
 * block that they began in. */
static inline bool closes_simply(const struct probe_frame *f)
{
    return f->burst == f->site->burst && f->weight && !f->caller && !f->item_weight;
}

/* Such a visit, in as few instructions as can be. */
HOT void close_simply(struct probe_thread *p, uint64_t now)
{
    struct probe_frame *f = p->top;
    struct probe_site *s = f->site;
    struct record_probe *r = s->record;
    uint64_t taken = ((uint64_t)p->delay + s->inside) & (uint64_t)p->taken;
    int64_t time = (int64_t)((now << RECORD_TIME_SHIFT) - f->begin - taken);
    uint64_t ticks = (uint64_t)time >> RECORD_TIME_SHIFT; /* below zero: more than the maximum */
    if (UNLIKELY(time > p->late || ticks < r->min || ticks > r->max)) {
        close_slowly(p, now);
        return;
    }
    uint32_t version = r->version | 1;
    __atomic_store_n(&r->version, version, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    r->stratum_time += time;
    r->stratum_timed++;
    __atomic_store_n(&r->version, version + 1, __ATOMIC_RELEASE);
    p->delay += (int64_t)s->cost;
    p->block->delay = p->delay >> RECORD_TIME_SHIFT;
    p->block->last = now;
    f->opened->open--;
    p->top = f - 1;
    __atomic_store_n(&p->mirror->depth, (uint32_t)(f - 1)->depth, __ATOMIC_RELEASE);
}

/* Which visit of an inserted probe is the innermost one now. Those of the source do not change it
 * when they come and go in order. */
static inline void dynamic_top(const struct probe_thread *p)
{
    const struct probe_frame *f = p->top;
    while (!f->opened->dynamic)
        f--;
    if (p == loupe_probes)
        loupe_dynamic_top = f->sp;
}

static RARELY void close_to(struct probe_thread *p, struct probe_frame *keep)
{
    uint64_t now = now_ticks();
    while (p->top > keep)
        close_top(p, now);
    dynamic_top(p);
}

void probe_close_all(struct probe_thread *p)
{
    close_to(p, p->frames);
    p->mark_count = 0;
}

/* Frames below the stack are gone: left by longjmp, or by an exception through code that knows
 * none. So is one of the same site in the same place. frames[0] is above every stack. */
static inline void close_dead(struct probe_thread *p, const struct probe_site *s, uintptr_t sp)
{
    struct probe_frame *keep = p->top;
    while (keep->sp < sp)
        keep--;
    if (UNLIKELY(s->open))
        for (struct probe_frame *f = keep; f->sp == sp; f--)
            if (f->opened == s)
                keep = f - 1;
    if (UNLIKELY(keep < p->top))
        close_to(p, keep);
}

static inline bool frames_full(const struct probe_thread *p)
{
    return p->top == &p->frames[PROBE_FRAMES];
}

HOT void *open_frame(struct probe_thread *p, struct probe_site *site, struct probe_site *opened,
                     struct probe_caller *caller, uintptr_t sp)
{
    struct probe_frame *f = p->top + 1;
    struct record_probe_frame *m = f->mirror;
    bool fenced = site->fenced;
    f->cookie = ((f->cookie & ~(uint64_t)COOKIE_FENCED) + COOKIE_STEP) | fenced;
    f->sp = sp;
    f->site = site;
    f->opened = opened;
    if (caller)
        f->caller = caller;
    f->burst = site->burst;
    if (UNLIKELY((site->call_item & opened->item) != RECORD_PATH_NO_ITEM))
        f->item_weight = 1;
    m->probe = caller ? caller->index : site->index;
    m->weight = site->weight;
    opened->open++;
    p->top = f;
    if (UNLIKELY(fenced)) {
        if (UNLIKELY(f->item_weight))
            enter_items_before(p, f);
        fence();
    }
    uint64_t now = now_ticks();
    __asm__ volatile("" ::: "memory"); /* nothing else is kept in registers: each costs a save */
    int64_t delay = p->delay & p->taken;
    f->begin = (now << RECORD_TIME_SHIFT) - (uint64_t)delay;
    f->mirror->begin = now - (uint64_t)(delay >> RECORD_TIME_SHIFT);
    __atomic_store_n(&p->mirror->depth, (uint32_t)f->depth, __ATOMIC_RELEASE);
    if (UNLIKELY(f->item_weight) && !fenced)
        enter_items(p, f, now);
    return (void *)f->cookie;
}

/* ---- marks ---- */

static inline struct probe_clone *clone_of(struct probe_site *s, uintptr_t address)
{
    for (int i = 0; i < PROBE_CLONES; i++)
        if (LIKELY(s->clones[i].address == address))
            return &s->clones[i];
    struct probe_clone *c = &s->clones[s->clone_next++ % PROBE_CLONES];
    *c = (struct probe_clone){address, UINT64_MAX};
    return c;
}

/* Nobody came for a mark: the call was not made, or was one of another procedure. */
static RARELY void mark_failed(struct probe_site *s)
{
    enum { UNSURE = 4, HOPELESS = 64 };
    s->missed++;
    s->stale++;
    if (s->stale % UNSURE == 0) {
        if (!s->is_linked) /* its procedure has it among `linked` */
            s->target = NULL;
        for (int i = 0; i < PROBE_CLONES; i++)
            s->clones[i].distance = UINT64_MAX;
    }
    if (s->stale >= HOPELESS && !s->taken) {
        s->own = s->kind == LOUPE_SITE_STATEMENT;
        s->untimed = !s->own;
    }
}

static inline void drop_marks(struct probe_thread *p, uint32_t keep)
{
    while (p->mark_count > keep)
        mark_failed(p->marks[--p->mark_count].site);
}

/* Marks of calls below the stack will not be taken any more. */
static inline void drop_dead_marks(struct probe_thread *p, uintptr_t sp)
{
    while (UNLIKELY(p->mark_count && p->marks[p->mark_count - 1].sp < sp))
        drop_marks(p, p->mark_count - 1);
}

static inline void see_entry(struct probe_thread *p, struct probe_site *s)
{
    if (LIKELY(s->target != NULL)) {
        pull(s->target);
        return;
    }
    for (struct probe_place *at = s->group->procedures; at; at = at->next) {
        struct probe_cells *c = p->active[at->unit];
        if (c && c->sites[at->site])
            pull(c->sites[at->site]);
    }
}

static inline void put_mark(struct probe_thread *p, struct probe_site *s, uintptr_t sp,
                            uintptr_t address)
{
    for (uint32_t i = p->mark_count; i && UNLIKELY(p->marks[i - 1].sp == sp); i--)
        if (p->marks[i - 1].site == s)
            drop_marks(p, i - 1);
    if (UNLIKELY(p->mark_count == PROBE_MARKS))
        drop_marks(p, 0);
    p->marks[p->mark_count++] = (struct probe_mark){s, sp, clone_of(s, address), p->top};
    see_entry(p, s);
}

/*
 * Whether an entry answers a mark: if it is as near as entries for this call ever were, and nothing
 * timed has begun since that goes on. Arguments are evaluated between mark and entry, and may call
 * the procedure too, but from deeper in the stack.
 */
static inline bool answers(const struct probe_thread *p, const struct probe_mark *m, uintptr_t sp)
{
    return p->top == m->top && m->sp >= sp && m->sp - sp <= m->clone->distance;
}

/* The call whose mark this entry of a procedure answers: the last one of its group. */
static inline struct probe_site *take_mark(struct probe_thread *p, struct probe_site *s,
                                           uintptr_t sp)
{
    for (uint32_t i = p->mark_count; i; i--) {
        struct probe_mark *m = &p->marks[i - 1];
        if (m->site->group != s->group)
            continue;
        if (!answers(p, m, sp))
            return NULL;
        struct probe_site *call = m->site;
        m->clone->distance = m->sp - sp;
        /* Others stay: a compiler may put the marks of `f() + g()` before both calls. */
        for (p->mark_count--; i <= p->mark_count; i++)
            p->marks[i - 1] = p->marks[i];
        if (!call->is_linked)
            call->target = s;
        call->stale = 0;
        call->taken = 1;
        return call;
    }
    return NULL;
}

#endif
