/* SPDX-License-Identifier: MIT */
/* What the views ask of a run: nodes with their totals, shares and spread over the ranks. */
#ifndef LOUPE_VIEW_QUERY_H
#define LOUPE_VIEW_QUERY_H

#include "metric/run.h"

#include <stdbool.h>

struct query_item {
    uint32_t node;
    struct run_value total;
    double share;               /* of the ranks' time together; NAN if outside of it or not known */
    double min_s, avg_s, max_s; /* per rank, over all ranks of the run */
    int32_t max_rank;           /* MPI rank of max_s; -1: there is none */
    const struct run_peer *worst; /* the peer with the most time, else bytes; NULL: no peers */
};

enum query_sort { QUERY_TIME, QUERY_COUNT, QUERY_BYTES, QUERY_MAX, QUERY_SORTS };

/* The time of all ranks together. */
double query_all_time(const struct run *run);
/* All ranks as one: its times and numbers are their sums, the rest is nobody's. */
struct run_rank query_all(const struct run *run);
struct query_item query_item(const struct run *run, uint32_t node, double all_time);
/* All nodes of a kind, greatest first, those outside the time last; free() them. */
size_t query_items(const struct run *run, enum graph_kind kind, enum query_sort sort,
                   struct query_item **items);
/* The items below `parent`, of any kind, most time first. */
size_t query_children(const struct run *run, uint32_t parent, struct query_item **items);

/* How much of a communication's time is waiting; NAN: nothing is known of that. */
double query_waiting(const struct run *run, const struct query_item *item);

/* MPI rank of an index into ranks[]; -1 if the index is not good. */
int32_t query_rank(const struct run *run, uint32_t index);
/* The rank whose time is the run's time; NULL without ranks. */
const struct run_rank *query_longest(const struct run *run);

/* --at: the statements at FILE:LINE (line 0: FILE is "binary+0xoffset"); free() them. FILE is the
 * path as known, else an end of it or a path that ends with it. */
size_t query_at(const struct run *run, const char *file, uint32_t line, uint32_t **nodes);
bool query_same_file(const char *known, const char *asked);

#endif
