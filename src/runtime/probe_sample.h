/* SPDX-License-Identifier: MIT */
/*
 * Which visits of a site are timed, and what that makes of its record.
 *
 * Visits are divided into blocks of RECORD_BLOCK. A stratum is `size` blocks, of which one, drawn
 * before the stratum begins, is timed; what it took stands for all of them. With size 1 everything
 * is timed and exact. The size follows from the rate of visits, so that all sites of a thread
 * together stay within the budget. Everything is counted in visits, never in time: timing dilates
 * the visits that it times.
 *
 * A site goes round in these phases:
 *     WARM      the first visits of a block behind a gap: as in a block, but not used
 *     BLOCK     every visit comes here and is timed
 *     AFTER     the first visit behind the block: how long it took; the next stratum is chosen
 *     SETTLE    some counted visits later: the processor has learnt to count again
 *     PAIR      up to SAMPLE_SPAN counted visits behind the block: how long those since then took;
 *               the difference is what timing costs here, in place (probe_pairs.h, probe_joint.h)
 *     BETWEEN   the first visit of the next block that is timed
 *
 * Part of the slow paths: general registers only, no calls but to its own kind.
 */
#ifndef LOUPE_RUNTIME_PROBE_SAMPLE_H
#define LOUPE_RUNTIME_PROBE_SAMPLE_H

#include "runtime/hot.h"
#include "runtime/probe.h"
#include "runtime/system_call.h"

#include <sys/resource.h>
#include <sys/syscall.h>

enum {
    SAMPLE_SIZE_MAX = 1 << 16,
    SAMPLE_GROWTH = 8, /* a stratum is at most so many times larger than the one before */
    SAMPLE_SPAN = 4,   /* blocks that are counted, to be compared with a timed one */
    SAMPLE_FENCED = SAMPLE_SPAN + 1, /* larger strata than this are timed with fences, */
    SAMPLE_TINY = 100,               /* and visits of more ticks than this */
    SAMPLE_WARM = 8,                 /* visits of a block behind a gap that only warm up */
    SAMPLE_SETTLE = 48,              /* the same of one that is counted */
    SAMPLE_PAIRS_MIN = 5,            /* before that, the calibrated cost */
    SAMPLE_SPIKE = 1 << 13,          /* ticks: so much more in a block is an interrupt's, */
    SAMPLE_INTERRUPT = 1 << 17,      /* and so much, 40 to 60 us, another thread's */
    SAMPLE_FAR = SAMPLE_SPIKE * (1 << RECORD_TIME_SHIFT) / RECORD_BLOCK, /* the same of a visit */
    SAMPLE_LONG = 1 << 13,   /* ticks, 2 to 3 us: longer visits need no cost measured in place */
    SAMPLE_WINDOW = 1 << 20, /* ticks: how often the budget is looked at */
    SAMPLE_SUSPECT = PROBE_LATE, /* another thread may have had the processor */
    SAMPLE_WATCH = 256           /* blocks for which that is watched, once it was so */
};

/* ---- other threads ---- */

/* Looks how often the processor was taken from this thread; true: more often than before. */
static SAMPLE_RARELY bool sample_switched(struct probe_thread *p)
{
    struct rusage usage;
    uint64_t began = clock_now();
    usage.ru_nivcsw = 0;
    long error = system_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0);
    bool more = !error && (uint64_t)usage.ru_nivcsw != p->switches;
    if (more)
        p->switches = (uint64_t)usage.ru_nivcsw;
    p->delay += (int64_t)((clock_now() - began) << RECORD_TIME_SHIFT);
    return more;
}

/*
 * A visit that stands for many others and took suspiciously long: if the processor was given to
 * another thread meanwhile, that is not what the others took, and its block has one visit less.
 * One such visit of ten milliseconds, taken for a thousand, would be ten seconds of error.
 */
static SAMPLE_RARELY void sample_suspect(struct probe_thread *p, struct probe_frame *f)
{
    if (p->interrupted <= f->begin) { /* else it was in a visit inside this one */
        uint64_t now = (clock_now() << RECORD_TIME_SHIFT) - (uint64_t)(p->delay & p->taken);
        if (!sample_switched(p))
            return;
        p->interrupted = now;
        p->watch = SAMPLE_WATCH;
    }
    f->site->missed += f->serial == f->site->serial;
    f->weight = 0;
}

/* A test's wish: every timed visit costs so much more. */
static SAMPLE_RARELY void sample_extra(struct probe_thread *p, uint64_t ticks)
{
    uint64_t began = clock_now(), passed;
    do
        passed = clock_now() - began;
    while (passed < ticks);
    p->delay += (int64_t)(passed << RECORD_TIME_SHIFT);
}

/* A visit that took longer than most, or any where a test wishes so. */
static SAMPLE_RARELY void sample_late(struct probe_thread *p, struct probe_frame *f, int64_t time)
{
    if (loupe_process.extra)
        sample_extra(p, loupe_process.extra);
    if (f->weight > 1 && time > (int64_t)SAMPLE_SUSPECT << RECORD_TIME_SHIFT)
        sample_suspect(p, f);
}

/* A timed visit has ended. */
static inline void sample_add(struct probe_frame *f, int64_t time)
{
    struct probe_site *s = f->site;
    struct probe_caller *c = f->caller;
    struct record_probe *r = c ? c->record : s->record;
    uint64_t ticks = time > 0 ? (uint64_t)time >> RECORD_TIME_SHIFT : 0;
    if (UNLIKELY(!f->weight))
        return; /* warms up, was interrupted, or was found to be part of a recursion */
    uint32_t version = r->version | 1;
    __atomic_store_n(&r->version, version, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (UNLIKELY(ticks < r->min))
        r->min = ticks;
    if (UNLIKELY(ticks > r->max))
        r->max = ticks;
    if (LIKELY(f->serial == s->serial && c == NULL)) {
        r->stratum_time += time;
        r->stratum_timed++;
    } else { /* of a stratum that is complete, or of a record that knows no strata */
        r->time += time * f->weight;
        r->timed++;
        if (c)
            c->block_time += time;
    }
    __atomic_store_n(&r->version, version + 1, __ATOMIC_RELEASE);
}

static inline uint32_t sample_budget(void)
{
    return __atomic_load_n(&loupe_process.writer.header->control.budget, __ATOMIC_RELAXED);
}

#include "runtime/probe_pairs.h"

/* ---- strata ---- */

/* Adds size * (size - 1) / 2 * difference^2: the variance that one block in `size` leaves, from
 * two blocks that follow each other. In 1/256 ticks squared. */
static inline void sample_square(struct record_probe *r, int64_t difference, uint32_t size)
{
    uint64_t d = (uint64_t)(difference < 0 ? -difference : difference) >> RECORD_TIME_SHIFT / 2;
    d = d > (uint64_t)1 << 46 ? (uint64_t)1 << 46 : d;
    unsigned __int128 sum = (unsigned __int128)r->squares[1] << 64 | r->squares[0];
    sum += (unsigned __int128)d * d * ((uint64_t)size * (size - 1) / 2);
    r->squares[0] = (uint64_t)sum;
    r->squares[1] = (uint64_t)(sum >> 64);
    r->strata++;
}

/* Visits of the last block came seldom: what watching them costs does not matter. */
static inline bool sample_seldom(const struct probe_site *s)
{
    int64_t took = (int64_t)(s->block_ended - s->block_began) >> RECORD_TIME_SHIFT;
    return took > (int64_t)SAMPLE_LONG * RECORD_BLOCK;
}

/*
 * The clock as it is does not wait for the program. At the end of a visit it is read while the last
 * few hundred instructions are still being executed: where these wait for each other, that is most
 * of a visit of some hundred nanoseconds. Without fences is for visits that are so short that
 * fences would cost more than they are, and all of which are timed.
 */
static inline bool sample_fenced(const struct probe_site *s)
{
    if (UNLIKELY(s->always) && sample_seldom(s)) /* costs nothing then */
        return true;
    int64_t tiny = s->fenced ? SAMPLE_TINY * 4 / 5 : SAMPLE_TINY;
    int64_t visit = s->visit_time + (int64_t)s->dilation;
    return s->size > SAMPLE_FENCED || visit > tiny << RECORD_TIME_SHIFT;
}

static inline uint64_t sample_hidden(const struct probe_site *s)
{
    /* another thread may be calibrating */
    int64_t visit = s->visit_time;
    int64_t work = (int64_t)__atomic_load_n(&probe_costs.work, __ATOMIC_RELAXED);
    uint64_t hidden = __atomic_load_n(&probe_costs.hidden, __ATOMIC_RELAXED);
    if (visit >= work)
        return hidden;
    return visit > 0 ? hidden * (uint64_t)visit / (uint64_t)work : 0;
}

static inline void sample_visit_took(struct probe_site *s, int64_t time)
{
    s->visit_time = time < s->visit_last ? time : s->visit_last;
    s->visit_last = time;
}

/* With fences or without: what a timed visit costs is another matter then. */
static inline void sample_way(struct probe_site *s)
{
    bool before = s->fenced;
    s->fenced = sample_fenced(s);
    const struct probe_cost *cost =
        s->fenced ? &probe_costs.fenced[s->way] : &probe_costs.plain[s->way];
    if (s->calibrated == cost) {
        joint_cost(s, s->own_cost);
        if (s->fenced)
            s->inside = cost->inside - sample_hidden(s) + s->dilation;
        return;
    }
    struct probe_kept *kept = &s->kept[s->fenced];
    if (s->pair_count >= SAMPLE_PAIRS_MIN)
        s->kept[before] = (struct probe_kept){s->calibrated, s->own_cost};
    s->calibrated = cost;
    s->warm_cost = cost->all;
    joint_cost(s, kept->calibrated == cost ? kept->cost : cost->all);
    if (s->fenced)
        s->inside = cost->inside - sample_hidden(s) + s->dilation;
    else
        s->inside = cost->inside - clock_since(s->own_cost, cost->all) + s->dilation;
    s->pair_count = 0;
    s->usual = 0;
    s->record->pairs = 0;
}

/*
 * Fences keep visits apart that the processor executes side by side otherwise: between them all of
 * the program takes longer, the visits as well as what lies between. That is seen where a visit
 * took longer than all there is to one visit of the counted block that follows; how much longer the
 * program took, these two blocks tell.
 */
static inline int64_t sample_undilated(const struct probe_site *s, int64_t time, int64_t visits)
{
    int64_t slow = (int64_t)(s->dilated - s->calibrated->all - s->dilation);
    int64_t counted = (int64_t)s->counted;
    int64_t more = time - counted * visits;
    if (!s->fenced || !s->dilated || counted >= slow || more <= 0)
        return time;
    if (more > (int64_t)SAMPLE_INTERRUPT << RECORD_TIME_SHIFT) /* one of the visits was long */
        return time;
    if (s->always) /* `slow` has what keeping the path costs besides, and that is learnt */
        return counted * visits;
    return (int64_t)((__int128)time * counted / slow);
}

/*
 * Entries of a procedure by return address, once the stratum is complete. What was timed has its
 * weight already; but the first visits of a block only warm up, and fences made the others longer:
 * what all of them took together, per visit, goes to all visits, as with other sites. Returns that.
 */
static inline int64_t sample_end_callers(struct probe_site *s, uint64_t visits, int64_t begun)
{
    int64_t all = 0, right = 0;
    for (struct probe_caller *c = s->callers; c; c = c->next)
        all += c->block_time;
    if (begun > 0 && all > 0)
        right = sample_undilated(s, all, begun);
    for (struct probe_caller *c = s->callers; c; c = c->next) {
        if (s->size > 1) {
            uint64_t count = c->block_count * visits + c->count_rest;
            c->record->count += count / RECORD_BLOCK;
            c->count_rest = (uint32_t)(count % RECORD_BLOCK);
            c->record->state |= RECORD_PROBE_SAMPLED;
            if (right) {
                int64_t time = (int64_t)((__int128)c->block_time * right / all);
                c->record->time +=
                    (int64_t)((__int128)time * (int64_t)visits / begun) - c->block_time * s->size;
            }
            sample_square(c->record, c->block_time - c->last_time, s->size);
        }
        c->block_count = 0;
        c->last_time = c->block_time;
        c->block_time = 0;
    }
    return right;
}

/* The visits of a stratum are complete: those that were timed stand for all. `begin` is where the
 * next one began. */
static inline void sample_end_stratum(struct probe_site *s, uint64_t begin)
{
    struct record_probe *r = s->record;
    begin = begin < r->stratum_begin ? r->stratum_begin : begin; /* after a reset */
    int64_t visits = (int64_t)(begin - r->stratum_begin);
    int64_t begun = (int64_t)RECORD_BLOCK - s->left - s->cut - s->missed;
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    int64_t time = 0;
    if (begun > 0) {
        time = sample_undilated(s, r->stratum_time, begun);
        int64_t mean = time / begun, rest = time % begun;
        int64_t block = mean * RECORD_BLOCK + rest * RECORD_BLOCK / begun;
        r->time += mean * visits + rest * visits / begun;
        r->mean = mean;
        if (s->size > 1 && s->last_known)
            sample_square(r, block - s->last_time, s->size);
        s->last_time = block;
        s->last_known = true;
    } else {
        r->time += r->mean * visits;
    }
    if (r->state & RECORD_PROBE_TIMED && (s->size > 1 || s->missed))
        r->state |= RECORD_PROBE_SAMPLED;
    r->stratum_begin = begin;
    r->stratum_size = s->next_size;
    r->timed += r->stratum_timed;
    r->stratum_time = 0;
    r->stratum_timed = 0;
    if (s->kind == LOUPE_SITE_PROCEDURE)
        time += sample_end_callers(s, (uint64_t)visits, begun);
    if (begun > 0)
        sample_visit_took(s, time / begun);
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
    s->size = s->next_size;
    s->serial++;
    sample_way(s);
    s->missed = 0;
}

static inline uint64_t sample_random(struct probe_thread *p)
{
    uint64_t x = p->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return p->random = x;
}

/* How many sites share the budget: found out by how much of it is spent. */
static inline void sample_pressure(struct probe_thread *p, uint64_t now, uint32_t budget)
{
    uint64_t real = now + (uint64_t)p->delay, span = real - p->window_began;
    int64_t spent = p->delay - p->thread->apart - p->window_spent;
    if (span < (uint64_t)SAMPLE_WINDOW << RECORD_TIME_SHIFT)
        return;
    uint64_t ratio = (uint64_t)(spent > 0 ? spent >> RECORD_TIME_SHIFT : 0) * 256 * 10000 / budget /
                     (span >> RECORD_TIME_SHIFT);
    if (ratio > 256)
        p->pressure = p->pressure * (ratio > 1024 ? 1024 : ratio) / 256;
    else if (ratio < 192)
        p->pressure = p->pressure * 7 / 8;
    p->pressure = p->pressure < 256 ? 256 : p->pressure > 1 << 20 ? 1 << 20 : p->pressure;
    p->window_began = real;
    p->window_spent += spent;
}

/* The size of the next stratum, from the rate of visits since the last choice. `now` is virtual. */
static inline uint32_t sample_size(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    uint32_t budget = sample_budget();
    uint64_t executions = probe_executions(s), visits = executions - s->visits;
    int64_t took = (int64_t)(now - s->decided) >> RECORD_TIME_SHIFT;
    s->decided = now;
    s->visits = executions;
    took = took > 0 ? took : 1;
    /* Nobody to time here, direct calls are timed by their statements: look less and less often. */
    if (s->idle && !s->unknown)
        return s->size < SAMPLE_SIZE_MAX / 2 ? 2 * s->size : s->size;
    if (budget == RECORD_BUDGET_OFF) { /* now and then blocks that are only counted, for the cost */
        uint64_t seldom = s->pair_count < PROBE_PAIRS ? RECORD_BLOCK : SAMPLE_SPAN * RECORD_BLOCK;
        bool now_counted = (uint64_t)took < visits * SAMPLE_LONG && sample_random(p) % seldom == 0;
        return now_counted ? SAMPLE_SPAN + 1 : 1;
    }
    if (!budget)
        budget = 1;
    sample_pressure(p, now, budget);
    uint64_t cost = s->cost > probe_costs.slow ? s->cost : probe_costs.slow;
    uint64_t ticks = visits * cost >> RECORD_TIME_SHIFT; /* if all of them were timed */
    uint64_t size = ticks * p->pressure / 256 * 10000 / budget / (uint64_t)took + 1;
    if (size > (uint64_t)SAMPLE_GROWTH * s->size)
        size = (uint64_t)SAMPLE_GROWTH * s->size;
    return size > SAMPLE_SIZE_MAX ? SAMPLE_SIZE_MAX : (uint32_t)size;
}

#include "runtime/probe_reckon.h"

/* Which block of the next stratum is timed. With the budget off the others are there to be compared
 * with it, all at once; strata of more than one block come at random then. */
static inline uint32_t sample_draw(struct probe_thread *p, uint32_t size)
{
    if (size == 1)
        return 0;
    if (sample_budget() == RECORD_BUDGET_OFF)
        return sample_random(p) & 1 ? size - 1 : 0;
    return (uint32_t)((sample_random(p) >> 32) * size >> 32);
}

/* So many visits are left until a block that is timed: in how many to come here again. */
static inline uint32_t sample_between(struct probe_site *s, uint32_t visits, uint64_t now)
{
    s->phase = PROBE_BETWEEN;
    return UNLIKELY(s->reckon.on) ? reckon_step(s, visits, now) : visits;
}

/* The block that was timed has ended: what comes next. Returns visits until this site is wanted
 * again; 0: this one is the first of a new block. */
static inline uint32_t sample_after(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    uint32_t rest = s->size - 1 - s->drawn; /* blocks of this stratum behind the one timed */
    s->block_ended = now;
    if (s->size == 1 && s->kind == LOUPE_SITE_PROCEDURE &&
        probe_executions(s) - 1 - s->record->stratum_begin != RECORD_BLOCK)
        s->had_links = true; /* marks and links came besides: no measure of one visit */
    if (s->size == 1 && !s->cut && !s->missed && !s->had_links) {
        int64_t timed = sample_timed(s);
        sample_noise(p, s, timed);
        s->usual = timed;
    } else if (sample_budget() != RECORD_BUDGET_OFF) {
        s->usual = 0;
    }
    s->dilated = 0;
    if (UNLIKELY(s->always)) {
        s->next_size = reckon_size(p, s, now);
        s->reckon.entered += s->idle;
        if (!s->reckon.on || s->next_size == 1 || s->size > RECKON_STRATUM)
            rest = 0; /* the stratum ends here, and what was timed stands for what was counted */
        if (!s->reckon.on && s->next_size > 1)
            reckon_begin(p, s, now);
    } else {
        s->next_size = sample_size(p, s, now);
    }
    s->drawn = sample_draw(p, s->next_size);
    s->rest = (rest + s->drawn) * RECORD_BLOCK;
    if (!s->rest)
        return 0;
    if (!sample_seldom(s)) {
        s->phase = PROBE_SETTLE;
        s->span = s->rest < SAMPLE_SPAN * RECORD_BLOCK ? s->rest : SAMPLE_SPAN * RECORD_BLOCK;
        joint_after(p, s);
        return SAMPLE_SETTLE;
    }
    return sample_between(s, s->rest, now);
}

/* The first visits behind a gap are slower than the others: caches and branch predictors have to
 * learn the slow path anew. They take part, but are not used. */
static inline void sample_begin_block(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    bool cold = s->phase != PROBE_BLOCK;
    /* this visit is counted already, and the first behind the blocks before it */
    sample_end_stratum(s, probe_executions(s) - 1 - (uint64_t)s->drawn * RECORD_BLOCK);
    s->phase = cold ? PROBE_WARM : PROBE_BLOCK;
    s->left = cold ? SAMPLE_WARM : RECORD_BLOCK;
    s->weight = cold ? 0 : s->size;
    s->cut = cold ? SAMPLE_WARM : 0;
    s->block_began = now;
    s->block_delay = p->delay;
    s->quiets = p->quiets;
    s->talked = p->thread->talked;
    s->unknown = s->idle = 0;
    s->had_links = s->linked[0] || s->linked[1];
    if (UNLIKELY(s->reckon.on))
        reckon_stratum(p, s, now);
}

/* The visits that warm up are over: what they cost is followed as a median. */
static inline void sample_warm(const struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    int64_t took = (int64_t)(now - s->block_began) / SAMPLE_WARM + (int64_t)s->warm_cost;
    int64_t cost = took - (int64_t)s->counted;
    if (took < (int64_t)SAMPLE_LONG << RECORD_TIME_SHIFT && s->counted)
        s->warm_cost += cost > (int64_t)s->warm_cost ? s->warm_cost / 16 + 1 : -(s->warm_cost / 16);
    s->phase = PROBE_BLOCK;
    s->left = RECORD_BLOCK - SAMPLE_WARM;
    s->weight = s->size;
    s->block_began = now;
    s->block_delay = p->delay;
}

/* What was done since then is no visit's cost. If it took too long, another thread had the
 * processor. Returns the moment. */
static inline uint64_t sample_charge(struct probe_thread *p, uint64_t since)
{
    uint64_t now = clock_now();
    if (LIKELY(now - since < SAMPLE_SUSPECT))
        p->delay += (int64_t)((now - since) << RECORD_TIME_SHIFT);
    return now;
}

/*
 * A visit that came to the slow path outside of a block that is timed, or first in it. Returns 0 if
 * it is the first of one; else in how many visits the site is to come here again.
 */
static SAMPLE_RARELY uint32_t sample_turn(struct probe_thread *p, struct probe_site *s,
                                          uint64_t real)
{
    uint64_t now = (real << RECORD_TIME_SHIFT) - (uint64_t)p->delay;
    uint32_t gap = 0;
    if (s->phase == PROBE_FIRST) { /* its very first */
        s->decided = s->block_began = now;
        s->block_delay = p->delay;
        s->quiets = p->quiets;
        s->phase = PROBE_BLOCK;
        s->left = RECORD_BLOCK;
        return 0;
    }
    if (s->phase == PROBE_WARM) {
        sample_warm(p, s, now);
        return 0;
    }
    if (s->phase == PROBE_BLOCK) {
        gap = sample_after(p, s, now);
    } else if (s->phase == PROBE_SETTLE) {
        s->settled = now;
        gap = s->span - SAMPLE_SETTLE;
        s->phase = PROBE_PAIR;
    } else if (s->phase == PROBE_BETWEEN && UNLIKELY(s->reckon.more)) {
        gap = reckon_look(p, s, now);
    } else if (s->phase == PROBE_PAIR) {
        (UNLIKELY(s->joint) ? joint_pair : sample_pair)(p, s, now);
        real = sample_charge(p, real);
        s->rest -= s->span;
        gap = sample_between(s, s->rest, now);
    }
    if (gap) {
        if (s->kind != LOUPE_SITE_PROCEDURE) /* those account for the way here themselves */
            p->delay += (int64_t)probe_costs.slow;
        sample_charge(p, real);
        return gap;
    }
    if (UNLIKELY(p->watch) && s->next_size > 1) {
        p->watch--;
        sample_switched(p);
    }
    sample_begin_block(p, s, now);
    return 0;
}

/* From now on a call or loop is only counted: what it takes is in other times. */
static inline void sample_never(struct probe_site *s, struct probe_frame *f)
{
    struct record_probe *r = s->record;
    if (f)
        f->weight = 0;
    if (s->kind == LOUPE_SITE_PROCEDURE)
        return; /* only this execution */
    s->untimed = true;
    s->left = s->link_left = 0;
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    r->state &= ~(uint32_t)(RECORD_PROBE_TIMED | RECORD_PROBE_SAMPLED);
    r->time = r->stratum_time = 0;
    r->timed = r->stratum_timed = 0;
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
}

#endif
