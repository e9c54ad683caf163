/* SPDX-License-Identifier: MIT */
/* What keeping the critical path costs a thread, part by part (runtime/learnt.h). It is delay, and
 * so no part of any time that is recorded. */
#ifndef LOUPE_RUNTIME_PATH_COST_H
#define LOUPE_RUNTIME_PATH_COST_H

#include "runtime/hot.h"

static inline uint64_t path_part_begin(struct path *p, enum path_part part)
{
    if (!learnt_due(&p->cost[part]))
        return 0;
    p->logged = 0;
    return short_clock();
}

/* The log charges for itself. */
static inline void path_part_end(struct thread *t, enum path_part part, uint64_t began)
{
    struct learnt *l = &t->path->cost[part];
    int64_t cost = l->cost;
    if (began) {
        int64_t clock = t->short_cost.inside; /* which is not read the other times */
        uint64_t known = t->path->logged + (uint64_t)(clock >> RECORD_TIME_SHIFT);
        uint64_t ticks = clock_since(began, short_clock());
        cost = learnt_now(l, clock_since(known, ticks)) + clock;
    }
    event_spent(t, cost);
    t->measured += cost;
}

#endif
