/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void command(struct run *run, const char *const *arguments, size_t count)
{
    run->command = xcalloc(count + 1, sizeof *run->command);
    for (size_t i = 0; i < count; i++)
        run->command[i] = xstrdup(arguments[i]);
}

static void add_odd_ranks(struct run *run)
{
    struct run_rank *rank = run_add_rank(run);
    *rank = (struct run_rank){.rank = 0,
                              .pid = 4711,
                              .mpi = true,
                              .state = RUN_FINISHED,
                              .exit_code = -1,
                              .host = xstrdup("n1"),
                              .real_s = 12.5,
                              .overhead_s = 0.1,
                              .probe_s = 1e-300,
                              .probe_error_s = NAN,
                              .init_real_s = 1.0 / 3,
                              .finalize_real_s = 5,
                              .mpi_s = 3.5000000000000004,
                              .sync_s = -1e-9,
                              .preempted_s = 0.25,
                              .preempted_mpi_s = 0.125,
                              .clock_error_s = 1e-5,
                              .clock_drift = -5e-5,
                              .carried = 77,
                              .paired = UINT64_MAX,
                              .missing = 1,
                              .ambiguous = (uint64_t)1 << 63,
                              .events = UINT64_MAX,
                              .threads = 1,
                              .segment_bytes = (uint64_t)1 << 63};
    rank = run_add_rank(run);
    *rank = (struct run_rank){.rank = INT32_MAX,
                              .world = 3,
                              .pid = 1,
                              .state = RUN_KILLED,
                              .exit_code = INT32_MIN,
                              .signal = 9,
                              .real_s = NAN,
                              .overhead_s = INFINITY,
                              .preempted_s = NAN,
                              .preempted_mpi_s = NAN};
    rank = run_add_rank(run);
    *rank = (struct run_rank){.rank = -1, .state = RUN_ABORTED, .host = xstrdup("")};
}

static void add_odd_nodes(struct run *run)
{
    graph_add(&run->graph, &(struct graph_node){.parent = GRAPH_NONE, .name = "app"});
    graph_add(&run->graph, &(struct graph_node){.parent = 0,
                                                .kind = GRAPH_COMMUNICATION,
                                                .name = "MPI_Send",
                                                .file = "src/a \"quoted\" file.c",
                                                .line = UINT32_MAX,
                                                .procedure = "na\xc3\xafve",
                                                .inlined = "a.c:12 < main.c:80",
                                                .module = "/bin/\xff\xfe",
                                                .build_id = "00ff",
                                                .offset = UINT64_MAX});
    graph_add(&run->graph, &(struct graph_node){.parent = 1, .kind = GRAPH_REGION, .name = ""});
    graph_add(&run->graph, &(struct graph_node){.parent = GRAPH_NONE, .kind = GRAPH_PROCEDURE});
    graph_add(&run->graph, &(struct graph_node){.kind = GRAPH_CALL, .name = "f", .callee = 6});
    graph_add(&run->graph,
              &(struct graph_node){.kind = GRAPH_PROCEDURE, .name = "f+g", .group = 5});
    graph_add(&run->graph, &(struct graph_node){.parent = 5,
                                                .kind = GRAPH_PROCEDURE,
                                                .name = "f",
                                                .line = 7,
                                                .end_line = UINT32_MAX,
                                                .linkage = "_Z1fv@00ff",
                                                .group = 5});
}

static void add_odd_path(struct run_path *path)
{
    *path = (struct run_path){.known = true, .on = true, .generation = UINT32_MAX, .since_s = NAN};
    path->length_s = 0.1 + 0.2;
    path->mpi_s = -0.0;
    path->cpu_s = INFINITY;
    path->covered = 1;
    path->complete = true;
    path->top = 10;
    path->rank = 2;
    path->strip_s = 5e-324;
    for (int i = 0; i < RECORD_PATH_STRIP; i++)
        path->strip[i] = i % 3 ? i * 1000000 : -1;
    for (uint32_t i = 0; i < RECORD_PATH_ITEMS; i++) {
        struct run_path_item *item = VEC_PUSH(path->items, path->item_count, path->item_room);
        item->node = i % 3;
        item->name = i % 3 ? NULL : xstrdup(i ? "x\xff" : "");
        item->share_s = i;
        item->exclusive_s = i / 2.0;
        item->zeroed_s = -1.0 / 3;
        item->cpu_s = i % 2 ? NAN : 7;
    }
}

struct run *sample_odd(void)
{
    struct run *run = run_new();
    command(run, (const char *const[]){"mpirun", "", "a b", "x\xff\x80y", "'\"\\\n"}, 5);
    run->program = xstrdup("app");
    run->job = xstrdup("");
    run->started_ns = 1769860800123456789;
    run->live = true;
    add_odd_ranks(run);
    add_odd_nodes(run);

    struct run_value *v = run_add_value(run, 1, 0);
    v->count = UINT64_MAX;
    v->time = 0.1 + 0.2;
    v->self = -0.0;
    v->min = 5e-324;
    v->max = 1.7976931348623157e308;
    v->bytes = (uint64_t)1 << 63;
    for (int i = 0; i < RECORD_SIZE_BUCKETS; i += 13)
        v->sizes[i] = UINT64_MAX - (uint64_t)i;
    run_add_value(run, 1, 2)->time = NAN; /* and min is infinite */
    for (uint32_t rank = 0; rank < 3; rank++)
        run_add_value(run, 2, rank)->sizes[RECORD_SIZE_BUCKETS - 1] = rank;

    v = run_add_value(run, 4, 1);
    v->count = 5;
    v->time = 2;
    v->error = NAN; /* estimated, nobody knows how well */
    v->self_error = 1e-9;
    v->estimated = 4;
    v = run_add_value(run, 6, 0);
    v->iterations = UINT64_MAX;
    run_add_peer(run, 1, 0, RUN_PEER_OTHERS, 0)->count = 3;
    run_add_peer(run, 1, 0, RUN_PEER_FOREIGN, 0)->bytes = UINT64_MAX;
    run_add_peer(run, 1, 0, INT32_MAX, 1)->time = 1.0 / 3;
    run_add_peer(run, 1, 2, 0, 1)->time = INFINITY;
    add_odd_path(&run->path);
    run_warn(run, "rank %d was killed", 1);
    run_warn(run, "%s", "");
    run_finish(run);
    return run;
}

struct run *sample_large(size_t ranks, size_t nodes)
{
    struct run *run = run_new();
    command(run, (const char *const[]){"mpirun", "./app"}, 2);
    run->program = xstrdup("app");
    run->mpi = xstrdup("Open MPI 4.1.4");
    run->complete = true;
    for (size_t i = 0; i < ranks; i++) {
        struct run_rank *rank = run_add_rank(run);
        *rank = (struct run_rank){.rank = (int32_t)i, .mpi = true, .state = RUN_FINISHED};
        rank->host = xasprintf("n%zu", i / 64);
        rank->real_s = (double)(next_random() >> 20) * 1e-9;
    }
    graph_add(&run->graph, &(struct graph_node){.parent = GRAPH_NONE, .name = "app"});
    for (size_t node = 1; node < nodes; node++) {
        graph_add(&run->graph, &(struct graph_node){.kind = GRAPH_COMMUNICATION,
                                                    .name = "MPI_Allreduce",
                                                    .file = "app.c",
                                                    .line = (uint32_t)node,
                                                    .procedure = "main"});
        for (size_t rank = 0; rank < ranks; rank++) {
            struct run_value *v = run_add_value(run, (uint32_t)node, (uint32_t)rank);
            v->count = 1000 + next_random() % 4;
            v->time = v->self = (double)(next_random() >> 30) * 1e-9;
            v->min = (double)(next_random() >> 50) * 1e-9;
            v->max = (double)(next_random() >> 44) * 1e-9;
            v->bytes = v->count * 8;
            v->sizes[4] = v->count;
        }
    }
    run_finish(run);
    return run;
}

static int same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && !strcmp(a, b));
}

static int same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static const char *rank_difference(const struct run_rank *a, const struct run_rank *b)
{
    if (!same_text(a->host, b->host))
        return "a rank's host";
    if (a->rank != b->rank || a->world != b->world || a->pid != b->pid || a->mpi != b->mpi ||
        a->state != b->state || a->exit_code != b->exit_code || a->signal != b->signal)
        return "a rank's identity or state";
    if (!same_real(a->real_s, b->real_s) || !same_real(a->overhead_s, b->overhead_s) ||
        !same_real(a->probe_s, b->probe_s) || !same_real(a->init_real_s, b->init_real_s) ||
        !same_real(a->finalize_real_s, b->finalize_real_s) || !same_real(a->mpi_s, b->mpi_s) ||
        !same_real(a->sync_s, b->sync_s) || !same_real(a->preempted_s, b->preempted_s) ||
        !same_real(a->preempted_mpi_s, b->preempted_mpi_s) ||
        !same_real(a->clock_error_s, b->clock_error_s) ||
        !same_real(a->clock_drift, b->clock_drift) ||
        !same_real(a->probe_error_s, b->probe_error_s))
        return "a rank's times";
    return a->carried != b->carried || a->events != b->events || a->threads != b->threads ||
                   a->segment_bytes != b->segment_bytes || a->paired != b->paired ||
                   a->missing != b->missing || a->ambiguous != b->ambiguous
               ? "a rank's counts"
               : NULL;
}

static const char *node_difference(const struct graph_node *a, const struct graph_node *b)
{
    if (a->parent != b->parent || a->kind != b->kind || a->line != b->line ||
        a->offset != b->offset || a->end_line != b->end_line || a->callee != b->callee ||
        a->group != b->group)
        return "a node's numbers";
    return same_text(a->name, b->name) && same_text(a->file, b->file) &&
                   same_text(a->procedure, b->procedure) && same_text(a->linkage, b->linkage) &&
                   same_text(a->inlined, b->inlined) && same_text(a->module, b->module) &&
                   same_text(a->build_id, b->build_id)
               ? NULL
               : "a node's texts";
}

static const char *head_difference(const struct run *a, const struct run *b)
{
    if (!same_text(a->program, b->program) || !same_text(a->mpi, b->mpi) ||
        !same_text(a->job, b->job))
        return "program, MPI or job";
    if (a->compensation != b->compensation)
        return "compensation";
    if (a->started_ns != b->started_ns || a->complete != b->complete || a->live != b->live)
        return "start, complete or live";
    if (!a->command != !b->command)
        return "whether there is a command";
    for (size_t i = 0; a->command && (a->command[i] || b->command[i]); i++)
        if (!same_text(a->command[i], b->command[i]))
            return "the command";
    return NULL;
}

static const char *path_difference(const struct run_path *a, const struct run_path *b)
{
    if (a->known != b->known || a->item_count != b->item_count)
        return "whether there is a path, or its items";
    if (!a->known)
        return NULL;
    if (a->on != b->on || a->searching != b->searching || a->complete != b->complete ||
        a->generation != b->generation || a->top != b->top || a->rank != b->rank ||
        !same_real(a->since_s, b->since_s) || !same_real(a->length_s, b->length_s) ||
        !same_real(a->mpi_s, b->mpi_s) || !same_real(a->cpu_s, b->cpu_s) ||
        !same_real(a->covered, b->covered) || !same_real(a->strip_s, b->strip_s))
        return "the path";
    if (memcmp(a->strip, b->strip, sizeof a->strip) != 0)
        return "the path's strip";
    for (size_t i = 0; i < a->item_count; i++) {
        const struct run_path_item *x = &a->items[i], *y = &b->items[i];
        if (x->node != y->node || !same_text(x->name, y->name) ||
            !same_real(x->share_s, y->share_s) || !same_real(x->exclusive_s, y->exclusive_s) ||
            !same_real(x->zeroed_s, y->zeroed_s) || !same_real(x->cpu_s, y->cpu_s))
            return "an item of the path";
    }
    return NULL;
}

/* Values and peers have no pointers, and no padding as long as this holds: compared bit by bit. */
_Static_assert(sizeof(struct run_value) == 8 + 17 * 8 + RECORD_SIZE_BUCKETS * 8, "no padding");
_Static_assert(sizeof(struct run_peer) == 16 + 4 * 8, "no padding");

const char *sample_difference(const struct run *a, const struct run *b)
{
    const char *difference = head_difference(a, b);
    if (a->rank_count != b->rank_count || a->graph.count != b->graph.count ||
        a->value_count != b->value_count || a->peer_count != b->peer_count ||
        a->warning_count != b->warning_count)
        return "a count";
    for (size_t i = 0; !difference && i < a->rank_count; i++)
        difference = rank_difference(&a->ranks[i], &b->ranks[i]);
    for (size_t i = 0; !difference && i < a->graph.count; i++)
        difference = node_difference(&a->graph.nodes[i], &b->graph.nodes[i]);
    for (size_t i = 0; !difference && i < a->warning_count; i++)
        if (!same_text(a->warnings[i], b->warnings[i]))
            difference = "a warning";
    if (!difference && a->value_count &&
        memcmp(a->values, b->values, a->value_count * sizeof *a->values) != 0)
        difference = "a value";
    if (!difference && a->peer_count &&
        memcmp(a->peers, b->peers, a->peer_count * sizeof *a->peers) != 0)
        difference = "a peer";
    return difference ? difference : path_difference(&a->path, &b->path);
}
