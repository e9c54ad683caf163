/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a job, for node.c: the longest of those that end in its threads. Threads
 * begin with a generation one after the other, so only those of one are compared. Each was copied
 * at a moment of its own: the longest of them is that of an execution that could have been so
 * (paper 3, appendix A).
 */
#ifndef LOUPE_TREE_PATHS_H
#define LOUPE_TREE_PATHS_H

#include "metric/run.h"
#include "record/plan.h"
#include "record/reader.h"

/* What the paths of a generation have come to; all in seconds. */
struct paths_sample {
    uint32_t generation;
    uint32_t rank; /* index into ranks[] */
    uint32_t items;
    double since_s; /* NAN: not known */
    double length_s, mpi_s, bucket_s;
    double cpu_s; /* of all threads together, as that of items */
    struct paths_share {
        double share_s, exclusive_s, zeroed_s, cpu_s;
    } item[RECORD_PATH_ITEMS];
    uint16_t strip[RECORD_PATH_STRIP];
};

enum { PATHS_GENERATIONS = 4 }; /* the highest; a search may go on while we read */

struct paths { /* zeroed: none */
    struct paths_sample best[PATHS_GENERATIONS];
    size_t count; /* of those; the highest generation first */
    struct paths_sample *pending;
    size_t pending_count, pending_room;
};

/* The path of a block of the process that is being read; `origin`: where its time begins. */
void paths_add(struct paths *paths, const struct record_path_reading *reading, uint32_t rank,
               double tick_s, uint64_t origin);
/* That process is one of the run, or is not. */
void paths_end_process(struct paths *paths, bool keep);
/* Fills run->path, as the plan says; `plan` NULL: there is none. Once, when all ranks are there. */
void paths_finish(struct paths *paths, const struct plan *plan, struct run *run);
void paths_free(struct paths *paths);

#endif
