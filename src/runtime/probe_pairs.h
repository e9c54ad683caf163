/* SPDX-License-Identifier: MIT */
/*
 * What a timed visit costs, found out in place: blocks that are timed against blocks that are
 * counted. A part of probe_sample.h, which says when; general registers only.
 */
#ifndef LOUPE_RUNTIME_PROBE_PAIRS_H
#define LOUPE_RUNTIME_PROBE_PAIRS_H

/* A reset has taken away visits of the block. */
static inline bool sample_cut(const struct probe_site *s)
{
    return s->cut && s->cut != SAMPLE_WARM;
}

#include "runtime/probe_joint.h"

/*
 * Interrupts take a part of all time, that of ours too: a visit that is timed costs so much more.
 * They are seen where a block of short visits took much longer than the one before it; what happens
 * often, or comes to much, is the program itself.
 */
static inline void sample_noise(struct probe_thread *p, const struct probe_site *s, int64_t timed)
{
    int64_t block = timed * RECORD_BLOCK >> RECORD_TIME_SHIFT;
    int64_t more = (timed - s->usual) * RECORD_BLOCK >> RECORD_TIME_SHIFT;
    if (!s->usual || block <= 0 || s->talked != p->thread->talked || more > SAMPLE_INTERRUPT ||
        s->usual * RECORD_BLOCK >> RECORD_TIME_SHIFT > SAMPLE_SUSPECT)
        return;
    p->noise_blocks++;
    p->noise_time += block;
    if (more > SAMPLE_SPIKE) {
        p->noise_spikes++;
        p->noise_lost += more;
    }
}

/* With the part of interrupts in it. */
static inline uint64_t sample_noisy(const struct probe_thread *p, uint64_t cost)
{
    int64_t quiet = p->noise_time - p->noise_lost;
    if (p->noise_spikes > p->noise_blocks / 16 || p->noise_lost > quiet / 16 || quiet <= 0)
        return cost;
    return cost + (uint64_t)((__int128)cost * p->noise_lost / quiet);
}

/* What a visit of the timed block that has ended took, with its cost: virtual time has what was
 * accounted for it taken out already. */
static inline int64_t sample_timed(const struct probe_site *s)
{
    uint32_t visits = s->kind == LOUPE_SITE_PROCEDURE ? s->unknown : s->record->stratum_timed;
    return (int64_t)(s->block_ended - s->block_began + visits * s->cost) / (RECORD_BLOCK - s->cut);
}

/* The counted visits behind a timed block have ended. */
static SAMPLE_RARELY void sample_pair(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    if (sample_cut(s) || s->quiets != p->quiets)
        return;
    int64_t timed = s->usual ? s->usual : sample_timed(s);
    int64_t counted = (int64_t)(now - s->settled) / (s->span - SAMPLE_SETTLE);
    int64_t cost = timed - counted;
    uint64_t calibrated = s->calibrated->all;
    if (probe_costs.calibrated_only ||
        (s->kind == LOUPE_SITE_PROCEDURE && (s->had_links || s->unknown < RECORD_BLOCK - s->cut)))
        return;
    s->counted = counted > 0 ? (uint64_t)counted : 0;
    s->dilated = timed > 0 ? (uint64_t)timed : 0;
    cost = cost > INT32_MAX / 2 ? INT32_MAX / 2 : cost < -(INT32_MAX / 2) ? -(INT32_MAX / 2) : cost;
    s->pairs[s->pair_count++ % PROBE_PAIRS] = (int32_t)cost;
    uint32_t count = s->pair_count < PROBE_PAIRS ? s->pair_count : PROBE_PAIRS;
    if (count < SAMPLE_PAIRS_MIN)
        return;
    struct pair_cost found = pair_cost(s->pairs, count, SAMPLE_FAR);
    bool sure = pair_sure(&found, count, calibrated);
    uint64_t own = pair_own(&found, sure, calibrated, &p->dearer[s->fenced]);
    joint_cost(s, sample_noisy(p, own));
    /* Out-of-order execution hides the program's work behind the reading of the clock: what the
     * cost is less than calibrated is time that the clock did not see. The result may be below
     * zero. */
    if (!s->fenced)
        s->inside = s->calibrated->inside - (own < calibrated ? calibrated - own : 0) + s->dilation;
    s->record->cost_spread = sure ? found.deviation : 0;
    s->record->pairs = sure ? s->pair_count : 0;
}

#endif
