/* SPDX-License-Identifier: MIT */
#include "view/outline.h"

#include "base/alloc.h"
#include "view/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the program's tables. A group has no line of its own; what is known from its statements only
 * has neither. */
static bool in_tables(const struct graph_node *node)
{
    return node->kind == GRAPH_PROCEDURE && (node->line || node->linkage || node->group);
}

bool outline_probed(const struct run *run)
{
    for (size_t i = 0; i < run->graph.count; i++) {
        const struct graph_node *n = &run->graph.nodes[i];
        if (n->kind == GRAPH_LOOP || n->kind == GRAPH_CALL || in_tables(n))
            return true;
    }
    return false;
}

/* Before what a list is sorted by stands what it belongs to. */
struct entry {
    uint32_t list, node;
    const struct query_item *item;
};

static int by_list_and_time(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->list != b->list)
        return a->list < b->list ? -1 : 1;
    if (isnan(a->item->share) != isnan(b->item->share))
        return isnan(a->item->share) ? 1 : -1;
    if (a->item->total.time != b->item->total.time)
        return a->item->total.time > b->item->total.time ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static struct outline_list make_list(struct entry *entries, size_t count, size_t lists)
{
    struct outline_list list = {.nodes = xcalloc(count + 1, sizeof *list.nodes),
                                .starts = xcalloc(lists + 1, sizeof *list.starts)};
    if (count)
        qsort(entries, count, sizeof *entries, by_list_and_time);
    for (size_t i = 0; i < count; i++) {
        list.nodes[i] = entries[i].node;
        list.starts[entries[i].list + 1]++;
    }
    for (size_t i = 0; i < lists; i++)
        list.starts[i + 1] += list.starts[i];
    return list;
}

static size_t list_of(const struct outline_list *list, uint32_t node, const uint32_t **nodes)
{
    *nodes = list->nodes + list->starts[node];
    return list->starts[node + 1] - list->starts[node];
}

size_t outline_below(const struct outline *o, uint32_t node, const uint32_t **nodes)
{
    return list_of(&o->below, node, nodes);
}

size_t outline_callers(const struct outline *o, uint32_t procedure, const uint32_t **calls)
{
    return list_of(&o->callers, procedure, calls);
}

uint32_t outline_callee(const struct outline *o, uint32_t node)
{
    const struct graph *g = &o->run->graph;
    uint32_t callee = g->nodes[node].kind == GRAPH_CALL ? g->nodes[node].callee : 0;
    if (callee >= g->count || g->nodes[callee].kind != GRAPH_PROCEDURE)
        return 0;
    uint32_t group = g->nodes[callee].group;
    return group && group < g->count ? group : callee;
}

uint32_t outline_procedure(const struct outline *o, uint32_t node)
{
    const struct graph_node *nodes = o->run->graph.nodes;
    while (node && nodes[node].kind != GRAPH_PROCEDURE)
        node = nodes[node].parent < node ? nodes[node].parent : 0;
    return node;
}

bool outline_recursive(const struct outline *o, uint32_t call)
{
    uint32_t callee = outline_callee(o, call), from = outline_procedure(o, call);
    uint32_t group = from ? o->run->graph.nodes[from].group : 0;
    return callee && from && (callee == from || (group && callee == group));
}

bool outline_starts(const struct outline *o, uint32_t call)
{
    const struct graph_node *nodes = o->run->graph.nodes;
    uint32_t callee = outline_callee(o, call);
    const char *name = callee ? nodes[callee].name : NULL;
    return !nodes[call].parent && name && !strcmp(name, "main");
}

bool outline_summed(const struct outline *o, uint32_t node)
{
    const struct graph_node *n = &o->run->graph.nodes[node];
    const struct run_value *total = &o->items[node].total;
    return n->kind == GRAPH_PROCEDURE && (!in_tables(n) || (!total->count && total->time != 0));
}

bool outline_executed(const struct outline *o, uint32_t node)
{
    return o->sums[node].executed;
}

size_t outline_outer_callers(const struct outline *o, uint32_t procedure)
{
    const uint32_t *calls;
    size_t count = outline_callers(o, procedure, &calls), outer = 0;
    for (size_t i = 0; i < count; i++)
        outer += outline_executed(o, calls[i]) && !outline_recursive(o, calls[i]);
    return outer;
}

/* From the inside out, without recursion: a graph from a file may be of any depth. */
static void make_sums(struct outline *o)
{
    const struct graph *g = &o->run->graph;
    for (size_t i = g->count; i-- > 0;) {
        const struct run_value *total = &o->items[i].total;
        struct outline_sum *sum = &o->sums[i];
        sum->executed |= total->count || total->time != 0;
        sum->own += total->self;
        sum->own_estimated |= total->self_error != 0; /* not a number is not 0 either */
        uint32_t parent = g->nodes[i].parent;
        if (!i || !parent || parent >= i)
            continue;
        struct outline_sum *above = &o->sums[parent];
        above->executed |= sum->executed;
        if (g->nodes[i].kind == GRAPH_CALL) {
            above->calls += total->time;
            above->calls_estimated |= total->estimated > 0;
        } else if (g->nodes[i].kind == GRAPH_COMMUNICATION) {
            above->communications += run_outside_time(&g->nodes[i]) ? 0 : total->time;
        } else {
            above->calls += sum->calls;
            above->calls_estimated |= sum->calls_estimated;
            above->communications += sum->communications;
            above->own += sum->own;
            above->own_estimated |= sum->own_estimated;
        }
    }
}

/* A list belongs to a node; the lists of calls to the procedure that they lead to. */
static void make_lists(struct outline *o)
{
    const struct graph *g = &o->run->graph;
    struct entry *entries = xcalloc(g->count + 1, sizeof *entries);
    size_t count = 0;
    for (uint32_t i = 1; i < g->count; i++)
        if (g->nodes[i].parent < i)
            entries[count++] = (struct entry){g->nodes[i].parent, i, &o->items[i]};
    o->below = make_list(entries, count, g->count);
    count = 0;
    for (uint32_t i = 1; i < g->count; i++)
        if (outline_callee(o, i))
            entries[count++] = (struct entry){outline_callee(o, i), i, &o->items[i]};
    o->callers = make_list(entries, count, g->count);
    free(entries);
}

/* On the way down that takes most of the time a procedure stands where that way comes to it, else
 * where it costs most. */
static void find_homes(struct outline *o)
{
    const struct graph *g = &o->run->graph;
    uint32_t *path;
    size_t length = run_hot_path(o->run, 0, &path);
    for (size_t i = 0; i < length; i++) {
        o->hot[path[i]] = true;
        if (i && g->nodes[path[i]].kind == GRAPH_PROCEDURE)
            o->home[path[i]] = path[i - 1];
    }
    free(path);
    for (uint32_t i = 1; i < g->count; i++) {
        const uint32_t *calls;
        size_t count = outline_callers(o, i, &calls);
        for (size_t c = 0; c < count && o->home[i] == GRAPH_NONE; c++)
            if (outline_executed(o, calls[c]) && !outline_recursive(o, calls[c]))
                o->home[i] = g->nodes[calls[c]].parent ? calls[c] : 0;
    }
}

/* The one call that leads to a procedure or group; 0: there are several, or none. */
static uint32_t sole_call(const struct outline *o, uint32_t procedure)
{
    const uint32_t *calls;
    size_t count = outline_callers(o, procedure, &calls);
    uint32_t sole = 0;
    for (size_t i = 0; i < count; i++) {
        if (!outline_executed(o, calls[i]) || outline_recursive(o, calls[i]))
            continue;
        if (sole)
            return 0;
        sole = calls[i];
    }
    return sole;
}

/* Initialising and finalising MPI is outside the ranks' time, of which shares are: what does it has
 * it in its time and not in its share. Each step goes up to a parent or to a caller; a circle of
 * callers, which only a damaged file has, ends with the number of nodes. */
static void leave_out(struct outline *o, uint32_t statement, double all)
{
    const struct graph *g = &o->run->graph;
    double time = o->items[statement].total.time;
    uint32_t node = g->nodes[statement].parent;
    for (size_t steps = 0; node && node < g->count && steps < g->count; steps++) {
        const struct graph_node *n = &g->nodes[node];
        bool procedure = n->kind == GRAPH_PROCEDURE;
        if (procedure && !in_tables(n))
            return; /* the sum of its statements, without those */
        if (o->items[node].total.time >= time)
            o->items[node].share -= time / all;
        if (procedure && n->group && n->group != node)
            node = n->group;
        else
            node = procedure ? sole_call(o, node) : n->parent;
    }
}

struct outline *outline_new(const struct run *run)
{
    struct outline *o = xcalloc(1, sizeof *o);
    double all = query_all_time(run);
    size_t count = run->graph.count;
    o->run = run;
    o->items = xcalloc(count + 1, sizeof *o->items);
    o->sums = xcalloc(count + 1, sizeof *o->sums);
    o->home = xcalloc(count + 1, sizeof *o->home);
    o->hot = xcalloc(count + 1, sizeof *o->hot);
    for (uint32_t i = 0; i < count; i++) {
        o->items[i] = query_item(run, i, all);
        o->home[i] = GRAPH_NONE;
        o->estimated |= o->items[i].total.estimated > 0;
        o->iterations |= o->items[i].total.iterations > 0;
    }
    make_sums(o);
    make_lists(o);
    for (uint32_t i = 1; i < count && all > 0; i++)
        if (run_outside_time(&run->graph.nodes[i]))
            leave_out(o, i, all);
    if (count)
        find_homes(o);
    return o;
}

void outline_free(struct outline *o)
{
    if (!o)
        return;
    free(o->items);
    free(o->sums);
    free(o->below.nodes);
    free(o->below.starts);
    free(o->callers.nodes);
    free(o->callers.starts);
    free(o->home);
    free(o->hot);
    free(o);
}

/* A caller without probes is named by what it calls: it has no place of its own. */
static char *name_with(const struct outline *o, uint32_t node, bool within, bool brief)
{
    struct graph_node n = o->run->graph.nodes[node];
    uint32_t callee = outline_callee(o, node);
    char *name = NULL;
    if (!within)
        n.procedure = NULL;
    if (n.kind == GRAPH_CALL && !n.file && callee)
        n.name = name = outline_starts(o, node)
                            ? xasprintf("start of the program")
                            : xasprintf("%s of %s", n.name ? n.name : RUN_UNKNOWN_CALLER,
                                        o->run->graph.nodes[callee].name);
    if (n.kind == GRAPH_PROGRAM || n.kind == GRAPH_REGION ||
        (n.kind == GRAPH_PROCEDURE && !n.line && !n.group))
        n.name = name = xasprintf("%s %s", graph_kind_name(n.kind), n.name ? n.name : "?");
    char *text = brief ? format_node_brief(&n) : format_node(&n);
    free(name);
    return text;
}

char *outline_name(const struct outline *o, uint32_t node, bool within)
{
    return name_with(o, node, within, false);
}

char *outline_brief(const struct outline *o, uint32_t node, bool within)
{
    return name_with(o, node, within, true);
}
