/* SPDX-License-Identifier: MIT */
#include "cli/critical_circles.h"

#include "base/alloc.h"
#include "graph/components.h"

#include <stdlib.h>

void circles_find(struct circles *c, const struct program *p)
{
    struct edge *edges = NULL;
    size_t count = 0, room = 0;
    circles_free(c);
    c->of = xcalloc(p->count + 1, sizeof *c->of);
    for (size_t i = 0; i < p->count; i++)
        if (p->nodes[i].callee != GRAPH_NONE && p->nodes[i].procedure != GRAPH_NONE)
            *VEC_PUSH(edges, count, room) =
                (struct edge){p->nodes[i].procedure, p->nodes[i].callee};
    uint32_t components = components_find(p->count, edges, count, c->of);
    free(edges);
    c->size = xcalloc((size_t)components + 1, sizeof *c->size);
    for (size_t i = 0; i < p->count; i++)
        c->size[c->of[i]] += p->nodes[i].kind == GRAPH_PROCEDURE;
}

static bool is_procedure(const struct circles *c, const struct program *p, uint32_t node)
{
    return c->of && node < p->count && p->nodes[node].kind == GRAPH_PROCEDURE;
}

bool circles_has(const struct circles *c, const struct program *p, uint32_t node)
{
    return is_procedure(c, p, node) && c->size[c->of[node]] > 1;
}

bool circles_same(const struct circles *c, const struct program *p, uint32_t a, uint32_t b)
{
    return circles_has(c, p, a) && is_procedure(c, p, b) && c->of[a] == c->of[b];
}

bool circles_inside(const struct circles *c, const struct program *p, uint32_t call)
{
    if (!c->of || call >= p->count || p->nodes[call].kind != GRAPH_CALL)
        return false;
    uint32_t from = p->nodes[call].procedure, to = p->nodes[call].callee;
    return to != GRAPH_NONE && (from == to || circles_same(c, p, from, to));
}

void circles_free(struct circles *c)
{
    free(c->of);
    free(c->size);
    *c = (struct circles){0};
}
