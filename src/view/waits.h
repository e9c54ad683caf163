/* SPDX-License-Identifier: MIT */
/* What was waited, where, and for whom. */
#ifndef LOUPE_VIEW_WAITS_H
#define LOUPE_VIEW_WAITS_H

#include "base/strbuf.h"
#include "metric/run.h"

/* A communication statement that waited, over all ranks. */
struct wait {
    uint32_t node;
    double sync_s;
    int32_t world, rank; /* for whom most of it; rank -1: nobody that is known by number */
    double most_s;
};

/* One statement; sync_s is 0 where nothing was waited. */
struct wait wait_of(const struct run *run, uint32_t node);
/* All that waited, most first; free() them. */
size_t waits_list(const struct run *run, struct wait **waits);
/* "MPI_Allreduce solver.c:88: 3.10 s of waiting, 90% of it for rank 17" */
void wait_sentence(const struct run *run, const struct wait *wait, struct strbuf *text);

#endif
