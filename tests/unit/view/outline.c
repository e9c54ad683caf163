/* SPDX-License-Identifier: MIT */
/* The program graph read from the top: sums, callers, homes; and graphs that no program has, as a
 * run file may hold any. */
#include "fixture.h"
#include "tap.h"

#include "base/alloc.h"
#include "view/outline.h"
#include "view/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t find(const struct run *run, enum graph_kind kind, const char *name, uint32_t line)
{
    for (uint32_t i = 0; i < run->graph.count; i++) {
        const struct graph_node *n = &run->graph.nodes[i];
        if (n->kind == kind && !strcmp(n->name, name) && (!line || n->line == line))
            return i;
    }
    return GRAPH_NONE;
}

static int near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* The first paper's questions about Figure 12; times are over both ranks. */
static void test_questions(void)
{
    struct run *run = fixture_run("figure12");
    struct outline *o = outline_new(run);
    uint32_t main = find(run, GRAPH_PROCEDURE, "main", 1), p3 = find(run, GRAPH_PROCEDURE, "P3", 8);
    uint32_t l5 = find(run, GRAPH_CALL, "P3", 5), loop = find(run, GRAPH_LOOP, "for", 11);
    const uint32_t *calls;
    ok(near(o->sums[main].calls, 19.2), "all calls in main");
    ok(near(o->sums[p3].calls, 14.4), "all calls in P3, in its loops too");
    ok(near(o->sums[p3].communications, 2.56), "all communications in P3");
    ok(near(o->sums[p3].own, 1.64), "what P3 takes itself, in its loops too");
    ok(near(o->sums[loop].calls, 12) && near(o->sums[loop].communications, 1.96), "and of a loop");
    ok(outline_callers(o, p3, &calls) == 2 && calls[0] == l5, "its callers, the dearest first");
    ok(outline_outer_callers(o, p3) == 2, "both from outside");
    ok(o->home[p3] == l5, "it is written out where it costs most");
    ok(o->home[main] == 0, "main stands at the top");
    ok(o->hot[find(run, GRAPH_CALL, "P4", 14)] && !o->hot[find(run, GRAPH_CALL, "P4", 10)],
       "the hot path goes through the loops to P4");
    ok(!outline_recursive(o, l5), "nothing is recursive there");
    outline_free(o);
    run_free(run);
}

static void test_recursion(void)
{
    struct run *run = fixture_run("recursion");
    struct outline *o = outline_new(run);
    uint32_t group = find(run, GRAPH_PROCEDURE, "odd+even", 0);
    ok(outline_recursive(o, find(run, GRAPH_CALL, "fib", 3)), "fib calls itself");
    ok(!outline_recursive(o, find(run, GRAPH_CALL, "fib", 22)), "main calls fib");
    ok(outline_recursive(o, find(run, GRAPH_CALL, "even", 8)), "odd calls even inside the group");
    ok(outline_callee(o, find(run, GRAPH_CALL, "odd", 23)) == group, "main calls the group");
    ok(outline_outer_callers(o, group) == 2, "from two statements");
    ok(near(o->sums[group].own, 3), "what the group takes has the members' loops in it");
    ok(!outline_executed(o, find(run, GRAPH_PROCEDURE, "never", 0)), "what was not executed");
    outline_free(o);
    run_free(run);
}

static uint32_t add(struct run *run, uint32_t parent, enum graph_kind kind, uint32_t line)
{
    struct graph_node n = {
        .parent = parent, .kind = kind, .name = (char *)"f", .file = (char *)"f.c", .line = line};
    uint32_t node = graph_add(&run->graph, &n);
    if (parent != GRAPH_NONE)
        fixture_value(run, node, 0, 1, 1, 0);
    return node;
}

/* Every answer there is, to be read by nobody: it must come to an end. */
static size_t ask(struct run *run)
{
    struct strbuf out = {0};
    struct view_lines lines = {0};
    run_finish(run);
    for (int full = 0; full < 2; full++) {
        struct view_options options = {.full = full, .lines = &lines};
        for (int by = 0; by < VIEW_LEVELS; by++) {
            options.by = (enum view_level)by;
            view_text(run, &options, &out);
            lines.count = 0;
        }
        options.source = "f.c";
        view_text(run, &options, &out);
        options.source = NULL;
        options.at_file = "f.c";
        options.at_line = 1;
        view_text(run, &options, &out);
    }
    size_t len = out.len;
    free(lines.nodes);
    strbuf_free(&out);
    return len;
}

/* Far deeper than a stack is. */
static void test_deep(void)
{
    struct run *run = fixture_new("deep", 1, 10);
    uint32_t at = add(run, GRAPH_NONE, GRAPH_PROGRAM, 0);
    at = add(run, at, GRAPH_PROCEDURE, 1);
    for (int i = 0; i < 60000; i++)
        at = add(run, at, GRAPH_LOOP, 2);
    ok(ask(run) > 0, "60,000 loops in each other");
    run_free(run);
    run = fixture_new("long", 1, 10);
    add(run, GRAPH_NONE, GRAPH_PROGRAM, 0);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t procedure = add(run, 0, GRAPH_PROCEDURE, 1 + i);
        uint32_t call = add(run, procedure, GRAPH_CALL, 1 + i);
        run->graph.nodes[call].callee = procedure + 2;
    }
    ok(ask(run) > 0, "2,000 procedures that call each the next, and the last nothing");
    run_free(run);
}

static void forget(char **text)
{
    free(*text);
    *text = NULL;
}

static void test_odd(void)
{
    struct run *run = fixture_new("odd", 1, 10);
    add(run, GRAPH_NONE, GRAPH_PROGRAM, 0);
    uint32_t a = add(run, 0, GRAPH_PROCEDURE, 1), b = add(run, 0, GRAPH_PROCEDURE, UINT32_MAX);
    uint32_t calls[4] = {add(run, a, GRAPH_CALL, 1), add(run, b, GRAPH_CALL, 1),
                         add(run, a, GRAPH_CALL, 1), add(run, 0, GRAPH_CALL, 1)};
    run->graph.nodes[calls[0]].callee = b;
    run->graph.nodes[calls[1]].callee = a;
    run->graph.nodes[calls[2]].callee = 4711;
    run->graph.nodes[calls[3]].callee = calls[0];
    ok(ask(run) > 0, "a circle without a group, calls that lead nowhere");
    run->graph.nodes[a].group = calls[1];
    run->graph.nodes[b].group = 4711;
    ok(ask(run) > 0, "groups that are none");
    run->graph.nodes[b].group = 0;
    run->graph.nodes[a].group = a;
    forget(&run->graph.nodes[a].name);
    forget(&run->graph.nodes[calls[0]].name);
    forget(&run->graph.nodes[calls[3]].file);
    ok(ask(run) > 0, "what has no name");
    run_free(run);
}

int main(void)
{
    test_questions();
    test_recursion();
    test_deep();
    test_odd();
    return tap_done();
}
