/* SPDX-License-Identifier: MIT */
/* Items as nodes of the run's graph; procedures that call each other as groups. */
#include "view/items.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/components.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 200 }; /* of a group; its members have all their names */

/* Calls that were never made count too: where they lead back, the runtime does not time the others
 * of their circle either. */
static uint32_t find_components(const struct items *items, uint32_t *component)
{
    const struct program *p = &items->program;
    struct edge *edges = NULL;
    size_t count = 0, room = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->nodes[i].callee != GRAPH_NONE)
            *VEC_PUSH(edges, count, room) =
                (struct edge){p->nodes[i].procedure, p->nodes[i].callee};
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->list[i];
        if (item->statement != GRAPH_NONE)
            *VEC_PUSH(edges, count, room) =
                (struct edge){p->nodes[item->node].procedure, items->list[item->callee].node};
    }
    uint32_t components = components_find(p->count, edges, count, component);
    free(edges);
    return components;
}

static bool is_procedure(const struct item *item)
{
    return item->kind == GRAPH_PROCEDURE && item->node != GRAPH_NONE;
}

void items_group(struct items *items)
{
    uint32_t *component = xcalloc(items->program.count + 1, sizeof *component);
    uint32_t components = find_components(items, component);
    uint32_t *members = xcalloc(components + 1, sizeof *members);
    uint32_t *group = xcalloc(components + 1, sizeof *group);
    size_t count = items->count;
    for (size_t i = 0; i < count; i++)
        if (is_procedure(&items->list[i]))
            members[component[items->list[i].node]]++;
    for (size_t i = 0; i < count; i++) {
        struct item *item = &items->list[i];
        if (item->callee != GRAPH_NONE && item->procedure != GRAPH_NONE)
            item->inside = component[items->list[item->procedure].node] ==
                           component[items->list[item->callee].node];
        uint32_t of = is_procedure(item) ? component[item->node] : 0;
        if (!is_procedure(item) || members[of] < 2)
            continue;
        if (!group[of]) {
            group[of] = (uint32_t)items->count;
            struct item *new = VEC_PUSH(items->list, items->count, items->room);
            *new = items->list[i];
            new->node = new->unknown = GRAPH_NONE;
            new->group = new->procedure = group[of];
            new->probe = true;
        }
        items->list[i].group = group[of];
    }
    free(component);
    free(members);
    free(group);
}

/* "odd+even" */
static char *group_name(const struct items *items, uint32_t group)
{
    struct strbuf name = {0};
    size_t more = 0;
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->list[i];
        if (item->group != group || i == group)
            continue;
        if (name.len > NAME_MAX_BYTES)
            more++;
        else
            strbuf_printf(&name, "%s%s", name.len ? "+" : "",
                          items->program.nodes[item->node].name);
    }
    if (more)
        strbuf_printf(&name, "+%zu more", more);
    return strbuf_take(&name);
}

static uint32_t add_group(struct items *items, struct graph *graph, uint32_t group)
{
    char *name = group_name(items, group);
    struct graph_node node = {.kind = GRAPH_PROCEDURE, .name = name};
    uint32_t out = graph_add(graph, &node);
    graph->nodes[out].group = out;
    free(name);
    return out;
}

/* Where it stands in the binary is known of communications. */
static void set_address(struct graph_node *node, const struct run *run, uint32_t raw)
{
    const struct graph_node *from = &run->graph.nodes[raw];
    node->module = from->module;
    node->build_id = from->build_id;
    node->offset = from->offset;
    node->inlined = from->inlined;
}

uint32_t items_node(struct items *items, const struct run *run, struct graph *graph,
                    uint32_t number)
{
    struct item *item = &items->list[number];
    if (item->out != GRAPH_NONE)
        return item->out;
    if (item->group == number)
        return item->out = add_group(items, graph, number);
    const char *others = item->inside ? RUN_RECURSIVE_CALLS : RUN_UNKNOWN_CALLER;
    struct graph_node node = {.kind = item->kind, .name = (char *)others};
    uint32_t above = item->group != GRAPH_NONE ? item->group : item->parent;
    if (above != GRAPH_NONE)
        node.parent = items_node(items, run, graph, above);
    if (item->group != GRAPH_NONE)
        node.group = node.parent;
    if (item->node != GRAPH_NONE) {
        const struct program_node *n = &items->program.nodes[item->node];
        bool led = item->statement != GRAPH_NONE; /* a pointer's own name would not say where to */
        bool range = item->kind == GRAPH_PROCEDURE || item->kind == GRAPH_LOOP;
        node.name = led ? items->program.nodes[items->list[item->callee].node].name : n->name;
        node.file = (char *)n->file;
        node.line = n->line;
        node.end_line = range ? n->end_line : 0;
        if (item->kind == GRAPH_PROCEDURE)
            node.linkage = n->linkage;
        else
            node.procedure = items->program.nodes[n->procedure].name;
    }
    if (item->raw != GRAPH_NONE)
        set_address(&node, run, item->raw);
    return item->out = graph_add(graph, &node);
}

void items_emit(struct items *items, const struct run *run, struct graph *graph)
{
    for (uint32_t i = 0; i < items->count; i++)
        if (!items->list[i].optional)
            items_node(items, run, graph, i);
}

void items_link(const struct items *items, struct graph *graph)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->list[i];
        if (item->out == GRAPH_NONE || item->callee == GRAPH_NONE)
            continue;
        const struct item *callee = &items->list[item->callee];
        bool whole = callee->group != GRAPH_NONE && !item->inside;
        graph->nodes[item->out].callee = whole ? items->list[callee->group].out : callee->out;
    }
}
