/* SPDX-License-Identifier: MIT */
/* Ways through the graph of a run: from a procedure to its callers, downwards where time goes. */
#include "metric/run.h"

#include "base/alloc.h"

#include <math.h>
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

double run_path_saves(const struct run_path *path, const struct run_path_item *item)
{
    return fmax(path->length_s - item->zeroed_s, 0);
}

static int compare_savings(const void *pa, const void *pb)
{
    const struct run_path_item *a = pa, *b = pb;
    if (a->zeroed_s != b->zeroed_s)
        return a->zeroed_s < b->zeroed_s ? -1 : 1;
    if (a->share_s != b->share_s)
        return a->share_s > b->share_s ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void run_path_sort(struct run_path *path)
{
    if (path->item_count)
        qsort(path->items, path->item_count, sizeof *path->items, compare_savings);
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

/* What stands below each node, so that a step down looks at nothing else. */
struct paths {
    const struct run *run;
    double *times;
    uint32_t *first, *next; /* GRAPH_NONE: no more */
};

static void list_children(struct paths *p)
{
    const struct graph *g = &p->run->graph;
    for (uint32_t i = 0; i < g->count; i++)
        p->first[i] = GRAPH_NONE;
    for (uint32_t i = (uint32_t)g->count; i-- > 1;)
        if (g->nodes[i].parent < i) {
            p->next[i] = p->first[g->nodes[i].parent];
            p->first[g->nodes[i].parent] = i;
        }
}

/* A procedure that does nothing but start or end MPI is no way to where the run's time goes. */
static void take_out_outside(struct paths *p)
{
    const struct graph *g = &p->run->graph;
    for (uint32_t i = 0; i < g->count; i++) {
        if (!run_outside_time(&g->nodes[i]))
            continue;
        uint32_t steps = 0;
        for (uint32_t up = g->nodes[i].parent; up && up < g->count && steps < g->count;
             up = g->nodes[up].parent, steps++)
            p->times[up] -= p->times[i];
    }
}

struct dearest {
    uint32_t node;
    double time;
};

static void compare_children(const struct paths *p, uint32_t parent, struct dearest *best)
{
    for (uint32_t i = p->first[parent]; i != GRAPH_NONE; i = p->next[i]) {
        const struct graph_node *c = &p->run->graph.nodes[i];
        bool unknown = c->kind == GRAPH_CALL && c->parent == 0; /* its procedure stands there too */
        if (c->kind != GRAPH_REGION && !unknown && !run_outside_time(c) && p->times[i] > 0 &&
            p->times[i] >= best->time)
            *best = (struct dearest){i, p->times[i]};
    }
}

/* What one comes to next from a node; GRAPH_NONE: it is the node itself that takes the time. A
 * program's time begins with MPI_Init and its own part is all outside MPI: it never wins there. The
 * members of a group are not timed each; what they contain is. */
static uint32_t dearest(const struct paths *p, uint32_t from)
{
    const struct graph *g = &p->run->graph;
    const struct graph_node *n = &g->nodes[from];
    if (n->kind == GRAPH_CALL && n->callee && n->callee < g->count)
        return n->callee;
    struct dearest best = {GRAPH_NONE, from ? run_total(p->run, from).self : 0};
    if (n->kind == GRAPH_PROCEDURE && n->group == from && from)
        for (uint32_t i = p->first[from]; i != GRAPH_NONE; i = p->next[i])
            compare_children(p, i, &best);
    else
        compare_children(p, from, &best);
    return best.node;
}

size_t run_hot_path(const struct run *run, uint32_t from, uint32_t **path)
{
    size_t count = 0, room = 0, nodes = run->graph.count;
    struct paths p = {.run = run,
                      .times = xcalloc(nodes + 1, sizeof *p.times),
                      .first = xcalloc(nodes + 1, sizeof *p.first),
                      .next = xcalloc(nodes + 1, sizeof *p.next)};
    bool *seen = xcalloc(nodes + 1, sizeof *seen);
    *path = NULL;
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].node < nodes)
            p.times[run->values[i].node] += run->values[i].time;
    take_out_outside(&p);
    list_children(&p);
    while (from < nodes && !seen[from]) {
        seen[from] = true;
        *VEC_PUSH(*path, count, room) = from;
        from = dearest(&p, from);
    }
    free(p.times);
    free(p.first);
    free(p.next);
    free(seen);
    return count;
}
