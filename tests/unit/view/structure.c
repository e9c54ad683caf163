/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "tap.h"

#include "binary/resolve.h"
#include "view/query.h"
#include "view/structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t find(const struct run *run, enum graph_kind kind, const char *name)
{
    for (uint32_t i = 0; i < run->graph.count; i++)
        if (run->graph.nodes[i].kind == kind && !strcmp(run->graph.nodes[i].name, name))
            return i;
    return GRAPH_NONE;
}

static size_t number_of(const struct run *run, enum graph_kind kind)
{
    size_t count = 0;
    for (uint32_t i = 0; i < run->graph.count; i++)
        count += run->graph.nodes[i].kind == kind;
    return count;
}

static int near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void test_program(void)
{
    struct run *run = fixture_run("stencil");
    size_t count;
    const struct run_value *values = run_values(run, 0, &count);
    ok(run->graph.nodes[0].kind == GRAPH_PROGRAM && run->graph.nodes[0].parent == GRAPH_NONE,
       "node 0 is the program");
    ok(!strcmp(run->graph.nodes[0].name, "stencil"), "the program has its name");
    ok(count == 4 && values[2].count == 1, "the program counts once in each rank");
    ok(near(values[2].time, run_rank_time(&run->ranks[2])), "its time is the rank's");
    ok(near(values[2].self, run_rank_compute(&run->ranks[2])), "its self time is outside MPI");
    int before = 1;
    for (uint32_t i = 1; i < run->graph.count; i++)
        before &= run->graph.nodes[i].parent < i;
    ok(before, "a parent stands before its children");
    run_free(run);
}

static void test_merging(void)
{
    struct run *run = fixture_run("stencil");
    uint32_t sum = find(run, GRAPH_COMMUNICATION, "MPI_Allreduce");
    ok(run_total(run, sum).count == 4000, "two addresses of one line are one statement");
    ok(number_of(run, GRAPH_COMMUNICATION) == 9, "and no other statement was merged");
    ok(number_of(run, GRAPH_PROCEDURE) == 5, "each procedure is there once");
    ok(number_of(run, GRAPH_REGION) == 2, "regions stay");
    run_free(run);
}

static void test_procedures(void)
{
    struct run *run = fixture_run("stencil");
    uint32_t exchange = find(run, GRAPH_PROCEDURE, "exchange");
    uint32_t send = find(run, GRAPH_COMMUNICATION, "MPI_Send");
    ok(run->graph.nodes[send].parent == exchange, "a statement hangs below its procedure");
    ok(near(run_total(run, exchange).time, 3.2 + 0.6 + 0.0032),
       "a procedure is its statements' sum");
    ok(run_total(run, exchange).bytes == UINT64_C(16000) * 65536, "of bytes too");
    ok(run_total(run, find(run, GRAPH_PROCEDURE, "main")).count == 0,
       "MPI_Init and MPI_Finalize are no part of their procedure's sum");
    uint32_t init = find(run, GRAPH_COMMUNICATION, "MPI_Init");
    ok(run_total(run, init).count == 4, "yet stay in the graph");
    uint32_t norm = find(run, GRAPH_COMMUNICATION, "MPI_Reduce");
    ok(!strcmp(run->graph.nodes[norm].procedure, "norm") && run->graph.nodes[norm].inlined,
       "an inlined statement belongs to the innermost function and says where it was inlined");
    run_free(run);
}

static void test_unresolved(void)
{
    struct run *run = fixture_run("names");
    ok(number_of(run, GRAPH_COMMUNICATION) == 9, "addresses without a line stay apart");
    uint32_t recv = find(run, GRAPH_COMMUNICATION, "MPI_Recv");
    const struct graph_node *n = &run->graph.nodes[recv];
    ok(!n->file && !n->procedure && n->parent == 0, "unresolved: no file, below the program");
    ok(run->graph.nodes[find(run, GRAPH_PROCEDURE, "symbol_only")].file == NULL,
       "a procedure known by its symbol alone has no file");
    run_free(run);
}

/* Structuring what is structured already (a run file) changes nothing. */
static void test_again(void)
{
    struct run *run = fixture_run("stencil");
    struct run *twice = fixture_run("stencil");
    structure_run(twice, NULL);
    int same = run->graph.count == twice->graph.count && run->value_count == twice->value_count &&
               run->peer_count == twice->peer_count;
    for (uint32_t i = 0; same && i < run->graph.count; i++)
        same = run->graph.nodes[i].parent == twice->graph.nodes[i].parent &&
               run_total(run, i).count == run_total(twice, i).count &&
               run_total(run, i).bytes == run_total(twice, i).bytes;
    ok(same, "structuring twice changes nothing");
    run_free(run);
    run_free(twice);
}

/* Indices that do not exist come from damaged files. */
static void test_bad_indices(void)
{
    struct run *run = fixture_raw();
    run_add_value(run, 4000, 0)->count = 1;
    run_add_value(run, 1, 77)->count = 1;
    run_add_peer(run, 4000, 0, 0, 0)->count = 1;
    run_add_peer(run, 1, 77, 0, 0)->count = 1;
    structure_run(run, NULL);
    int good = 1;
    for (size_t i = 0; i < run->value_count; i++)
        good &= run->values[i].node < run->graph.count && run->values[i].rank < run->rank_count;
    for (size_t i = 0; i < run->peer_count; i++)
        good &= run->peers[i].node < run->graph.count && run->peers[i].rank < run->rank_count;
    ok(good, "values and peers of no node or no rank are left out");
    run_free(run);
}

static void test_spread(void)
{
    struct run *run = fixture_run("stencil");
    uint32_t sum = find(run, GRAPH_COMMUNICATION, "MPI_Allreduce");
    struct query_item item = query_item(run, sum, query_all_time(run));
    ok(near(item.min_s, 1) && near(item.avg_s, 2.5) && near(item.max_s, 4) && item.max_rank == 0,
       "spread over the ranks");
    ok(near(item.share, 10.0 / 50), "share of the ranks' time together");
    item = query_item(run, find(run, GRAPH_REGION, "output"), query_all_time(run));
    ok(item.min_s == 0 && near(item.avg_s, 0.075), "a rank that was never there counts as 0");
    item = query_item(run, find(run, GRAPH_COMMUNICATION, "MPI_Send"), query_all_time(run));
    ok(item.worst && item.worst->rank == 3 && item.worst->peer == 0,
       "the worst peer has most time");
    run_free(run);
}

int main(void)
{
    test_program();
    test_merging();
    test_procedures();
    test_unresolved();
    test_again();
    test_bad_indices();
    test_spread();
    return tap_done();
}
