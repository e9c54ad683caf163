/* SPDX-License-Identifier: MIT */
#include "view/path_nodes.h"

#include "base/alloc.h"
#include "graph/unit.h"
#include "record/plan.h"
#include "view/format.h"

#include <math.h>
#include <stdlib.h>

void path_nodes_add(struct path_nodes *nodes, uint64_t key, uint32_t node)
{
    if (key && node && node != GRAPH_NONE)
        *VEC_PUSH(nodes->list, nodes->count, nodes->room) =
            (struct path_node){.key = key, .node = node};
}

void path_nodes_procedures(struct path_nodes *nodes, const struct graph *graph)
{
    for (uint32_t i = 1; i < graph->count; i++) {
        const struct graph_node *n = &graph->nodes[i];
        if (n->kind == GRAPH_PROCEDURE && n->linkage)
            path_nodes_add(nodes, plan_procedure(unit_key(n->linkage)), i);
    }
}

static uint32_t item_of(const struct run_path *path, uint64_t key)
{
    for (size_t i = 0; i < path->range_count; i++)
        if (key >= path->ranges[i].from && key <= path->ranges[i].to)
            return path->ranges[i].item;
    return RECORD_PATH_NO_ITEM;
}

/* Computation and transfer: what is on no path while somebody waits is no gain either. */
static double cpu_of(const struct run *run, uint32_t node)
{
    struct run_value total = run_total(run, node);
    return fmax(total.time - total.sync, 0);
}

static int compare_nodes(const void *pa, const void *pb)
{
    const struct path_node *a = pa, *b = pb;
    if (a->item != b->item)
        return a->item < b->item ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The nodes of an item: how many different ones, and the dearest. */
struct found {
    size_t count;
    uint32_t node;
    double cpu;
};

/* By item; `nodes` is sorted. */
static void find(const struct path_nodes *nodes, const struct run *run,
                 struct found found[RECORD_PATH_ITEMS])
{
    for (size_t i = 0; i < nodes->count; i++) {
        const struct path_node *n = &nodes->list[i];
        if (n->item >= RECORD_PATH_ITEMS || n->node >= run->graph.count)
            continue;
        if (i && n[-1].item == n->item && n[-1].node == n->node)
            continue; /* an unrolled statement has several keys */
        struct found *f = &found[n->item];
        double cpu = cpu_of(run, n->node);
        if (!f->count || cpu > f->cpu) {
            f->node = n->node;
            f->cpu = cpu;
        }
        f->count++;
    }
}

/* A circle that pointers close is not in the tables that the plan was made from, and a plan has
 * room for so many procedures: others of the circle are in no item then, or in another one, and
 * what was entered through them is not in this one. */
static void warn_of_parts(const struct path_nodes *nodes, struct run *run)
{
    enum { UNSEEN, WHOLE, SAID };
    struct {
        uint32_t item, state;
    } *groups = xcalloc(run->graph.count + 1, sizeof *groups);
    for (size_t i = 0; i < nodes->count && !run->path.searching; i++) {
        const struct path_node *n = &nodes->list[i];
        uint32_t node = n->node;
        if (node >= run->graph.count || run->graph.nodes[node].group != node)
            continue;
        if (groups[node].state == UNSEEN) {
            groups[node].item = n->item;
            groups[node].state = WHOLE;
        } else if (groups[node].state == WHOLE && groups[node].item != n->item) {
            groups[node].state = SAID;
            run_warn(run,
                     "critical path: an item is only a part of the recursion %s (pointers close "
                     "it, or it has more than %d procedures), and has what was entered through "
                     "that part",
                     run->graph.nodes[node].name, PLAN_RANGES);
        }
    }
    free(groups);
}

void path_nodes_settle(struct path_nodes *nodes, struct run *run)
{
    struct found found[RECORD_PATH_ITEMS] = {0};
    for (size_t i = 0; i < nodes->count; i++) {
        struct path_node *n = &nodes->list[i];
        n->item = item_of(&run->path, n->key);
        if (n->node < run->graph.count && run->graph.nodes[n->node].group)
            n->node = run->graph.nodes[n->node].group; /* procedures in a circle are one item */
    }
    warn_of_parts(nodes, run);
    if (nodes->count)
        qsort(nodes->list, nodes->count, sizeof *nodes->list, compare_nodes);
    find(nodes, run, found);
    for (size_t i = 0; i < run->path.item_count; i++) {
        struct run_path_item *item = &run->path.items[i];
        const struct found *f = &found[item->number % RECORD_PATH_ITEMS];
        if (f->count == 1) {
            item->node = f->node;
            free(item->name);
            item->name = NULL;
        } else if (f->count && !item->name) {
            char *dearest = format_node(&run->graph.nodes[f->node]);
            item->name = xasprintf("%s and %zu more", dearest, f->count - 1);
            free(dearest);
        }
    }
    free(nodes->list);
    *nodes = (struct path_nodes){0};
}
