/* SPDX-License-Identifier: MIT */
/* Records of probes and static tables become the graph of the run. */
#include "handmade.h"

#include "record/plan.h"
#include "view/query.h"

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

/* What each turn of a loop executes once counts its iterations too, whatever it is. */
static void test_iterations(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                              "l|0|1|2|0|2|6|0|for|-\n"
                                              "l|1|2|3|0|3|5|0|for|-\n"
                                              "c|2|3|-|0|4|4|0|f|f\n"
                                              "l|0|4|5|0|7|8|0|while|-\n"
                                              "c|4|5|-|0|8|8|1|hook|-\n"
                                              "p|-|6|-|0|20|21|0|f|f\n",
                                         NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 10);
    probe(1, 1, LOOP, 2, 8);
    probe(1, 2, LOOP, 6, 7);
    probe(1, 3, STATEMENT, 42, 5);
    probe(1, 4, LOOP, 1, 1);
    probe(1, 5, POINTER, 9, -1);
    probe(1, 6, PROCEDURE, 51, -1);
    from(1, 6, "app", 8, 9, 1);
    structure();
    uint32_t outer = find(GRAPH_LOOP, "for", 2), inner = find(GRAPH_LOOP, "for", 3);
    has(outer, "the loop around", 2, 8, 1);
    has(inner, "the loop that counts its turns", 6, 7, 2);
    has(find(GRAPH_CALL, "f", 4), "the call that counts those of the inner loop", 42, 5, 0);
    ok(run_total(run, outer).iterations == 6, "iterations by a loop");
    ok(run_total(run, inner).iterations == 42, "by a call");
    ok(run_total(run, find(GRAPH_LOOP, "while", 7)).iterations == 9,
       "by one through a pointer, though its count goes to what it led to");
    has(find(GRAPH_CALL, "f", 8), "which has it", 9, 1, 0);
    run_free(run);
}

/* The entries of a procedure that one statement calls are its executions. */
static void test_sole(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                              "l|0|1|2|0|2|4|0|for|-\n"
                                              "c|1|2|-|0|3|3|34|f|f@1\n"
                                              "p|-|2|-|0|20|24|2|f|f@1\n"
                                              "c|3|3|-|0|21|21|34|g|g@1\n"
                                              "p|-|3|-|0|30|31|2|g|g@1\n",
                                         HEAD "p|-|0|-|0|30|31|2|g|g@2\n", NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 10);
    probe(1, 1, LOOP, 1, 9);
    struct run_value *v = probe(1, 2, SOLE, 40, 8);
    v->error = 0.5;
    v->estimated = 30;
    probe(1, 3, SOLE, 80, 3);
    structure();
    uint32_t f = procedure("f"), g = procedure("g");
    has(f, "a procedure with one caller", 40, 8, 5);
    has(find(GRAPH_CALL, "f", 3), "its caller has count and time", 40, 8, 0);
    has(g, "another", 80, 3, 3);
    has(find(GRAPH_CALL, "g", 21), "with its own", 80, 3, 0);
    struct run_value call = run_total(run, find(GRAPH_CALL, "f", 3));
    ok(near(call.error, 0.5) && call.estimated == 30 && near(run_total(run, f).error, 0.5),
       "and error");
    ok(run_total(run, find(GRAPH_LOOP, "for", 2)).iterations == 40, "it counts turns as well");
    ok(!unknown(f) && !unknown(g), "nobody else called them");
    ok(near(sum_of_self(), 10), "self times add up");
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

/* Waiting is summed up from the inside out; where several call, by their times. */
static void test_waits(void)
{
    begin(figure12);
    figure12_values();
    for (size_t i = 0; i < run->value_count; i++)
        run->values[i].sync = run->values[i].mpi / 4;
    communication("MPI_Bcast", 13, 1, 0.5)->sync = 0.5; /* no table has it: apart, in loop2 */
    structure();
    struct run_value p3 = run_total(run, procedure("P3"));
    ok(near(p3.mpi, 3.5) && near(p3.sync, 1.25) && near(run_value_compute(&p3), 12.5) &&
           near(run_value_transfer(&p3), 2.25),
       "a procedure has what is in its loops too");
    struct run_value loop = run_total(run, find(GRAPH_LOOP, "for", 11));
    ok(near(loop.mpi, 2.5) && near(loop.sync, 1), "a loop what is in the loops in it");
    struct run_value dear = run_total(run, find(GRAPH_CALL, "P3", 5));
    struct run_value cheap = run_total(run, find(GRAPH_CALL, "P3", 7));
    ok(near(dear.mpi, 3.5 * 11 / 16) && near(cheap.sync, 1.25 * 5 / 16),
       "a call the part that its time is of the procedure's");
    struct run_value p1 = run_total(run, procedure("P1")), all = run_total(run, procedure("main"));
    ok(near(p1.mpi, dear.mpi) && near(all.mpi, 3.5) && near(all.sync, 1.25),
       "nothing is lost or doubled on the way up");
    ok(run_total(run, procedure("P4")).mpi == 0, "and one that does not communicate has none");
    run_free(run);
}

/* MPI_Init and MPI_Finalize are no transfer of what calls them, from however far. */
static void test_outside(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                              "c|0|1|-|0|2|2|0|setup|setup\n"
                                              "m|0|-|-|0|3|3|0|MPI_Send|-\n"
                                              "m|0|-|-|0|4|4|0|MPI_Finalize|-\n"
                                              "p|-|2|-|0|20|22|0|setup|setup\n"
                                              "m|4|-|-|0|21|21|0|MPI_Init|-\n",
                                         NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 10);
    probe(1, 1, CALL, 1, 5);
    probe(1, 2, PROCEDURE, 1, -1);
    communication("MPI_Init", 21, 1, 4)->outside = 4;
    communication("MPI_Finalize", 4, 1, 2)->outside = 2;
    communication("MPI_Send", 3, 1, 1)->sync = 0.25;
    structure();
    struct run_value all = run_total(run, procedure("main"));
    struct run_value setup = run_total(run, procedure("setup"));
    struct run_value call = run_total(run, find(GRAPH_CALL, "setup", 2));
    ok(near(all.mpi, 7) && near(all.outside, 6) && near(run_value_compute(&all), 3),
       "MPI_Init and MPI_Finalize are inside MPI, in what calls them");
    ok(near(run_value_transfer(&all), 0.75) && near(run_value_transfer(&setup), 0) &&
           near(run_value_transfer(&call), 0),
       "and no transfer there");
    struct query_item item = query_item(run, procedure("main"), 10);
    ok(near(query_waiting(run, &item), 0.25), "nor could it have been waiting");
    run_free(run);
}

/* What only has a count passes on what is in it, but has no part of the time to show itself. */
static void test_waits_untimed(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                              "c|0|1|-|0|2|2|0|f|f\n"
                                              "c|0|2|-|0|3|3|0|f|f\n"
                                              "p|-|3|-|0|20|21|0|f|f\n"
                                              "m|3|-|-|0|21|21|0|MPI_Send|-\n",
                                         NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 10);
    probe(1, 1, CALL, 3, -1);
    probe(1, 2, CALL, 1, -1);
    probe(1, 3, PROCEDURE, 4, -1);
    communication("MPI_Send", 21, 4, 2)->sync = 1;
    structure();
    struct run_value all = run_total(run, procedure("main"));
    struct run_value call = run_total(run, find(GRAPH_CALL, "f", 2));
    ok(near(all.mpi, 2) && near(all.sync, 1), "what calls without times lead to is counted above");
    ok(call.time == 0 && call.mpi == 0 && call.sync == 0, "they themselves show none");
    struct run_value f = run_total(run, procedure("f"));
    ok(near(f.mpi, 2) && near(run_value_compute(&f), 0), "the procedure has it");
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

static void test_symbols(void)
{
    begin(figure12);
    figure12_values();
    communication("MPI_Send", 4000, 1, 0.25);
    communication("MPI_Send", 4001, 2, 0.5);
    structure();
    has(procedure("P1"), "a procedure with a statement whose line is not known", 1, 12, 0.75);
    has(procedure("P2"), "the same in C++", 1, 6, 0.5);
    ok(number_of(GRAPH_PROCEDURE) == 5, "and no procedure is there twice");
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

static void path_item(uint32_t number, uint64_t from, uint64_t to, const char *name)
{
    struct run_path *p = &run->path;
    struct run_path_item *item = VEC_PUSH(p->items, p->item_count, p->item_room);
    item->number = number;
    item->name = name ? xstrdup(name) : NULL;
    *VEC_PUSH(p->ranges, p->range_count, p->range_room) = (struct run_path_range){from, to, number};
}

static void give_key(enum loupe_site_kind kind, uint32_t site, const char *name, uint64_t key)
{
    for (uint32_t i = 0; i < run->graph.count; i++) {
        struct graph_node *n = &run->graph.nodes[i];
        if (n->probe.kind == kind &&
            (kind ? n->probe.site == site : n->name && !strcmp(n->name, name)))
            n->key = key;
    }
}

/* Items of the critical path find their nodes: a procedure by name, others by what stands for them
 * in the plan. */
static void test_path(void)
{
    uint64_t p3 = plan_procedure(unit_key("P3")), loop = plan_site(1, 9),
             send = plan_statement(7, 9);
    begin(figure12);
    figure12_values();
    give_key(LOOP, 9, NULL, loop);
    give_key(0, 0, "MPI_Send", send);
    give_key(0, 0, "MPI_Recv", 12);
    give_key(LOOP, 11, NULL, 13);
    for (size_t i = 0; i < run->value_count; i++) {
        const char *name = run->graph.nodes[run->values[i].node].name;
        if (name && !strcmp(name, "MPI_Recv"))
            run->values[i].sync = 1.5;
    }
    path_item(4, send, send, "a send");
    path_item(0, p3, p3, NULL);
    path_item(1, loop, loop, NULL);
    path_item(2, 12, 13, NULL);
    path_item(3, 77, 77, "nobody (x.c:1)");
    structure();
    const struct run_path_item *items = run->path.items;
    ok(items[0].node == find(GRAPH_COMMUNICATION, "MPI_Send", 9) && !items[0].name,
       "an item that is a communication has its node");
    ok(items[1].node == procedure("P3"), "a procedure too");
    ok(items[2].node == find(GRAPH_LOOP, "for", 11), "and a loop");
    ok(!items[3].node && items[3].name &&
           !strcmp(items[3].name, "while loop a.c:13 in P3 and 1 more"),
       "what is several nodes says so");
    ok(!items[4].node && !strcmp(items[4].name, "nobody (x.c:1)"),
       "what is not in the graph keeps the plan's name");
    run_free(run);
}

int main(void)
{
    test_path();
    test_figure12();
    test_iterations();
    test_sole();
    test_direct_by_address();
    test_waits();
    test_outside();
    test_waits_untimed();
    test_ranks();
    test_estimates();
    test_units();
    test_symbols();
    test_left_out();
    return tap_done();
}
