/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "tap.h"

#include "base/alloc.h"
#include "view/matrix.h"
#include "view/query.h"
#include "view/report.h"
#include "view/waits.h"

#include <stdlib.h>
#include <string.h>

static struct run *run;

static const struct matrix_pair *find(const struct matrix *m, int32_t from, int32_t to)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->pairs[i].from == from && m->pairs[i].to == to)
            return &m->pairs[i];
    return NULL;
}

static void message(const char *name, uint32_t rank, int32_t peer, uint32_t received)
{
    uint32_t node = fixture_statement(run, name, NULL, 0);
    struct run_peer *p = run_add_peer(run, node, rank, peer, received);
    p->count = 1;
    p->bytes = 10;
}

/* Messages from 0 to 1 of one call, told by `rank`. */
static uint64_t counted(const char *name, uint32_t rank)
{
    struct matrix m;
    run = fixture_new("app", 2, 1);
    message(name, rank, rank ? 0 : 1, rank);
    run_finish(run);
    matrix_build(run, &m);
    uint64_t count = m.count ? m.pairs[0].count : 0;
    if (m.count && (m.pairs[0].from != 0 || m.pairs[0].to != 1))
        count = 1000;
    matrix_free(&m);
    run_free(run);
    return count;
}

static void test_both_ends(void)
{
    static const char *const by_receiver[] = {"MPI_Bcast",      "MPI_Ibcast",        "MPI_Scatter",
                                              "MPI_Iscatterv",  "MPI_Bcast_init",    "MPI_Bcast_c",
                                              "MPI_Scatterv_c", "MPI_Scatter_init_c"};
    static const char *const by_sender[] = {"MPI_Send",    "MPI_Gather",    "MPI_Reduce",
                                            "MPI_Isend",   "MPI_Alltoallv", "MPI_Reduce_scatter",
                                            "MPI_Igather", "MPI_Recv",      "MPI_Bcast_other"};
    for (size_t i = 0; i < sizeof by_receiver / sizeof *by_receiver; i++)
        ok(counted(by_receiver[i], 1) == 1, "%s counts where it is received", by_receiver[i]);
    for (size_t i = 0; i < sizeof by_sender / sizeof *by_sender; i++)
        ok(counted(by_sender[i], 1) == 0, "%s does not", by_sender[i]);
    ok(counted("MPI_Send", 0) == 1, "a send counts where it is sent");
}

static void test_sums(void)
{
    struct matrix m;
    run = fixture_new("app", 3, 1);
    message("MPI_Send", 0, 2, 0);
    message("MPI_Isend", 0, 2, 0);
    message("MPI_Send", 2, 0, 0);
    message("MPI_Send", 1, RUN_PEER_OTHERS, 0);
    message("MPI_Send", 1, RUN_PEER_FOREIGN, 0);
    message("MPI_Send", 1, 99, 0);
    run_finish(run);
    matrix_build(run, &m);
    ok(find(&m, 0, 2) && find(&m, 0, 2)->count == 2 && find(&m, 0, 2)->bytes == 20,
       "statements are summed up");
    ok(find(&m, 2, 0) && find(&m, 2, 0)->count == 1, "the other way is another pair");
    ok(find(&m, 1, MATRIX_OTHERS) && find(&m, 1, MATRIX_OTHERS)->count == 1, "others");
    ok(find(&m, 1, MATRIX_FOREIGN) && find(&m, 1, MATRIX_FOREIGN)->count == 2,
       "foreign, and a rank that was not monitored");
    ok(m.count == 4, "nothing else");
    matrix_free(&m);
    run_free(run);
}

/* Rank 1 of another world is another process. */
static void test_worlds(void)
{
    struct matrix m;
    run = fixture_new("app", 4, 1);
    for (int i = 2; i < 4; i++) {
        run->ranks[i].world = 1;
        run->ranks[i].rank = i - 2;
    }
    message("MPI_Send", 0, 1, 0);
    message("MPI_Send", 2, 1, 0);
    run_finish(run);
    matrix_build(run, &m);
    ok(find(&m, 0, 1) && find(&m, 2, 3) && m.count == 2, "a peer is of the same world");
    matrix_free(&m);
    run_free(run);
}

/* An all-to-all costs the same with everyone, oneself included. */
static void test_worst(void)
{
    run = fixture_new("app", 2, 1);
    uint32_t node = fixture_statement(run, "MPI_Alltoall", NULL, 0);
    for (int32_t peer = 0; peer < 2; peer++)
        run_add_peer(run, node, 0, peer, 0)->bytes = 10;
    run_finish(run);
    const struct run_peer *worst = query_item(run, node, 1).worst;
    ok(worst && worst->peer == 1, "the worst peer is another rank");
    run_free(run);
    run = fixture_new("app", 2, 1);
    message("MPI_Send", 1, 1, 0);
    run_finish(run);
    worst = query_item(run, run->peers[0].node, 1).worst;
    ok(worst && worst->peer == 1, "unless there is none");
    run_free(run);
}

static void waited(const char *name, uint32_t rank, int32_t peer, double seconds)
{
    uint32_t node = fixture_statement(run, name, NULL, 0);
    run_add_peer(run, node, rank, peer, 1)->sync = seconds;
    run_add_value(run, node, rank)->sync = seconds;
}

static void test_waits(void)
{
    struct matrix m;
    run = fixture_new("app", 3, 1);
    waited("MPI_Barrier", 0, 2, 1);
    waited("MPI_Wait", 0, 2, 3);
    waited("MPI_Bcast", 1, 0, 2);
    waited("MPI_Recv", 2, RUN_PEER_FOREIGN, 0.5);
    waited("MPI_Recv", 2, 1, 0);
    message("MPI_Bcast", 1, 0, 1);
    run_finish(run);
    matrix_waits(run, &m);
    ok(m.count == 3 && find(&m, 0, 2) && find(&m, 0, 2)->time == 4, "waits are summed up");
    ok(find(&m, 0, 2)->most == 3 &&
           !strcmp(run->graph.nodes[find(&m, 0, 2)->node].name, "MPI_Wait"),
       "with the statement that has most of it");
    ok(find(&m, 1, 0) && find(&m, 1, 0)->time == 2 && find(&m, 2, MATRIX_FOREIGN),
       "from who waited to whom it waited for");
    ok(matrix_at(&m, 1, 0) == find(&m, 1, 0) && !matrix_at(&m, 0, 1), "a pair is found");
    matrix_free(&m);
    matrix_build(run, &m);
    ok(m.count == 1 && m.pairs[0].count == 1, "none of them is a message");
    matrix_free(&m);
    ok(!query_item(run, 0, 1).worst, "nor is whom a statement only waited for its worst peer");
    run_free(run);
}

static void test_sentences(void)
{
    struct wait *waits;
    struct strbuf text = {0};
    run = fixture_run("stencil");
    size_t count = waits_list(run, &waits);
    ok(count == 3 && waits[0].sync_s == 6 && waits[0].rank == 3, "statements, by what they waited");
    wait_sentence(run, &waits[0], &text);
    ok(!strcmp(text.text, "MPI_Allreduce solver.c:88: 6.00 s of waiting, 56% of it for rank 3"),
       "as a sentence: %s", text.text);
    strbuf_clear(&text);
    struct wait nobody = {.node = waits[0].node, .sync_s = 0.25, .rank = -1};
    wait_sentence(run, &nobody, &text);
    ok(!strcmp(text.text, "MPI_Allreduce solver.c:88: 250 ms of waiting"), "nobody known: %s",
       text.text);
    strbuf_free(&text);
    free(waits);
    run_free(run);
}

static void test_command(void)
{
    struct strbuf out = {0};
    struct view_options options = {0};
    run = fixture_new("app", 2, 1);
    free(run->command[3]);
    run->command[3] = xstrdup("it's ./größe");
    run_finish(run);
    view_text(run, &options, &out);
    ok(out.text && strstr(out.text, "mpirun -n 2 'it'\\''s ./größe'\n"),
       "a command can be pasted into a shell");
    strbuf_free(&out);
    run_free(run);
}

int main(void)
{
    test_both_ends();
    test_sums();
    test_worlds();
    test_worst();
    test_waits();
    test_sentences();
    test_command();
    return tap_done();
}
