/* SPDX-License-Identifier: MIT */
/*
 * What a visit costs, from pairs of a timed and a counted block: see probe_pairs.h. Calls nothing
 * and needs general registers only.
 */
#ifndef LOUPE_RUNTIME_PAIR_COST_H
#define LOUPE_RUNTIME_PAIR_COST_H

#include <stdbool.h>
#include <stdint.h>

enum { PAIR_COST_MAX = 31 }; /* so many are kept of a site */

struct pair_cost {
    int64_t mean;       /* of those that are near the median */
    uint32_t spread;    /* of all: the median of what they are off the median */
    uint32_t deviation; /* of those near it, the standard deviation */
};

static inline int32_t pair_median(const int32_t *from, uint32_t count)
{
    int32_t sorted[PAIR_COST_MAX];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        for (; k && sorted[k - 1] > from[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = from[i];
    }
    return count ? sorted[count / 2] : 0;
}

static inline uint32_t pair_root(uint64_t square)
{
    uint64_t root = 0;
    for (int bit = 31; bit >= 0; bit--) {
        uint64_t more = root | (uint64_t)1 << bit;
        if (more * more <= square)
            root = more;
    }
    return (uint32_t)root;
}

/*
 * How far off the median a pair may be. Further than `far` is a block that was interrupted,
 * whichever of the two it was. But what is often so, and not by as much as if another had the
 * processor, is the program: it does something else after every so many visits, and some blocks
 * have more of that than others.
 */
static inline int64_t pair_limit(const int32_t *pairs, uint32_t count, int64_t median, int64_t far)
{
    enum { OFTEN = 8, FURTHER = 16 };
    uint32_t between = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t off = pairs[i] - median, size = off < 0 ? -off : off;
        between += size > far && size <= FURTHER * far;
    }
    return between > 1 && between * OFTEN > count ? FURTHER * far : far;
}

/*
 * The mean, for what is taken off every visit has to be right for their sum: where the cost is now
 * this, now that (the other half of the core is busy for a while), the median is one of the two,
 * and so is a mean without the outermost ones, if one of the two is rare. Left out is only what is
 * further off than that limit.
 */
static inline struct pair_cost pair_cost(const int32_t *pairs, uint32_t count, int64_t far)
{
    int32_t apart[PAIR_COST_MAX];
    int64_t median = pair_median(pairs, count), sum = 0;
    int64_t limit = pair_limit(pairs, count, median, far);
    uint64_t squares = 0;
    uint32_t near = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t off = pairs[i] - median, size = off < 0 ? -off : off;
        apart[i] = size > INT32_MAX ? INT32_MAX : (int32_t)size;
        if (size > limit)
            continue;
        near++;
        sum += off;
        squares += (uint64_t)(off * off);
    }
    if (!near) /* no pairs: else the median itself is near */
        return (struct pair_cost){0};
    int64_t mean = sum / near;
    uint64_t square = (uint64_t)(mean * mean);
    return (struct pair_cost){.mean = median + mean,
                              .spread = (uint32_t)pair_median(apart, count),
                              .deviation =
                                  pair_root(squares / near > square ? squares / near - square : 0)};
}

/* Visits of a microsecond or two, with others inside them, vary by more than their probes cost, and
 * the mean may be far off; so it may where the program does something else now and then. The bound
 * is wide: means that vary are right in the sum of all visits. */
static inline bool pair_sure(const struct pair_cost *c, uint32_t count, uint64_t calibrated)
{
    uint64_t spread = c->spread > c->deviation ? c->spread : c->deviation;
    return c->spread < calibrated && 16 * spread * spread <= count * calibrated * calibrated;
}

/*
 * What a visit is charged with. Who is not sure takes the calibrated cost, as much dearer or
 * cheaper as other sites of the thread find it at the time (`dearer`, in 1/256; 0: not known yet):
 * it was calibrated when nobody was on the other half of the core, and that makes half as much of
 * it again.
 */
static inline uint64_t pair_own(const struct pair_cost *c, bool sure, uint64_t calibrated,
                                uint64_t *dearer)
{
    uint64_t most = 4 * calibrated;
    if (!sure)
        return *dearer ? calibrated * *dearer / 256 : calibrated;
    uint64_t own = c->mean < 0 ? 0 : (uint64_t)c->mean;
    own = own > most ? most : own;
    uint64_t now = own * 256 / (calibrated ? calibrated : 1);
    *dearer = *dearer ? (15 * *dearer + now + 8) / 16 : now;
    return own;
}

#endif
