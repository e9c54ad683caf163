/* SPDX-License-Identifier: MIT */
/* Which ranks of MPI_COMM_WORLD are on one node: they have one clock, and perhaps memory in common.
 */
#ifndef LOUPE_MPI_NODES_H
#define LOUPE_MPI_NODES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct nodes {
    int32_t size, me; /* of the world */
    int32_t count;    /* nodes, numbered in the order of their first ranks */
    int32_t *of;      /* by rank */
    int32_t *leaders; /* by node: its first rank */
    bool *monitored;  /* by rank: Loupe is there too */
    uint64_t *ids;    /* by node */
};

/* What tells nodes apart: a machine since its start, under one name. */
uint64_t nodes_id(void);
int nodes_open(struct nodes *n, int32_t size, int32_t me);
/* All ranks, in order. */
void nodes_add(struct nodes *n, int32_t rank, uint64_t id, bool monitored);

#pragma GCC visibility pop

#endif
