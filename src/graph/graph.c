/* SPDX-License-Identifier: MIT */
#include "graph/graph.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[GRAPH_KINDS] = {"program", "procedure",     "loop",
                                                    "call",    "communication", "region"};

const char *graph_kind_name(enum graph_kind kind)
{
    return (unsigned)kind < GRAPH_KINDS ? kind_names[kind] : "unknown";
}

int graph_kind_by_name(const char *name)
{
    for (int i = 0; i < GRAPH_KINDS; i++)
        if (!strcmp(name, kind_names[i]))
            return i;
    return -1;
}

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

uint32_t graph_add(struct graph *g, const struct graph_node *node)
{
    struct graph_node *n = VEC_PUSH(g->nodes, g->count, g->room);
    *n = *node;
    n->name = copy(node->name);
    n->file = copy(node->file);
    n->procedure = copy(node->procedure);
    n->linkage = copy(node->linkage);
    n->inlined = copy(node->inlined);
    n->module = copy(node->module);
    n->build_id = copy(node->build_id);
    n->probe.caller = copy(node->probe.caller);
    n->probe.caller_build_id = copy(node->probe.caller_build_id);
    return (uint32_t)(g->count - 1);
}

void graph_free(struct graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct graph_node *n = &g->nodes[i];
        free(n->name);
        free(n->file);
        free(n->procedure);
        free(n->linkage);
        free(n->inlined);
        free(n->module);
        free(n->build_id);
        free(n->probe.caller);
        free(n->probe.caller_build_id);
    }
    free(g->nodes);
    *g = (struct graph){0};
}
