/* SPDX-License-Identifier: MIT */
/* Procedures that call themselves and each other, directly and through pointers. */
#include "handmade.h"

#include "graph/unit.h"
#include "record/plan.h"

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
    communication("MPI_Send", 41, 58, 4)->sync = 2; /* in work: 5 from fib, 3 from odd */
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
    struct run_value of = run_total(run, group), all = run_total(run, procedure("main"));
    ok(near(of.mpi, 1.5) && near(of.sync, 0.75), "a group has what its members call");
    ok(near(run_total(run, odd).mpi, 0.9) && near(run_total(run, even).mpi, 0.6),
       "a member the part that its time is of the group's");
    ok(near(run_total(run, fib).mpi, 2.5) && near(all.mpi, 4) && near(all.sync, 2),
       "recursion is passed once");
    ok(near(sum_of_self(), 30), "self times add up to main's (%g)", sum_of_self());
    ok(run_hot_path(run, group, &list) == 1, "the hot path ends in the group itself");
    free(list);
    run_free(run);
}

/* Calls of itself without probes are the entries that its other callers did not make. */
static void test_counted_at_entry(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|main|main\n"
                                              "c|0|1|-|0|2|2|2|one|one@1\n"
                                              "c|0|2|-|0|3|3|2|two|two@1\n"
                                              "c|0|5|-|0|4|4|2|one|one@1\n"
                                              "p|-|3|-|0|20|24|66|one|one@1\n"
                                              "c|4|-|-|0|21|21|66|one|one@1\n"
                                              "p|-|4|-|0|30|34|66|two|two@1\n"
                                              "c|6|-|-|0|31|31|66|two|two@1\n"
                                              "c|6|-|-|0|32|32|66|two|two@1\n",
                                         NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 10);
    probe(1, 1, CALL, 2, 4);
    probe(1, 2, CALL, 1, 3);
    probe(1, 3, PROCEDURE, 30, -1);
    probe(1, 4, PROCEDURE, 50, -1);
    probe(1, 5, CALL, 3, 1);
    structure();
    uint32_t one = procedure("one"), two = procedure("two");
    has(one, "a procedure that calls itself", 30, 5, 5);
    has(find(GRAPH_CALL, "one", 21), "its one call of itself", 25, 0, 0);
    has(two, "one with two such calls", 50, 3, 3);
    uint32_t calls = find(GRAPH_CALL, RUN_RECURSIVE_CALLS, 0);
    has(calls, "those together", 49, 0, 0);
    ok(parent(calls) == two && run->graph.nodes[calls].callee == two, "stand in it");
    ok(!find(GRAPH_CALL, "two", 31) && !unknown(one) && !unknown(two),
       "nothing is said that is not known");
    ok(near(sum_of_self(), 10), "self times add up");
    run_free(run);
}

/* A loop around a recursive call is counted, for its executions are inside each other. */
static void test_loop(void)
{
    static const char *const tables[] = {HEAD "p|-|0|-|0|1|9|0|walk|walk\n"
                                              "l|0|1|2|0|2|5|0|for|-\n"
                                              "c|1|3|-|0|3|3|0|walk|walk\n"
                                              "c|1|4|-|0|4|4|0|leaf|leaf\n"
                                              "p|-|5|-|0|10|11|0|leaf|leaf\n",
                                         NULL};
    begin(tables);
    probe(1, 0, PROCEDURE, 11, -1);
    from(1, 0, "libc", 77, 1, 9);
    probe(1, 1, LOOP, 11, -1);
    probe(1, 2, ITERATION, 33, -1);
    probe(1, 3, CALL, 10, -1);
    probe(1, 4, CALL, 30, 6);
    probe(1, 5, PROCEDURE, 30, -1);
    structure();
    has(find(GRAPH_LOOP, "for", 2), "a loop that is only counted is what is in it", 11, 6, 0);
    has(procedure("walk"), "the rest is the procedure's own", 11, 9, 3);
    ok(near(sum_of_self(), 9), "self times add up");
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

static void path_item(uint64_t key, uint32_t item)
{
    *VEC_PUSH(run->path.ranges, run->path.range_count, run->path.range_room) =
        (struct run_path_range){key, key, item};
}

/* Of procedures that call each other an item of the critical path has all, or it is said. */
static void test_path(bool all, bool any)
{
    begin(recursive);
    probe(1, 0, PROCEDURE, 1, -1);
    from(1, 0, "libc", 77, 1, 30);
    probe(1, 2, CALL, 2, 6);
    probe(1, 7, PROCEDURE, 22, -1);
    probe(1, 8, CALL, 19, -1);
    probe(1, 9, PROCEDURE, 20, -1);
    probe(1, 10, CALL, 20, -1);
    if (any)
        path_item(plan_procedure(unit_key("odd")), 0);
    if (all)
        path_item(plan_procedure(unit_key("even")), 0);
    run->path.known = true;
    *VEC_PUSH(run->path.items, run->path.item_count, run->path.item_room) =
        (struct run_path_item){0};
    structure();
    size_t said = 0;
    for (size_t i = 0; i < run->warning_count; i++)
        said += strstr(run->warnings[i], "a part of the recursion odd+even") != NULL;
    ok(said == (any && !all), "an item of %s: %zu warnings",
       all   ? "the whole circle"
       : any ? "a part of it"
             : "nothing of it",
       said);
    run_free(run);
}

int main(void)
{
    test_path(true, true);
    test_path(false, true);
    test_path(false, false);
    test_recursion();
    test_counted_at_entry();
    test_loop();
    test_pointers();
    test_pointer_group();
    return tap_done();
}
