/* SPDX-License-Identifier: MIT */
/* Brings the records of processes together in one graph, for node.c. */
#ifndef LOUPE_TREE_COLLECT_H
#define LOUPE_TREE_COLLECT_H

#include "metric/run.h"
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
#define X(name, unit, merge) uint64_t name;
    RECORD_PAIRING_FIELDS(X)
#undef X
    int torn;
};

/* The latest tick that a process told before it ended: of its events and open frames. */
uint64_t collect_last(struct record_reader *reader);

/* Adds the values and peers of one process to the run, as those of ranks[rank]. */
int collect_process(struct collect *collect, struct record_reader *reader, uint64_t now,
                    uint32_t rank, struct collect_totals *totals);

#endif
