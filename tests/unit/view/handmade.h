/* SPDX-License-Identifier: MIT */
/* Static tables and records of probes made by hand, a resolver that knows their addresses, and what
 * to ask of the run that becomes of them. One test includes it at most. */
#ifndef LOUPE_TESTS_VIEW_HANDMADE_H
#define LOUPE_TESTS_VIEW_HANDMADE_H

#include "tap.h"

#include "base/alloc.h"
#include "binary/resolve.h"
#include "binary/tables.h"
#include "view/structure.h"

#include <errno.h>
#include <loupe-probe.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the binary "app" has in it: blocks as graph/unit.h has them, with | for tabs. */
static const char *const *blocks;

static inline void add_block(struct tables *tables, const char *lines, unsigned id)
{
    struct strbuf text = {0};
    size_t used;
    strbuf_printf(&text, "loupe-unit 1 %x 99 %zu\n", id, strlen(lines));
    for (const char *c = lines; *c; c++)
        strbuf_putc(&text, *c == '|' ? '\t' : *c);
    struct unit *unit = VEC_PUSH(tables->units, tables->count, tables->room);
    if (unit_decode(text.text, text.len, unit, &used))
        ok(0, "block %u of the test is good", id);
    strbuf_free(&text);
}

int tables_read(struct tables *tables, const char *path, const char *build_id, const char *dir)
{
    (void)build_id;
    (void)dir;
    *tables = (struct tables){0};
    if (strcmp(path, "app"))
        return -ENODATA;
    for (unsigned i = 0; blocks[i]; i++)
        add_block(tables, blocks[i], i + 1);
    return 0;
}

void tables_free(struct tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        unit_free(&tables->units[i]);
    free(tables->units);
}

/* Addresses of "app": the line is the address; 1000 more: of the other directory's a.c, by its full
 * path alone; from 4000 on the procedure's symbol alone; from 5000 on not known. */
int resolver_lookup(struct resolver *resolver, const char *path, const char *build_id,
                    uint64_t offset, struct resolver_place *place)
{
    (void)resolver;
    (void)build_id;
    if (strcmp(path, "app") || offset >= 5000)
        return -ENOENT;
    if (offset >= 4000) { /* no debug information */
        *place = (struct resolver_place){.procedure = offset > 4000 ? "P2(int)" : "P1"};
        return 0;
    }
    *place = (struct resolver_place){.procedure = "any", .file = "a.c", .path = "/src/a.c"};
    place->line = (uint32_t)offset;
    if (offset >= 1000) {
        place->line = (uint32_t)offset - 1000;
        place->path = "/other/a.c";
    }
    return 0;
}

static struct run *run;
static uint32_t rank;

static inline void begin(const char *const *units)
{
    blocks = units;
    run = run_new();
    run->program = xstrdup("app");
    rank = 0;
    for (int i = 0; i < 2; i++) {
        struct run_rank *r = run_add_rank(run);
        r->rank = i;
        r->real_s = 100;
    }
    graph_add(&run->graph, &(struct graph_node){.parent = GRAPH_NONE});
}

static inline struct run_value *add(struct graph_node *node, uint64_t count, double time)
{
    node->module = node->module ? node->module : (char *)"app";
    struct run_value *v = run_add_value(run, graph_add(&run->graph, node), rank);
    v->count = count;
    if (time >= 0) {
        v->time = v->self = time;
        v->min = time / (double)(count ? count : 1);
        v->max = time;
    }
    return v;
}

/* A probe's record; time below 0: only counted. */
static inline struct run_value *probe(unsigned unit, uint32_t site, enum loupe_site_kind kind,
                                      uint64_t count, double time)
{
    struct graph_node node = {.kind = GRAPH_CALL, .probe = {kind, site, unit, NULL, NULL, 0}};
    return add(&node, count, time);
}

/* A procedure's executions from a return address. */
static inline struct run_value *from(unsigned unit, uint32_t site, const char *caller,
                                     uint64_t offset, uint64_t count, double time)
{
    struct graph_node node = {
        .kind = GRAPH_PROCEDURE,
        .probe = {LOUPE_SITE_PROCEDURE, site, unit, (char *)caller, NULL, offset}};
    return add(&node, count, time);
}

static inline struct run_value *communication(const char *name, uint64_t offset, uint64_t count,
                                              double time)
{
    struct graph_node node = {.kind = GRAPH_COMMUNICATION, .name = (char *)name, .offset = offset};
    struct run_value *v = add(&node, count, time);
    v->bytes = count * 8;
    v->mpi = v->time;
    return v;
}

#define PROCEDURE LOUPE_SITE_PROCEDURE
#define CALL      LOUPE_SITE_CALL
#define STATEMENT LOUPE_SITE_STATEMENT
#define POINTER   LOUPE_SITE_POINTER
#define LOOP      LOUPE_SITE_LOOP
#define ITERATION LOUPE_SITE_ITERATION
#define SOLE      LOUPE_SITE_SOLE

static inline void structure(void)
{
    int there;
    run_finish(run);
    structure_run(run, (struct resolver *)&there); /* ours looks at nothing */
    int before = 1;
    for (uint32_t i = 1; i < run->graph.count; i++)
        before &= run->graph.nodes[i].parent < i;
    ok(before, "a parent stands before its children");
}

static inline uint32_t find(enum graph_kind kind, const char *name, uint32_t line)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < run->graph.count; i++) {
        const struct graph_node *n = &run->graph.nodes[i];
        if (n->kind == kind && (!name || !strcmp(n->name, name)) && n->line == line)
            found = i;
    }
    return found;
}

static inline uint32_t procedure(const char *name)
{
    for (uint32_t i = 1; i < run->graph.count; i++)
        if (run->graph.nodes[i].kind == GRAPH_PROCEDURE && !strcmp(run->graph.nodes[i].name, name))
            return i;
    return 0;
}

static inline uint32_t unknown(uint32_t callee)
{
    for (uint32_t i = 1; i < run->graph.count; i++)
        if (!strcmp(run->graph.nodes[i].name, RUN_UNKNOWN_CALLER) &&
            run->graph.nodes[i].callee == callee)
            return i;
    return 0;
}

static inline size_t number_of(enum graph_kind kind)
{
    size_t count = 0;
    for (uint32_t i = 1; i < run->graph.count; i++)
        count += run->graph.nodes[i].kind == kind;
    return count;
}

static inline int near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static inline void has(uint32_t node, const char *what, uint64_t count, double time, double self)
{
    struct run_value v = run_total(run, node);
    ok(node && v.count == count && near(v.time, time) && near(v.self, self),
       "%s: %llu times, %g s, itself %g s (is %u: %llu, %g, %g)", what, (unsigned long long)count,
       time, self, node, (unsigned long long)v.count, v.time, v.self);
}

static inline uint32_t parent(uint32_t node)
{
    return run->graph.nodes[node].parent;
}

static inline double sum_of_self(void)
{
    double sum = 0;
    for (uint32_t i = 1; i < run->graph.count; i++)
        sum += run_total(run, i).self;
    return sum;
}

#define HEAD "d|/src|a.c\nf|a.c\n"

#endif
