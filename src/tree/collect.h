/* SPDX-License-Identifier: MIT */
/* Brings the records of processes together in one graph, for node.c. */
#ifndef LOUPE_TREE_COLLECT_H
#define LOUPE_TREE_COLLECT_H

#include "metric/run.h"
#include "record/plan.h"
#include "record/reader.h"

struct collect; /* what is known of the job's modules, names and nodes */

struct collect *collect_new(struct run *run);
void collect_free(struct collect *collect); /* accepts NULL */

/* What is to be known about a process beyond its values. */
struct collect_totals {
    uint64_t events;      /* executions that have ended */
    uint64_t threads;     /* that ever wrote to it */
    uint64_t values;      /* statements and probes that were executed */
    double delay_s;       /* of its threads, the mean of those that have any */
    double probe_s;       /* the part of it that their own probes made */
    double probe_error_s; /* half the interval of what probes in the source have; NAN: none */
    double mpi_s, sync_s;
    double preempted_s, preempted_mpi_s; /* of those that looked; NAN: none did */
#define X(name, unit, merge) uint64_t name;
    RECORD_PAIRING_FIELDS(X)
#undef X
    int torn;
};

/* The latest tick that a process told before it ended: of its events and open frames. */
uint64_t collect_last(struct record_reader *reader);

/* When a process is looked at, in its ticks. */
struct collect_moment {
    uint64_t now;    /* up to when it is known */
    uint64_t origin; /* where its time begins; 0: not yet */
    bool running;    /* it goes on */
};

/* Adds the values and peers of one process to the run, as those of ranks[rank]. */
int collect_process(struct collect *collect, struct record_reader *reader,
                    const struct collect_moment *moment, uint32_t rank,
                    struct collect_totals *totals);
/* After each process: whether its critical paths are among those of the job. */
void collect_keep_paths(struct collect *collect, bool keep);
/* The job's critical path, when all processes were read and their ranks are complete. NULL: there
 * is no plan, and so no path. */
void collect_path(struct collect *collect, const struct plan *plan);

#endif
