/* SPDX-License-Identifier: MIT */
#include "path_graph.h"

#include <stdlib.h>

int graph_node(struct graph *g)
{
    if (g->nodes == GRAPH_NODES)
        abort();
    g->first[g->nodes] = -1;
    return g->nodes++;
}

void graph_edge(struct graph *g, int from, int to, int64_t work, uint32_t active,
                uint32_t innermost, bool mpi)
{
    if (g->edges == GRAPH_EDGES || from >= to)
        abort();
    g->edge[g->edges] = (struct graph_edge){from, g->first[to], work, active, innermost, mpi};
    g->first[to] = g->edges++;
}

/* Without the work of the items in `zero`. */
static void longest(const struct graph *g, uint32_t zero, int64_t *length)
{
    for (int n = 0; n < g->nodes; n++) {
        length[n] = 0;
        for (int e = g->first[n]; e >= 0; e = g->edge[e].next) {
            const struct graph_edge *edge = &g->edge[e];
            int64_t there = length[edge->from] + (edge->active & zero ? 0 : edge->work);
            length[n] = there > length[n] ? there : length[n];
        }
    }
}

void graph_solve(struct graph *g, uint32_t items)
{
    longest(g, 0, g->length);
    for (uint32_t i = 0; i < items; i++)
        longest(g, 1u << i, g->net[i]);
}

struct graph_path graph_path(const struct graph *g, int node, uint32_t items)
{
    struct graph_path path = {.length = g->length[node]};
    for (uint32_t i = 0; i < items; i++)
        path.zeroed[i] = g->net[i][node];
    while (g->length[node] > 0) {
        const struct graph_edge *edge = NULL;
        for (int e = g->first[node]; e >= 0; e = g->edge[e].next)
            if (g->length[g->edge[e].from] + g->edge[e].work == g->length[node])
                edge = &g->edge[e];
        if (!edge)
            abort();
        for (uint32_t i = 0; i < items; i++) {
            path.share[i] += edge->active >> i & 1 ? edge->work : 0;
            path.exclusive[i] += edge->innermost == i ? edge->work : 0;
        }
        path.mpi += edge->mpi ? edge->work : 0;
        node = edge->from;
    }
    return path;
}
