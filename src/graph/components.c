/* SPDX-License-Identifier: MIT */
#include "graph/components.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>

/* Tarjan's search, with a stack of its own: chains of calls can be longer than ours is deep. */
struct search {
    const struct edge *edges;
    size_t *first;   /* edges of n: first[n] to first[n + 1] */
    size_t *next;    /* the next one to follow */
    uint32_t *order; /* in which they were found, from 1; 0: not yet */
    uint32_t *low;   /* the earliest that can be reached and is still open */
    uint32_t *open, *path;
    size_t open_count, path_count;
    bool *is_open;
    uint32_t found, components;
    uint32_t *component;
};

static int compare(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static void enter(struct search *s, uint32_t n)
{
    s->order[n] = s->low[n] = ++s->found;
    s->next[n] = s->first[n];
    s->open[s->open_count++] = n;
    s->is_open[n] = true;
    s->path[s->path_count++] = n;
}

/* All edges of the node on top of the path are done. */
static void leave(struct search *s)
{
    uint32_t n = s->path[--s->path_count], member;
    if (s->path_count) {
        uint32_t before = s->path[s->path_count - 1];
        s->low[before] = s->low[n] < s->low[before] ? s->low[n] : s->low[before];
    }
    if (s->low[n] != s->order[n])
        return;
    do {
        member = s->open[--s->open_count];
        s->is_open[member] = false;
        s->component[member] = s->components;
    } while (member != n);
    s->components++;
}

static void walk(struct search *s, uint32_t from)
{
    enter(s, from);
    while (s->path_count) {
        uint32_t n = s->path[s->path_count - 1];
        if (s->next[n] == s->first[n + 1]) {
            leave(s);
            continue;
        }
        uint32_t to = s->edges[s->next[n]++].to;
        if (!s->order[to])
            enter(s, to);
        else if (s->is_open[to] && s->order[to] < s->low[n])
            s->low[n] = s->order[to];
    }
}

uint32_t components_find(size_t count, struct edge *edges, size_t edge_count, uint32_t *component)
{
    struct search s = {.edges = edges, .component = component};
    if (edge_count)
        qsort(edges, edge_count, sizeof *edges, compare);
    s.first = xcalloc(count + 1, sizeof *s.first);
    s.next = xcalloc(count + 1, sizeof *s.next);
    s.order = xcalloc(count + 1, sizeof *s.order);
    s.low = xcalloc(count + 1, sizeof *s.low);
    s.open = xcalloc(count + 1, sizeof *s.open);
    s.path = xcalloc(count + 1, sizeof *s.path);
    s.is_open = xcalloc(count + 1, sizeof *s.is_open);
    for (size_t i = 0; i < edge_count; i++)
        s.first[edges[i].from + 1]++;
    for (size_t i = 0; i < count; i++)
        s.first[i + 1] += s.first[i];
    for (size_t i = 0; i < count; i++)
        if (!s.order[i])
            walk(&s, (uint32_t)i);
    free(s.first);
    free(s.next);
    free(s.order);
    free(s.low);
    free(s.open);
    free(s.path);
    free(s.is_open);
    return s.components;
}
