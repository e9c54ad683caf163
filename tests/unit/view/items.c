/* SPDX-License-Identifier: MIT */
/* Records of probes, and static tables made by hand, become the graph of the run. */
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

static void add_block(struct tables *tables, const char *lines, unsigned id)
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
 * path alone; 5000 more: not known. */
int resolver_lookup(struct resolver *resolver, const char *path, const char *build_id,
                    uint64_t offset, struct resolver_place *place)
{
    (void)resolver;
    (void)build_id;
    if (strcmp(path, "app") || offset >= 5000)
        return -ENOENT;
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

static void begin(const char *const *units)
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

static struct run_value *add(struct graph_node *node, uint64_t count, double time)
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
static struct run_value *probe(unsigned unit, uint32_t site, enum loupe_site_kind kind,
                               uint64_t count, double time)
{
    struct graph_node node = {.kind = GRAPH_CALL, .probe = {kind, site, unit, NULL, NULL, 0}};
    return add(&node, count, time);
}

/* A procedure's executions from a return address. */
static struct run_value *from(unsigned unit, uint32_t site, const char *caller, uint64_t offset,
                              uint64_t count, double time)
{
    struct graph_node node = {
        .kind = GRAPH_PROCEDURE,
        .probe = {LOUPE_SITE_PROCEDURE, site, unit, (char *)caller, NULL, offset}};
    return add(&node, count, time);
}

static struct run_value *communication(const char *name, uint64_t offset, uint64_t count,
                                       double time)
{
    struct graph_node node = {.kind = GRAPH_COMMUNICATION, .name = (char *)name, .offset = offset};
    struct run_value *v = add(&node, count, time);
    v->bytes = count * 8;
    return v;
}

#define PROCEDURE LOUPE_SITE_PROCEDURE
#define CALL      LOUPE_SITE_CALL
#define STATEMENT LOUPE_SITE_STATEMENT
#define POINTER   LOUPE_SITE_POINTER
#define LOOP      LOUPE_SITE_LOOP
#define ITERATION LOUPE_SITE_ITERATION

static void structure(void)
{
    int there;
    run_finish(run);
    structure_run(run, (struct resolver *)&there); /* ours looks at nothing */
    int before = 1;
    for (uint32_t i = 1; i < run->graph.count; i++)
        before &= run->graph.nodes[i].parent < i;
    ok(before, "a parent stands before its children");
}

static uint32_t find(enum graph_kind kind, const char *name, uint32_t line)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < run->graph.count; i++) {
        const struct graph_node *n = &run->graph.nodes[i];
        if (n->kind == kind && (!name || !strcmp(n->name, name)) && n->line == line)
            found = i;
    }
    return found;
}

static uint32_t procedure(const char *name)
{
    for (uint32_t i = 1; i < run->graph.count; i++)
        if (run->graph.nodes[i].kind == GRAPH_PROCEDURE && !strcmp(run->graph.nodes[i].name, name))
            return i;
    return 0;
}

static uint32_t unknown(uint32_t callee)
{
    for (uint32_t i = 1; i < run->graph.count; i++)
        if (!strcmp(run->graph.nodes[i].name, RUN_UNKNOWN_CALLER) &&
            run->graph.nodes[i].callee == callee)
            return i;
    return 0;
}

static size_t number_of(enum graph_kind kind)
{
    size_t count = 0;
    for (uint32_t i = 1; i < run->graph.count; i++)
        count += run->graph.nodes[i].kind == kind;
    return count;
}

static int near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void has(uint32_t node, const char *what, uint64_t count, double time, double self)
{
    struct run_value v = run_total(run, node);
    ok(node && v.count == count && near(v.time, time) && near(v.self, self),
       "%s: %llu times, %g s, itself %g s (is %u: %llu, %g, %g)", what, (unsigned long long)count,
       time, self, node, (unsigned long long)v.count, v.time, v.self);
}

static uint32_t parent(uint32_t node)
{
    return run->graph.nodes[node].parent;
}

static double sum_of_self(void)
{
    double sum = 0;
    for (uint32_t i = 1; i < run->graph.count; i++)
        sum += run_total(run, i).self;
    return sum;
}

#define HEAD "d|/src|a.c\nf|a.c\n"

static const char *const figure12[] = {HEAD "p|-|0|-|0|1|3|0|main|main\n"
                                            "c|0|1|-|0|2|2|0|P1|P1\n"
                                            "c|0|2|-|0|3|3|0|P2|P2\n"
                                            "p|-|3|-|0|4|5|0|P1|P1\n"
                                            "c|3|4|-|0|5|5|0|P3|P3\n"
                                            "p|-|5|-|0|6|7|0|P2|P2\n"
                                            "c|5|6|-|0|7|7|0|P3|P3\n"
                                            "p|-|7|-|0|8|14|0|P3|P3\n"
                                            "m|7|-|-|0|9|9|0|MPI_Send|MPI_Send\n"
                                            "c|7|8|-|0|10|10|0|P4|P4\n"
                                            "l|7|9|10|0|11|14|0|for|-\n"
                                            "m|10|-|-|0|12|12|0|MPI_Recv|MPI_Recv\n"
                                            "l|10|11|-|0|13|14|0|while|-\n"
                                            "c|12|12|-|0|14|14|0|P4|P4\n"
                                            "p|-|13|-|0|15|15|0|P4|P4\n"
                                            "p|-|14|-|0|16|17|0|never|never\n"
                                            "c|15|15|-|0|17|17|0|P4|P4\n",
                                       NULL};

/* Its two phases: P3 is dear from P1 and cheap from P2. */
static void figure12_values(void)
{
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 20);
    probe(1, 1, CALL, 1, 12);
    probe(1, 2, CALL, 1, 6);
    probe(1, 3, PROCEDURE, 1, -1);
    probe(1, 4, CALL, 1, 11);
    probe(1, 5, PROCEDURE, 1, -1);
    probe(1, 6, CALL, 4, 5);
    probe(1, 7, PROCEDURE, 5, -1);
    communication("MPI_Send", 9, 5, 1);
    probe(1, 8, CALL, 5, 2);
    probe(1, 9, LOOP, 5, 10);
    probe(1, 10, ITERATION, 50, -1);
    communication("MPI_Recv", 12, 50, 2);
    probe(1, 11, LOOP, 50, 7);
    probe(1, 12, CALL, 500, 6);
    probe(1, 13, PROCEDURE, 505, -1);
}

static void test_figure12(void)
{
    begin(figure12);
    figure12_values();
    structure();
    uint32_t main_ = procedure("main"), p3 = procedure("P3"), p4 = procedure("P4");
    uint32_t loop1 = find(GRAPH_LOOP, "for", 11), loop2 = find(GRAPH_LOOP, "while", 13);
    ok(number_of(GRAPH_PROCEDURE) == 5 && number_of(GRAPH_LOOP) == 2 &&
           number_of(GRAPH_COMMUNICATION) == 2 && number_of(GRAPH_CALL) == 7,
       "what was executed is in the graph, and main's unknown caller; nothing else");
    has(main_, "main", 1, 20, 2);
    has(procedure("P1"), "P1", 1, 12, 1);
    has(procedure("P2"), "P2", 1, 6, 1);
    has(p3, "P3 over all callers", 5, 16, 3);
    has(p4, "P4 over all callers", 505, 8, 8);
    has(find(GRAPH_CALL, "P3", 5), "P3 from line 5", 1, 11, 0);
    has(find(GRAPH_CALL, "P3", 7), "P3 from line 7", 4, 5, 0);
    has(find(GRAPH_CALL, "P4", 14), "P4 from line 14", 500, 6, 0);
    has(loop1, "loop1", 5, 10, 1);
    has(loop2, "loop2", 50, 7, 1);
    has(unknown(main_), "main's caller", 1, 20, 0);
    ok(run_total(run, loop1).iterations == 50 && !run_total(run, loop2).iterations,
       "iterations where they are counted");
    ok(near(sum_of_self(), 20), "self times add up to main's");
    uint32_t send = find(GRAPH_COMMUNICATION, "MPI_Send", 9);
    uint32_t recv = find(GRAPH_COMMUNICATION, "MPI_Recv", 12);
    ok(parent(send) == p3 && parent(recv) == loop1, "communications stand where they are written");
    ok(parent(loop2) == loop1 && parent(find(GRAPH_CALL, "P4", 14)) == loop2 &&
           parent(loop1) == p3 && parent(p3) == 0,
       "and so do loops and calls");
    has(send, "MPI_Send", 5, 1, 1);
    ok(run_total(run, recv).bytes == 400 && run_total(run, loop1).bytes == 400 &&
           run_total(run, p3).bytes == 440 && run_total(run, main_).bytes == 0,
       "bytes belong to what they stand in");
    ok(!strcmp(run->graph.nodes[loop2].procedure, "P3") && run->graph.nodes[loop2].end_line == 14 &&
           !strcmp(run->graph.nodes[p3].linkage, "P3"),
       "nodes say where they are");
    uint32_t *list;
    size_t count = run_callers(run, p3, &list);
    ok(count == 2 && run->graph.nodes[list[0]].line == 5 && run->graph.nodes[list[1]].line == 7,
       "both callers of P3 are found");
    free(list);
    count = run_hot_path(run, 0, &list);
    static const uint32_t lines[] = {0, 1, 2, 4, 5, 8, 11, 13, 14, 15};
    int right = count == 10;
    for (size_t i = 0; right && i < count; i++)
        right = run->graph.nodes[list[i]].line == lines[i];
    ok(right, "the hot path leads through P1, P3 and its loops to P4 (%zu)", count);
    free(list);
    struct run_value twice = run_total(run, p3);
    size_t nodes = run->graph.count;
    structure();
    ok(run->graph.count == nodes && near(run_total(run, p3).self, twice.self),
       "structuring twice changes nothing");
    ok(run->warning_count == 0, "there is nothing to warn of");
    run_free(run);
}

/* Entries that come with a return address, though they are direct calls. */
static void test_direct_by_address(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                              "c|0|1|-|0|2|2|0|f|f\n"
                                              "c|0|-|-|0|3|3|0|f|f\n"
                                              "p|-|2|-|0|20|21|0|f|f\n",
                                         NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 1, -1);
    probe(1, 1, CALL, 5, 2);
    from(1, 2, "app", 2, 1, 0.5);
    from(1, 2, "app", 3, 4, 1);
    from(1, 2, "", 0, 1, 0.25);
    probe(1, 2, PROCEDURE, 10, -1);
    structure();
    has(find(GRAPH_CALL, "f", 2), "a call with a probe was counted there", 5, 2.5, 0);
    has(find(GRAPH_CALL, "f", 3), "one without is counted by the procedure", 4, 1, 0);
    has(unknown(procedure("f")), "the rest is unknown", 1, 0.25, 0);
    has(procedure("f"), "all together", 10, 3.75, 3.75);
    run_free(run);
}

static void test_ranks(void)
{
    begin(figure12);
    figure12_values();
    rank = 1;
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 2);
    structure();
    size_t count;
    const struct run_value *v = run_values(run, procedure("main"), &count);
    ok(count == 2 && near(v[0].self, 2) && near(v[1].self, 2) && near(v[1].time, 2),
       "processes are accounted for one by one");
    v = run_values(run, procedure("P3"), &count);
    ok(count == 1 && v[0].rank == 0, "and one that was not there has no value");
    run_free(run);
}

static void test_estimates(void)
{
    begin(figure12);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 20);
    struct run_value *v = probe(1, 1, CALL, 1000, 12);
    v->error = 3;
    v->estimated = 900;
    v = probe(1, 2, CALL, 1000, 10);
    v->error = 4;
    v->estimated = 800;
    probe(1, 3, PROCEDURE, 1000, -1);
    probe(1, 4, CALL, 10, 1)->error = NAN;
    probe(1, 5, PROCEDURE, 1000, -1);
    probe(1, 7, PROCEDURE, 10, -1);
    structure();
    struct run_value m = run_total(run, procedure("main"));
    ok(near(m.self, -2) && near(m.self_error, 5) && m.error == 0 && m.estimated == 0,
       "self may be below 0, with the children's errors together");
    struct run_value p1 = run_total(run, procedure("P1"));
    ok(near(p1.error, 3) && p1.estimated == 900, "a procedure is as uncertain as its calls");
    ok(isnan(p1.self_error), "what is not known of a part is not known of the rest");
    ok(run_total(run, procedure("P2")).self_error == 4, "a leaf has its own error");
    run_free(run);
}

static const char *const recursive[] = {HEAD "p|-|0|-|0|1|4|0|main|main\n"
                                             "c|0|1|-|0|2|2|0|fib|fib\n"
                                             "c|0|2|-|0|3|3|0|odd|odd\n"
                                             "c|0|3|-|0|4|4|0|even|even\n"
                                             "p|-|4|-|0|10|14|0|fib|fib\n"
                                             "c|4|5|-|0|12|12|0|fib|fib\n"
                                             "c|4|6|-|0|13|13|0|work|work\n"
                                             "p|-|7|-|0|20|22|0|odd|odd\n"
                                             "c|7|8|-|0|21|21|0|even|even\n"
                                             "c|7|12|-|0|22|22|0|work|work\n"
                                             "p|-|9|-|0|30|32|0|even|even\n"
                                             "c|10|10|-|0|31|31|0|odd|odd\n"
                                             "p|-|11|-|0|40|41|0|work|work\n",
                                        NULL};

static void test_recursion(void)
{
    begin(recursive);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 30);
    probe(1, 1, CALL, 1, 9);
    probe(1, 2, CALL, 2, 6);
    probe(1, 3, CALL, 1, 4);
    probe(1, 4, PROCEDURE, 100, -1);
    probe(1, 5, CALL, 99, -1);
    probe(1, 6, CALL, 50, 5);
    probe(1, 7, PROCEDURE, 22, -1);
    probe(1, 8, CALL, 19, -1);
    probe(1, 9, PROCEDURE, 20, -1);
    probe(1, 10, CALL, 20, -1);
    probe(1, 11, PROCEDURE, 58, -1);
    probe(1, 12, CALL, 8, 3);
    structure();
    uint32_t fib = procedure("fib"), group = procedure("odd+even");
    has(fib, "direct recursion", 100, 9, 4);
    has(find(GRAPH_CALL, "fib", 12), "its own call is counted", 99, 0, 0);
    ok(!run->graph.nodes[fib].group && run->graph.nodes[find(GRAPH_CALL, "fib", 12)].callee == fib,
       "and it is no group");
    ok(!unknown(fib), "and there is no unknown caller");
    has(group, "mutual recursion, from outside", 3, 10, 7);
    uint32_t *list;
    ok(run_members(run, group, &list) == 2, "the group has its members");
    free(list);
    ok(run_members(run, fib, &list) == 0, "other procedures have none");
    free(list);
    ok(run_callers(run, group, &list) == 2, "the group has the callers from outside");
    free(list);
    uint32_t odd = procedure("odd"), even = procedure("even");
    ok(parent(odd) == group && parent(even) == group && run->graph.nodes[odd].group == group &&
           run->graph.nodes[group].group == group && parent(group) == 0,
       "members stand below the group");
    has(odd, "a member", 22, 6, 0);
    has(even, "another member", 20, 4, 0);
    ok(run->graph.nodes[find(GRAPH_CALL, "odd", 31)].callee == odd &&
           run->graph.nodes[find(GRAPH_CALL, "odd", 3)].callee == group,
       "calls from outside lead to the group, those inside to the member");
    has(find(GRAPH_CALL, "even", 21), "calls inside are counted", 19, 0, 0);
    ok(near(sum_of_self(), 30), "self times add up to main's (%g)", sum_of_self());
    ok(run_hot_path(run, group, &list) == 1, "the hot path ends in the group itself");
    free(list);
    run_free(run);
}

static const char *const pointers[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                            "c|0|1|-|0|2|2|1|op->apply|-\n"
                                            "c|0|2|-|0|5|7|1|hook|-\n"
                                            "c|0|3|-|0|8|8|16|qsort|qsort\n"
                                            "p|-|4|-|0|10|12|0|left|left\n"
                                            "c|4|5|-|0|11|11|0|right|right\n"
                                            "p|-|6|-|0|20|22|0|right|right\n"
                                            "c|6|7|-|0|21|21|1|next|-\n"
                                            "p|-|8|-|0|30|31|0|compare|compare\n",
                                       NULL};

static void test_pointers(void)
{
    begin(pointers);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 30);
    probe(1, 1, POINTER, 10, -1);
    probe(1, 3, STATEMENT, 1, 5);
    probe(1, 4, PROCEDURE, 4, -1);
    from(1, 4, "app", 2, 4, 8);
    probe(1, 6, PROCEDURE, 3, -1);
    from(1, 6, "app", 2, 3, 6);
    probe(1, 8, PROCEDURE, 40, -1);
    from(1, 8, "libc", 500, 30, 1);
    from(1, 8, "libc", 600, 10, 0.5);
    structure();
    uint32_t left = procedure("left"), right = procedure("right"), compare = procedure("compare");
    has(find(GRAPH_CALL, "left", 2), "one thing that the pointer led to", 4, 8, 0);
    has(find(GRAPH_CALL, "right", 2), "the other", 3, 6, 0);
    has(find(GRAPH_CALL, "op->apply", 2), "the rest went elsewhere", 3, 0, 0);
    ok(run->graph.nodes[find(GRAPH_CALL, "left", 2)].callee == left &&
           parent(find(GRAPH_CALL, "right", 2)) == procedure("main"),
       "calls through pointers lead to their procedures");
    ok(!unknown(left) && !unknown(right), "which have no unknown callers then");
    has(unknown(compare), "callbacks come from unknown callers, all together", 40, 1.5, 0);
    ok(parent(unknown(compare)) == 0 && !run->graph.nodes[unknown(compare)].file,
       "which stand nowhere");
    has(compare, "their procedure", 40, 1.5, 1.5);
    has(find(GRAPH_CALL, "qsort", 8), "a call of the library is timed where it stands", 1, 5, 5);
    has(procedure("main"), "main", 1, 30, 11);
    ok(!find(GRAPH_CALL, "hook", 5), "a pointer that was not used is not there");
    run_free(run);

    begin(pointers);
    probe(1, 2, POINTER, 2, -1);
    probe(1, 4, PROCEDURE, 2, -1);
    from(1, 4, "app", 6, 2, 3);
    structure();
    has(find(GRAPH_CALL, "left", 5), "the second line of a statement belongs to it", 2, 3, 0);
    ok(!find(GRAPH_CALL, "hook", 5), "what is accounted for is not there twice");
    run_free(run);
}

static void test_pointer_group(void)
{
    begin(pointers);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 30);
    probe(1, 1, POINTER, 1, -1);
    probe(1, 4, PROCEDURE, 6, -1);
    from(1, 4, "app", 2, 1, 20);
    from(1, 4, "app", 21, 5, 18); /* right calls it back */
    probe(1, 5, CALL, 6, 19);
    probe(1, 6, PROCEDURE, 6, -1);
    probe(1, 7, POINTER, 5, -1);
    structure();
    uint32_t group = procedure("left+right");
    has(group, "a circle that a pointer closes is a group", 1, 20, 20);
    has(find(GRAPH_CALL, "left", 21), "its call back is counted", 5, 0, 0);
    has(find(GRAPH_CALL, "right", 11), "and so is the direct one", 6, 0, 0);
    has(procedure("left"), "a member, entered from outside", 6, 20, 0);
    has(procedure("right"), "a member, entered from inside alone", 6, 0, 0);
    ok(near(sum_of_self(), 30), "self times add up to main's");
    run_free(run);
}

/* A header's procedure in two units, a file of the same name elsewhere, code that is left alone. */
static const char *const units[] = {HEAD "f|inc/norm.h\n"
                                         "p|-|0|-|0|1|9|0|main|main\n"
                                         "c|0|1|-|0|2|2|0|norm|norm@1\n"
                                         "c|0|2|-|0|3|3|0|step|step\n"
                                         "p|-|3|-|1|3|8|2|norm|norm@1\n"
                                         "l|3|4|-|1|5|7|0|for|-\n",
                                    "d|/src/lib|b.c\nf|b.c\nf|../inc/norm.h\n"
                                    "p|-|0|-|0|1|9|0|step|step\n"
                                    "c|0|1|-|0|2|2|0|norm|norm@2\n"
                                    "p|-|2|-|1|3|8|2|norm|norm@2\n"
                                    "l|2|3|-|1|5|7|0|for|-\n",
                                    "d|/other|a.c\nf|a.c\n"
                                    "p|-|0|-|0|1|9|0|other|other\n"
                                    "l|0|-|-|0|2|6|4|while|-\n"
                                    "m|1|-|-|0|3|3|0|MPI_Send|-\n"
                                    "p|-|-|-|0|20|29|4|alone|alone\n"
                                    "m|3|-|-|0|21|21|0|MPI_Send|-\n",
                                    NULL};

static void test_units(void)
{
    begin(units);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 30);
    probe(1, 1, CALL, 2, 4);
    probe(1, 2, CALL, 1, 9);
    probe(1, 3, PROCEDURE, 2, -1);
    probe(1, 4, LOOP, 2, 3);
    probe(2, 0, PROCEDURE, 1, -1);
    probe(2, 1, CALL, 5, 8);
    probe(2, 2, PROCEDURE, 5, -1);
    probe(2, 3, LOOP, 5, 7);
    probe(3, 0, PROCEDURE, 1, -1);
    from(3, 0, "gone", 3, 1, 2);
    communication("MPI_Send", 1003, 4, 1);
    communication("MPI_Send", 3, 1, 0.25);
    communication("MPI_Bcast", 1008, 1, 0.125);
    communication("MPI_Send", 1021, 3, 0.5);
    structure();
    has(procedure("norm"), "a header's procedure is one, with all its callers", 7, 12, 2);
    ok(number_of(GRAPH_LOOP) == 2 &&
           !strcmp(run->graph.nodes[procedure("norm")].file, "inc/norm.h"),
       "and so is what is in it");
    has(find(GRAPH_LOOP, "for", 5), "its loop", 7, 10, 10);
    uint32_t other = procedure("other"), loop = find(GRAPH_LOOP, "while", 2);
    ok(parent(loop) == other && !strcmp(run->graph.nodes[loop].file, "/other/a.c") &&
           !strcmp(run->graph.nodes[procedure("main")].file, "/src/a.c"),
       "two files of one name are shown in full");
    has(loop, "a loop without a probe is what is in it", 0, 1, 0);
    has(other, "its procedure", 1, 2, 0.875);
    uint32_t bcast = find(GRAPH_COMMUNICATION, "MPI_Bcast", 8);
    ok(parent(bcast) == other, "a communication that no table has hangs below its procedure");
    uint32_t alone = procedure("alone");
    has(alone, "a procedure without probes is what is in it", 0, 0.5, 0);
    uint32_t stray = 0;
    for (uint32_t i = 1; i < run->graph.count; i++)
        if (run->graph.nodes[i].line == 3 && run->graph.nodes[i].kind == GRAPH_COMMUNICATION &&
            run_total(run, i).count == 1)
            stray = i;
    ok(parent(stray) == procedure("main"),
       "the same line of the other file is another statement, in its own procedure");
    run_free(run);
}

static void test_left_out(void)
{
    begin(figure12);
    probe(1, 0, PROCEDURE, 1, -1);
    probe(1, 98, CALL, 1, 1);
    probe(9, 0, PROCEDURE, 1, -1);
    struct graph_node node = {
        .kind = GRAPH_LOOP, .module = (char *)"plain", .probe = {LOOP, 0, 1, NULL, NULL, 0}};
    add(&node, 1, 1);
    communication("MPI_Send", 6000, 1, 1);
    structure();
    ok(number_of(GRAPH_PROCEDURE) == 1 && number_of(GRAPH_LOOP) == 0,
       "probes that no table has are left out");
    has(unknown(procedure("main")), "entries that nothing timed", 1, 0, 0);
    ok(run->warning_count == 2 && strstr(run->warnings[0], "plain has probes") &&
           strstr(run->warnings[1], "3 probes"),
       "and said");
    has(find(GRAPH_COMMUNICATION, "MPI_Send", 0), "communications stay", 1, 1, 1);
    run_free(run);
}

int main(void)
{
    test_figure12();
    test_direct_by_address();
    test_ranks();
    test_estimates();
    test_recursion();
    test_pointers();
    test_pointer_group();
    test_units();
    test_left_out();
    return tap_done();
}
