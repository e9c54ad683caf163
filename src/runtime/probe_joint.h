/* SPDX-License-Identifier: MIT */
/*
 * What timed visits cost together, found out in place. A part of probe_sample.h.
 *
 * One site's pairs of blocks (probe_pairs.h) tell what its visits cost while all the other sites
 * are timed as ever. That can be less than its share of what they all cost: the fences of the
 * others still keep the program's work apart, so that leaving out its own gains little. Of two
 * procedures that fill arrays in turn each was charged half of what it cost.
 *
 * So now and then, with the budget off, the counted visits of a pair are *quiet*: until they are
 * over no other site is timed either (probe_hush.h). The block before them says what the thread
 * took and what it was charged, for all sites, and the quiet visits what it takes without. By the
 * proportion in which the two differ the site's cost is corrected, little by little; what is more
 * than the site itself found lies in its visits, whose instructions the fences keep from those of
 * others.
 */
#ifndef LOUPE_RUNTIME_PROBE_JOINT_H
#define LOUPE_RUNTIME_PROBE_JOINT_H

enum {
    JOINT_SCALE = 1 << 16, /* what the site found by itself */
    JOINT_LEAST = JOINT_SCALE / 2,
    JOINT_MOST = 4 * JOINT_SCALE,
    JOINT_SLOW = 48,            /* a quiet's weight is one in so many, in the end */
    JOINT_CONTROL = 0x5a5a5a5a, /* makes another word of the control word */
};

static SAMPLE_RARELY void joint_end(struct probe_thread *p);

static inline uint64_t joint_scale(const struct probe_site *s)
{
    bool known = s->fenced && s->scale && sample_budget() == RECORD_BUDGET_OFF;
    return known ? s->scale : JOINT_SCALE;
}

/* The site's cost, of what it found by itself and what all found together. What is more lies in its
 * visits, as far as they can have it. */
static inline void joint_cost(struct probe_site *s, uint64_t own)
{
    int64_t raw = s->visit_time + (int64_t)s->dilation;
    uint64_t most = raw > 0 ? (uint64_t)raw / 2 : 0;
    s->own_cost = own;
    s->cost = own * joint_scale(s) / JOINT_SCALE;
    s->dilation = s->cost > own ? s->cost - own : 0;
    s->dilation = s->dilation < most ? s->dilation : most;
    s->record->cost = s->cost;
}

/* Fast paths know the control word: where the thread's is another, they are none. If that changes
 * meanwhile, it is to be obeyed, and stays. */
static inline bool joint_swap(struct probe_thread *p, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&p->control, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static inline void joint_begin(struct probe_thread *p, struct probe_site *s)
{
    uint32_t control = p->control;
    if (!joint_swap(p, control, control ^ JOINT_CONTROL))
        return;
    p->quiet_control = control;
    p->quiet_began = clock_now();
    p->quiets++;
    s->joint = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    p->quiet = s;
}

/* The block that was timed has ended, and counted visits follow it: are they to be quiet? Every
 * other time, so that the site's own cost is found as well. Without fences sites have little to do
 * with each other; a larger stratum began with the choice of it, which took a while; and items of
 * the path are to see all visits. */
static inline bool joint_wanted(const struct probe_thread *p, struct probe_site *s)
{
    return sample_budget() == RECORD_BUDGET_OFF && s->fenced && s->size == 1 &&
           s->kind != LOUPE_SITE_PROCEDURE && !s->always && !s->cut && !s->missed &&
           !s->had_links && !p->quiet && !p->trial && !probe_costs.calibrated_only &&
           !p->thread->path && s->talked == p->thread->talked && s->turns++ & 1;
}

static inline void joint_after(struct probe_thread *p, struct probe_site *s)
{
    s->joint = false;
    if (LIKELY(!joint_wanted(p, s)))
        return;
    s->joint_charged = (p->delay - s->block_delay) / RECORD_BLOCK;
    s->joint_timed = (int64_t)(s->block_ended - s->block_began) / RECORD_BLOCK + s->joint_charged;
    if (s->joint_charged > 0)
        joint_begin(p, s);
}

/* The quiet visits have ended. What is off by more than an interrupt says nothing. */
static SAMPLE_RARELY void joint_pair(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    bool whole = p->quiet == s && s->fenced && s->talked == p->thread->talked && !sample_cut(s);
    if (p->quiet == s)
        joint_end(p);
    s->joint = false;
    int64_t counted = (int64_t)(now - s->settled) / (s->span - SAMPLE_SETTLE);
    int64_t off = s->joint_timed - counted - s->joint_charged;
    if (!whole || off > SAMPLE_FAR || off < -SAMPLE_FAR)
        return;
    s->scaled += s->scaled < JOINT_SLOW;
    int64_t scale = (int64_t)joint_scale(s);
    scale += scale * off / s->joint_charged / (s->scaled + 2);
    scale = scale < JOINT_LEAST ? JOINT_LEAST : scale > JOINT_MOST ? JOINT_MOST : scale;
    s->scale = (uint32_t)scale;
    joint_cost(s, s->own_cost);
}

#endif
