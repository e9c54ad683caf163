/* SPDX-License-Identifier: MIT */
/* Strongly connected components: which procedures can come back to themselves through others. */
#ifndef LOUPE_GRAPH_COMPONENTS_H
#define LOUPE_GRAPH_COMPONENTS_H

#include <stddef.h>
#include <stdint.h>

struct edge {
    uint32_t from, to;
};

/* Sorts the edges, which must lead from and to numbers below `count`. `component` gets the number
 * of each one's component; those are numbered from 0, and how many there are is returned. */
uint32_t components_find(size_t count, struct edge *edges, size_t edge_count, uint32_t *component);

#endif
