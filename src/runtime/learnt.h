/* SPDX-License-Identifier: MIT */
/*
 * What a step of ours costs each time, learnt from measuring it now and then. What is charged for
 * it sets virtual time back against real time, so too much is worse than too little: a loop that
 * does nothing else would go back in time. Hence
 *
 *   - each step has a count of its own: of two that take turns, one would never be measured by a
 *     count that they share;
 *   - the first ones are all measured, and charged as they were, for something may have had to be
 *     looked for; the least of them is what the others begin with;
 *   - what took much longer than it mostly does pulls at it only a little, and what took so long
 *     that another must have had the processor not at all.
 */
#ifndef LOUPE_RUNTIME_LEARNT_H
#define LOUPE_RUNTIME_LEARNT_H

#include "record/layout.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LEARNT_FIRST = 8,
    LEARNT_EVERY = 16,         /* later on, one of so many is measured */
    LEARNT_TOO_LONG = 1 << 20, /* ticks: half a millisecond */
};

struct learnt {
    int64_t cost;   /* in 1/256 ticks, as it mostly is; 0: not known */
    uint32_t calls; /* so often it was asked for */
};

/* Is it to be measured this time? */
static inline bool learnt_due(struct learnt *l)
{
    uint32_t calls = l->calls++;
    return calls < LEARNT_FIRST || calls % LEARNT_EVERY == 0;
}

/* It took so many ticks, one of those that are measured later on. */
static inline void learnt_pull(int64_t *cost, uint64_t ticks)
{
    int64_t now = (int64_t)(ticks << RECORD_TIME_SHIFT), most = *cost ? 2 * *cost : now;
    if (ticks <= LEARNT_TOO_LONG)
        *cost += ((now < most ? now : most) - *cost) / (*cost ? 8 : 1);
}

/* It was measured: returns what this time is charged with. */
static inline int64_t learnt_now(struct learnt *l, uint64_t ticks)
{
    int64_t now = (int64_t)(ticks << RECORD_TIME_SHIFT);
    if (ticks > LEARNT_TOO_LONG)
        return l->cost;
    if (l->calls > LEARNT_FIRST) {
        learnt_pull(&l->cost, ticks);
        return l->cost;
    }
    if (!l->cost || now < l->cost)
        l->cost = now;
    return now;
}

#endif
