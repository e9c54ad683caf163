/* SPDX-License-Identifier: MIT */
/*
 * The program activity graph of a run, and what paper 3 reads off it: the longest path by one pass
 * forwards, shares by one backwards, zeroing by the pass forwards again with the item's work at 0.
 * The reference for what the runtime says while the program runs.
 */
#ifndef LOUPE_TESTS_PATH_GRAPH_H
#define LOUPE_TESTS_PATH_GRAPH_H

#include "record/layout.h"

#include <stdbool.h>
#include <stdint.h>

enum { GRAPH_NODES = 40000, GRAPH_EDGES = 160000 };

/* Work between two moments of one thread, or (0) a dependency. */
struct graph_edge {
    int from, next; /* node it comes from; next edge to the same node */
    int64_t work;
    uint32_t active; /* items, a bit each */
    uint32_t innermost;
    bool mpi;
};

struct graph {
    int nodes, edges;
    int first[GRAPH_NODES]; /* edge that ends there; -1: none */
    struct graph_edge edge[GRAPH_EDGES];
    int64_t length[GRAPH_NODES]; /* of the longest path that ends there */
    int64_t net[RECORD_PATH_ITEMS][GRAPH_NODES];
};

struct graph_path {
    int64_t length, mpi;
    int64_t share[RECORD_PATH_ITEMS], exclusive[RECORD_PATH_ITEMS], zeroed[RECORD_PATH_ITEMS];
};

/* Nodes are numbered in an order in which no edge leads back. */
int graph_node(struct graph *g);
void graph_edge(struct graph *g, int from, int to, int64_t work, uint32_t active,
                uint32_t innermost, bool mpi);
/* The forward passes, of everything. */
void graph_solve(struct graph *g, uint32_t items);
/* The path that ends in `node`. */
struct graph_path graph_path(const struct graph *g, int node, uint32_t items);

#endif
