/* SPDX-License-Identifier: MIT */
/*
 * What a timed visit costs, found out in place: blocks that are timed against blocks that are
 * counted. A part of probe_sample.h, which says when; general registers only.
 */
#ifndef LOUPE_RUNTIME_PROBE_PAIRS_H
#define LOUPE_RUNTIME_PROBE_PAIRS_H

static inline void sample_sort(int32_t *sorted, const int32_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        for (; k && sorted[k - 1] > from[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = from[i];
    }
}

/* The mean without the outermost: an interrupt in one of the blocks is no matter then, but where
 * the cost is now this, now that (the other half of the core is busy or not), it is what it comes
 * to. */
static inline int32_t sample_middle(const int32_t *from, uint32_t count)
{
    int32_t sorted[PROBE_PAIRS];
    uint32_t out = count / SAMPLE_OUTER;
    int64_t sum = 0;
    sample_sort(sorted, from, count);
    for (uint32_t i = out; i < count - out; i++)
        sum += sorted[i];
    return (int32_t)(sum / (int64_t)(count - 2 * out));
}

static inline int32_t sample_median(const int32_t *from, uint32_t count)
{
    int32_t sorted[PROBE_PAIRS];
    sample_sort(sorted, from, count);
    return sorted[count / 2];
}

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

/* Visits of a microsecond or two, with others inside them, vary by more than their probes cost:
 * where the error of the mean is over an eighth of the calibrated cost, that is the better guess.
 */
static inline bool sample_sure(uint64_t spread, uint64_t count, uint64_t calibrated)
{
    return spread < calibrated && 256 * spread * spread <= count * calibrated * calibrated;
}

/* The counted visits behind a timed block have ended. */
static SAMPLE_RARELY void sample_pair(struct probe_thread *p, struct probe_site *s, uint64_t now)
{
    int64_t timed = s->usual ? s->usual : sample_timed(s);
    int64_t counted = (int64_t)(now - s->settled) / (s->span - SAMPLE_SETTLE);
    int64_t cost = timed - counted;
    uint64_t calibrated = s->calibrated->all;
    int32_t apart[PROBE_PAIRS];
    if (probe_costs.calibrated_only ||
        (s->kind == LOUPE_SITE_PROCEDURE && s->unknown < RECORD_BLOCK - s->cut))
        return;
    s->counted = counted > 0 ? (uint64_t)counted : 0;
    s->dilated = timed > 0 ? (uint64_t)timed : 0;
    cost = cost > INT32_MAX / 2 ? INT32_MAX / 2 : cost < -(INT32_MAX / 2) ? -(INT32_MAX / 2) : cost;
    s->pairs[s->pair_count++ % PROBE_PAIRS] = (int32_t)cost;
    uint32_t count = s->pair_count < PROBE_PAIRS ? s->pair_count : PROBE_PAIRS;
    if (count < SAMPLE_PAIRS_MIN)
        return;
    int32_t middle = sample_middle(s->pairs, count);
    for (uint32_t i = 0; i < count; i++)
        apart[i] = s->pairs[i] > middle ? s->pairs[i] - middle : middle - s->pairs[i];
    uint64_t spread = (uint64_t)sample_median(apart, count);
    bool sure = sample_sure(spread, count, calibrated);
    uint64_t own = !sure ? calibrated : middle < 0 ? 0 : (uint64_t)middle;
    own = own > 4 * calibrated ? 4 * calibrated : own;
    s->cost = sample_noisy(p, own);
    /* Out-of-order execution hides the program's work behind the reading of the clock: what the
     * cost is less than calibrated is time that the clock did not see. The result may be below
     * zero. */
    if (s->size <= SAMPLE_FENCED)
        s->inside = s->calibrated->inside - (own < calibrated ? calibrated - own : 0);
    s->record->cost = s->cost;
    s->record->cost_spread = sure ? (uint32_t)spread : 0;
    s->record->pairs = sure ? s->pair_count : 0;
}

#endif
