/* SPDX-License-Identifier: MIT */
/* Ways through the graph of a run: from a procedure to its callers, downwards where time goes. */
#include "metric/run.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool run_outside_time(const struct graph_node *node)
{
    static const char *const names[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
    if (node->kind != GRAPH_COMMUNICATION || !node->name)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(node->name, names[i]))
            return true;
    return false;
}

size_t run_callers(const struct run *run, uint32_t procedure, uint32_t **calls)
{
    const struct graph *g = &run->graph;
    size_t count = 0, room = 0;
    *calls = NULL;
    for (uint32_t i = 0; procedure && i < g->count; i++)
        if (g->nodes[i].kind == GRAPH_CALL && g->nodes[i].callee == procedure)
            *VEC_PUSH(*calls, count, room) = i;
    return count;
}

size_t run_members(const struct run *run, uint32_t group, uint32_t **members)
{
    const struct graph *g = &run->graph;
    size_t count = 0, room = 0;
    *members = NULL;
    if (!group || group >= g->count || g->nodes[group].group != group)
        return 0;
    for (uint32_t i = 0; i < g->count; i++)
        if (i != group && g->nodes[i].kind == GRAPH_PROCEDURE && g->nodes[i].group == group)
            *VEC_PUSH(*members, count, room) = i;
    return count;
}

/* What one comes to next from a node; GRAPH_NONE: it is the node itself that takes the time. A
 * program's time begins with MPI_Init and its own part is all outside MPI: it never wins there. The
 * members of a group are not timed each; what they contain is. */
static uint32_t dearest(const struct run *run, const double *times, uint32_t from)
{
    const struct graph *g = &run->graph;
    const struct graph_node *n = &g->nodes[from];
    if (n->kind == GRAPH_CALL && n->callee && n->callee < g->count)
        return n->callee;
    bool group = n->kind == GRAPH_PROCEDURE && n->group == from;
    uint32_t best = GRAPH_NONE;
    double most = from ? run_total(run, from).self : 0;
    for (uint32_t i = from + 1; i < g->count; i++) {
        const struct graph_node *c = &g->nodes[i];
        bool below = c->parent == from && c->kind != GRAPH_REGION;
        if (group)
            below = c->parent < g->count && c->parent != from && g->nodes[c->parent].group == from;
        bool unknown = c->kind == GRAPH_CALL && c->parent == 0; /* its procedure stands there too */
        if (below && !unknown && !run_outside_time(c) && times[i] > 0 && times[i] >= most) {
            most = times[i];
            best = i;
        }
    }
    return best;
}

size_t run_hot_path(const struct run *run, uint32_t from, uint32_t **path)
{
    size_t count = 0, room = 0;
    double *times = xcalloc(run->graph.count + 1, sizeof *times);
    bool *seen = xcalloc(run->graph.count + 1, sizeof *seen);
    *path = NULL;
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].node < run->graph.count)
            times[run->values[i].node] += run->values[i].time;
    while (from < run->graph.count && !seen[from]) {
        seen[from] = true;
        *VEC_PUSH(*path, count, room) = from;
        from = dearest(run, times, from);
    }
    free(times);
    free(seen);
    return count;
}
