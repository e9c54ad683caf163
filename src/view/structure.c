/* SPDX-License-Identifier: MIT */
#include "view/structure.h"

#include "base/alloc.h"
#include "binary/resolve.h"
#include "view/items.h"
#include "view/path_nodes.h"
#include "view/query.h"

#include <stdlib.h>
#include <string.h>

/* The raw nodes in the order that the new graph has them: what is equal becomes one node. */
struct entry {
    struct graph_node *node;
    uint32_t raw;
    uint32_t below; /* node of the static tables' graph that it stands in; 0: none */
};

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

static int order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

#define ORDER(expression)                                                                          \
    do {                                                                                           \
        int order_ = (expression);                                                                 \
        if (order_)                                                                                \
            return order_;                                                                         \
    } while (0)
#define LESS(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Which procedure a statement belongs to: procedures of one name may be static in several files,
 * and without a file in several binaries. None sorts first. */
static int compare_procedures(const struct graph_node *a, const struct graph_node *b)
{
    ORDER(order(a->procedure, b->procedure));
    if (!a->procedure)
        return 0;
    ORDER(order(a->file, b->file));
    return a->file ? 0 : order(a->module, b->module);
}

/* Where a line is not known, only the address tells two statements apart. */
static int compare_nodes(const struct graph_node *a, const struct graph_node *b)
{
    ORDER((a->kind != GRAPH_REGION) - (b->kind != GRAPH_REGION));
    if (a->kind == GRAPH_REGION)
        return order(a->name, b->name);
    ORDER(compare_procedures(a, b));
    ORDER(order(a->file, b->file));
    ORDER(LESS(a->line, b->line));
    if (!a->line) {
        ORDER(order(a->module, b->module));
        ORDER(LESS(a->offset, b->offset));
    }
    ORDER(order(a->name, b->name));
    return LESS(a->kind, b->kind);
}

static int compare_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    ORDER(LESS(a->below, b->below));
    ORDER(compare_nodes(a->node, b->node));
    return LESS(a->raw, b->raw);
}

static void look_up(struct graph_node *node, struct resolver *resolver)
{
    struct resolver_place place = {0};
    if (node->kind == GRAPH_REGION || node->line || !node->module || !resolver)
        return;
    if (resolver_lookup(resolver, node->module, node->build_id, node->offset, &place) < 0)
        return;
    free(node->procedure);
    free(node->file);
    free(node->inlined);
    node->procedure = copy(place.procedure);
    node->file = copy(place.file);
    node->line = place.line;
    node->inlined = copy(place.inlined);
}

static void add_program(const struct run *run, struct graph *graph)
{
    struct graph_node program = {.parent = GRAPH_NONE, .kind = GRAPH_PROGRAM, .name = run->program};
    if (!program.name)
        program.name = (char *)"program";
    graph_add(graph, &program);
}

/* Fills `map` with the new number of every raw node; the values of the program and of procedures
 * are made anew from their statements and map to nothing. */
static void build(struct entry *entries, size_t count, struct graph *graph, uint32_t *map)
{
    const struct graph_node *last = NULL, *last_procedure = NULL;
    uint32_t parent = 0;
    for (size_t i = 0; i < count; i++) {
        struct graph_node *n = entries[i].node;
        if (n->kind != GRAPH_REGION && n->procedure && !entries[i].below &&
            (!last_procedure || compare_procedures(last_procedure, n))) {
            struct graph_node procedure = {.kind = GRAPH_PROCEDURE,
                                           .name = n->procedure,
                                           .file = n->file,
                                           .module = n->module,
                                           .build_id = n->build_id};
            parent = graph_add(graph, &procedure);
            last_procedure = n;
        }
        n->parent = n->kind != GRAPH_REGION && n->procedure ? parent : 0;
        if (entries[i].below)
            n->parent = entries[i].below;
        bool same = last && entries[i - 1].below == entries[i].below && !compare_nodes(last, n);
        map[entries[i].raw] = same ? (uint32_t)(graph->count - 1) : graph_add(graph, n);
        last = n;
    }
}

/* Values of items are made anew; their peers are as they were. */
static void renumber(struct run *run, const uint32_t *map, const struct items *items,
                     size_t raw_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->value_count; i++) {
        struct run_value *v = &run->values[i];
        if (v->node >= raw_count || map[v->node] == GRAPH_NONE || v->rank >= run->rank_count ||
            (items->raw && items->raw[v->node].role != RAW_APART))
            continue;
        v->node = map[v->node];
        if (kept++ != i)
            run->values[kept - 1] = *v;
    }
    run->value_count = kept;
    kept = 0;
    for (size_t i = 0; i < run->peer_count; i++) {
        struct run_peer *p = &run->peers[i];
        if (p->node >= raw_count || map[p->node] == GRAPH_NONE || p->rank >= run->rank_count)
            continue;
        p->node = map[p->node];
        if (kept++ != i)
            run->peers[kept - 1] = *p;
    }
    run->peer_count = kept;
}

/* What stands above statements: for procedures without probes, whose numbers begin with `first`,
 * their sum, for the program the ranks' times. */
static void sum_up(struct run *run, uint32_t first)
{
    size_t statements = run->value_count;
    size_t program = run->value_count;
    for (size_t r = 0; r < run->rank_count; r++) {
        struct run_value *v = run_add_value(run, 0, (uint32_t)r);
        v->count = 1;
        v->time = v->min = v->max = run_rank_time(&run->ranks[r]);
        v->self = run_rank_compute(&run->ranks[r]);
        v->real = run->ranks[r].real_s;
        v->mpi = run->ranks[r].mpi_s;
        v->sync = run->ranks[r].sync_s;
    }
    for (size_t i = 0; i < statements; i++) {
        const struct run_value *value = &run->values[i];
        const struct graph_node *n = &run->graph.nodes[value->node];
        if (n->kind != GRAPH_COMMUNICATION || run_outside_time(n))
            continue;
        struct run_value *all = &run->values[program + value->rank];
        all->bytes += value->bytes;
        all->unknown += value->unknown;
        all->reordered += value->reordered;
        all->uncertain += value->uncertain;
        for (int b = 0; b < RECORD_SIZE_BUCKETS; b++)
            all->sizes[b] += value->sizes[b];
        if (n->parent >= first && n->parent != GRAPH_NONE) {
            struct run_value *v = run_add_value(run, n->parent, value->rank);
            run_value_merge(v, &run->values[i]); /* they may have moved */
        }
    }
    run_finish(run);
}

/* What has its place by the tables already is not looked for again. */
static size_t find_entries(struct run *run, struct items *items, struct graph *graph,
                           struct entry *entries, uint32_t *map)
{
    size_t count = 0;
    for (uint32_t i = 0; i < run->graph.count; i++) {
        struct graph_node *node = &run->graph.nodes[i];
        map[i] = GRAPH_NONE;
        if (node->kind == GRAPH_PROGRAM || node->kind == GRAPH_PROCEDURE || node->probe.kind)
            continue;
        struct raw raw =
            items->raw ? items->raw[i] : (struct raw){RAW_APART, GRAPH_NONE, GRAPH_NONE};
        uint32_t out = raw.item != GRAPH_NONE ? items_node(items, run, graph, raw.item) : 0;
        if (raw.role == RAW_APART)
            entries[count++] = (struct entry){node, i, out};
        else if (raw.role == RAW_ITEM)
            map[i] = out;
    }
    if (count)
        qsort(entries, count, sizeof *entries, compare_entries);
    return count;
}

static bool has_probes(const struct graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i].probe.kind)
            return true;
    return false;
}

/* Loops and calls come from probes, and once they have their place they are none any more. */
static bool is_structured(const struct graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct graph_node *n = &graph->nodes[i];
        if ((n->kind == GRAPH_LOOP || n->kind == GRAPH_CALL) && !n->probe.kind)
            return true;
    }
    return false;
}

/* What becomes of nodes that have a key in the critical path's plan. */
static void find_path_nodes(struct path_nodes *nodes, const struct run *run,
                            const struct items *items, const uint32_t *map,
                            const struct graph *graph)
{
    for (size_t i = 0; i < run->graph.count && run->path.item_count; i++) {
        const struct graph_node *n = &run->graph.nodes[i];
        uint32_t node = map[i];
        if (n->probe.kind) {
            bool own = items->raw && items->raw[i].role == RAW_ITEM && !n->probe.caller &&
                       items->raw[i].item != GRAPH_NONE;
            node = own ? items->list[items->raw[i].item].out : GRAPH_NONE;
        }
        path_nodes_add(nodes, n->key, node);
    }
    if (run->path.item_count)
        path_nodes_procedures(nodes, graph);
}

void structure_run(struct run *run, struct resolver *resolver)
{
    if (is_structured(&run->graph))
        return;
    size_t raw_count = run->graph.count, made_count = 0;
    struct entry *entries = xcalloc(raw_count, sizeof *entries);
    uint32_t *map = xcalloc(raw_count, sizeof *map);
    struct items items = {0};
    struct graph graph = {0};
    struct run_value *made = NULL;
    for (size_t i = 0; i < raw_count; i++)
        if (!run->graph.nodes[i].probe.kind)
            look_up(&run->graph.nodes[i], resolver);
    add_program(run, &graph);
    if (has_probes(&run->graph)) {
        items_build(&items, run, resolver);
        items_group(&items);
        items_emit(&items, run, &graph);
        made_count = items_values(&items, run, &graph, &made);
        items_link(&items, &graph);
    }
    size_t count = find_entries(run, &items, &graph, entries, map);
    uint32_t first = (uint32_t)graph.count;
    build(entries, count, &graph, map);
    struct path_nodes nodes = {0};
    find_path_nodes(&nodes, run, &items, map, &graph);
    graph_free(&run->graph);
    run->graph = graph;
    renumber(run, map, &items, raw_count);
    for (size_t i = 0; i < made_count; i++)
        *VEC_PUSH(run->values, run->value_count, run->value_room) = made[i];
    sum_up(run, first);
    path_nodes_settle(&nodes, run);
    items_free(&items);
    free(made);
    free(entries);
    free(map);
}
