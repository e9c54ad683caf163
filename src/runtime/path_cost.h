/* SPDX-License-Identifier: MIT */
/* What keeping the critical path costs a thread: measured now and then, part by part, and taken to
 * be that each time. It is delay, and so no part of any time that is recorded. */
#ifndef LOUPE_RUNTIME_PATH_COST_H
#define LOUPE_RUNTIME_PATH_COST_H

#include "runtime/hot.h"

enum { PATH_MEASURE = 16 }; /* one of so many says what it costs */

static inline uint64_t path_part_begin(struct path *p)
{
    return p->calls++ % PATH_MEASURE ? 0 : short_clock();
}

/* What took much longer, as when the processor was lost, pulls at it only a little. */
static inline void path_part_end(struct thread *t, enum path_part part, uint64_t began)
{
    int64_t *cost = &t->path->cost[part];
    if (began) {
        int64_t now = (int64_t)((short_clock() - began) << RECORD_TIME_SHIFT);
        int64_t most = *cost ? 2 * *cost : now;
        *cost += ((now < most ? now : most) - *cost) / (*cost ? 8 : 1);
    }
    event_spent(t, *cost);
}

#endif
