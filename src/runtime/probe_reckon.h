/* SPDX-License-Identifier: MIT */
/*
 * Items of the path that have a name and are too short to be timed at every visit.
 *
 * Those of their visits that are timed enter the path as any others do. What the rest took is
 * reckoned: how many there were is known exactly, from the cell, and what one takes, from those
 * that are timed. It is added wherever the path is about to meet another, so that what was done
 * before a message is on the path that goes with it; visits that stood for others would come now
 * too early, now too late, and where paths meet, the longer one is taken: such errors would add up.
 *
 * A part of probe_sample.h, which says when; general registers only.
 */
#ifndef LOUPE_RUNTIME_PROBE_RECKON_H
#define LOUPE_RUNTIME_PROBE_RECKON_H

#include "runtime/path.h"

enum {
    RECKON_STRATUM = 64, /* blocks, at the most */
    RECKON_SMOOTH = 8,   /* strata */
    RECKON_STEP = 256,   /* visits after which it is looked whether they take longer than before, */
    RECKON_SURPRISE = 16,  /* by so much, */
    RECKON_LEAST = 1 << 25 /* and this, in ticks: some 10 ms. Less may be a single visit, or what
                            * lies between two */
};

/* ---- which visits are timed ---- */

/* What the visits of the block that has ended took in all. */
static inline int64_t reckon_block_time(const struct probe_site *s)
{
    int64_t time = s->record->stratum_time;
    if (s->kind == LOUPE_SITE_PROCEDURE)
        for (const struct probe_caller *c = s->callers; c; c = c->next)
            time += c->block_time;
    return time;
}

/* One of them, in ticks; of a procedure whose calls time it, at the most. */
static inline int64_t reckon_visit_ticks(const struct probe_site *s)
{
    int64_t time = reckon_block_time(s), timed = s->record->stratum_timed;
    if (s->kind == LOUPE_SITE_PROCEDURE)
        timed += s->unknown;
    if (!timed) {
        time = (int64_t)(s->block_ended - s->block_began);
        timed = RECORD_BLOCK;
    }
    return time / timed >> RECORD_TIME_SHIFT;
}

/*
 * The blocks of the next stratum. If visits come seldom, or wait for others, all of them are timed:
 * each may be another, and waiting is on no path. Others follow the budget, as those of other
 * sites; where the clock would not see most of a visit, fences are needed, so it is never all. One
 * block that took long may have had one long visit in it, which stands for others that were not
 * timed: if that changed the size, such visits would stand for fewer than there are.
 */
static inline uint32_t reckon_size(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    struct probe_reckon *r = &s->reckon;
    uint32_t size = sample_size(p, s, now);
    bool seldom = sample_seldom(s), before = r->seldom;
    r->seldom = seldom;
    if (r->waits || (seldom && (before || !r->on)))
        return 1;
    if (size <= SAMPLE_FENCED && reckon_visit_ticks(s) < SAMPLE_TINY)
        return SAMPLE_FENCED + 1;
    return size < RECKON_STRATUM ? size : RECKON_STRATUM;
}

/* ---- what the others took ---- */

/* Where nothing is taken out, the path has its cost in it, and its moments are so much later. */
static inline int64_t reckon_now(const struct probe_thread *p, uint64_t now)
{
    return (int64_t)now + (p->delay & ~p->taken);
}

/* Until the plan changes: who walks the list may be interrupted by a handler that has probes. */
static inline void reckon_list(struct probe_thread *p, struct probe_site *s)
{
    struct probe_reckon *r = &s->reckon;
    if (r->listed)
        return;
    r->listed = true;
    r->next = p->reckoned;
    p->reckoned = s;
}

/* Inside of itself, an item has this already, but its outer visit not for itself alone. */
static inline void reckon_tell(struct probe_thread *p, const struct probe_reckon *r, int64_t ticks)
{
    bool called = r->call_item != RECORD_PATH_NO_ITEM && r->call_item != r->item;
    if (called)
        path_add(p->thread, r->call_item, r->outer, ticks, true);
    if (r->item != RECORD_PATH_NO_ITEM)
        path_add(p->thread, r->item, called ? r->call_item : r->outer, ticks, !r->inside);
}

/* Pays what is owed, as far as there was time for it since the last time. */
static inline void reckon_pay(struct probe_thread *p, struct probe_reckon *r, int64_t most)
{
    int64_t ticks = (r->owed < most ? r->owed : most) >> RECORD_TIME_SHIFT;
    if (ticks <= 0 || (r->item & r->call_item) == RECORD_PATH_NO_ITEM)
        return;
    r->owed -= ticks << RECORD_TIME_SHIFT;
    reckon_tell(p, r, ticks);
}

/* Up to so many executions, and to this moment. */
static inline void reckon_add(struct probe_thread *p, struct probe_site *s, uint64_t executions,
                              int64_t at)
{
    struct probe_reckon *r = &s->reckon;
    if (p->off)
        return;
    int64_t visits = (int64_t)(executions - r->visits) - r->entered, most = at - r->at;
    r->visits = executions; /* first: a handler that comes now reckons what comes behind them */
    r->entered = visits < 0 ? (uint32_t)-visits : 0;
    r->at = at;
    if (!p->thread->path || s->untimed)
        return;
    if (visits > 0) {
        r->counted += visits;
        r->guessed += visits * r->mean;
        r->owed += visits * r->mean;
    }
    reckon_pay(p, r, most);
}

/* What visits of the block that has ended took, of those that were counted with it. */
static inline int64_t reckon_first_mean(const struct probe_site *s)
{
    int64_t begun = (int64_t)RECORD_BLOCK - s->cut - s->missed;
    if (s->kind == LOUPE_SITE_PROCEDURE)
        begun = (int64_t)(probe_executions(s) - 1 - s->record->stratum_begin);
    return begun > 0 ? reckon_block_time(s) / begun : s->visit_last;
}

/* From this moment on not all visits are timed; the one that is being made is the first of these.
 */
static inline void reckon_begin(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    struct probe_reckon *r = &s->reckon;
    r->on = true;
    r->visits = probe_executions(s) - 1;
    r->entered = r->more = 0;
    r->at = reckon_now(p, now);
    r->mean = reckon_first_mean(s);
    r->counted = r->guessed = r->took = 0;
    reckon_list(p, s);
}

/*
 * A stratum is complete, and the next one begins, whose first visit is counted already. What was
 * reckoned meanwhile was a guess: its visits have what those of its block took, outliers too, so
 * that the sum is right.
 */
static SAMPLE_RARELY void reckon_stratum(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    struct probe_reckon *r = &s->reckon;
    int64_t mean = r->mean + (s->visit_last - r->mean) / RECKON_SMOOTH;
    r->owed += r->counted * s->visit_last - r->guessed;
    r->mean = s->visit_last;
    reckon_add(p, s, probe_executions(s) - 1, reckon_now(p, now));
    r->counted = r->guessed = 0;
    r->mean = mean;
    r->on = s->size > 1;
}

/* ---- visits that become long ---- */

/* So many visits are to be counted: the first of them, until it is looked again. */
static inline uint32_t reckon_step(struct probe_site *s, uint32_t visits, uint64_t now)
{
    struct probe_reckon *r = &s->reckon;
    uint32_t step = visits < RECKON_STEP ? visits : RECKON_STEP;
    r->more = visits - step;
    r->stepped = (int64_t)now;
    return step;
}

/*
 * A step is over. If it took much longer than the one before, visits may have become long: the
 * block that begins now is timed. Returns how many visits to count before it is looked again; 0:
 * none.
 */
static inline uint32_t reckon_look(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    struct probe_reckon *r = &s->reckon;
    int64_t took = (int64_t)now - r->stepped, usual = r->took;
    took = took > 0 ? took : 1;
    r->took = took < 2 * usual || !usual ? took : 2 * usual; /* others may have had the processor */
    reckon_add(p, s, probe_executions(s) - 1, reckon_now(p, now));
    if (usual && took / RECKON_SURPRISE > usual &&
        took > (int64_t)RECKON_LEAST << RECORD_TIME_SHIFT) {
        s->next_size = 1;
        s->drawn = s->rest = r->more = 0;
        return 0;
    }
    return reckon_step(s, r->more, now);
}

/* ---- visits that are timed ---- */

/*
 * One enters the path. Its site stands in one place: the innermost of the items that were ever seen
 * around it is around all of its visits, also if that one is only counted now.
 */
static inline void reckon_enter(struct probe_thread *p, struct probe_frame *f)
{
    struct probe_reckon *r = &f->site->reckon;
    const struct path *path = p->thread->path;
    uint32_t outer = path_innermost(path);
    bool counted = r->outer < RECORD_PATH_ITEMS && p->reckoned_items >> r->outer & 1;
    if (!counted || path->depth > r->depth) {
        r->outer = (uint8_t)outer;
        r->depth = path->depth;
    }
    r->entered++;
    r->waited = p->thread->talked + path->waited;
    r->item = f->item;
    r->call_item = f->call_item;
    r->inside |= r->item < RECORD_PATH_ITEMS && path->visits[r->item];
    if (r->on && r->item < RECORD_PATH_ITEMS)
        p->reckoned_items |= 1u << r->item;
    if (r->on && r->call_item < RECORD_PATH_ITEMS)
        p->reckoned_items |= 1u << r->call_item;
}

/* It leaves. If what is around it is only counted, that will have this time for itself when it is
 * reckoned, and who is around that has lost it twice. */
static inline void reckon_leave(const struct probe_thread *p, struct probe_frame *f, int64_t ticks)
{
    struct probe_reckon *r = &f->site->reckon;
    const struct path *path = p->thread->path;
    r->waits |= r->waited != p->thread->talked + path->waited;
    bool counted = r->outer < RECORD_PATH_ITEMS && p->reckoned_items >> r->outer & 1;
    if (counted && !path->visits[r->outer])
        path_move(p->thread, r->outer, path_innermost(path), ticks);
}

void probe_reckon(struct probe_thread *p, int64_t at)
{
    for (struct probe_site *s = p->reckoned; s; s = s->reckon.next)
        reckon_add(p, s, probe_executions(s), at << RECORD_TIME_SHIFT);
}

#endif
