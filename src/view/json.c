/* SPDX-License-Identifier: MIT */
/* The run as JSON; the keys are an interface that scripts rely on (docs). */
#include "view/format.h"
#include "view/matrix.h"
#include "view/path.h"
#include "view/query.h"
#include "view/report.h"
#include "view/waits.h"

#include "base/alloc.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_FORMAT = 1, FULL_RANKS = 64, WAITS_MOST = 100, PIECE = 1 << 16 };

#define KEY_COUNT(name) #name
#define KEY_BYTES(name) #name
#define KEY_TICKS(name) #name "_s"
#define PUT_COUNT       json_uint
#define PUT_BYTES       json_uint
#define PUT_TICKS       json_double /* a minimum of nothing is infinite, and null here */

/* An error that nobody knows is null: NAN. */
static void put_estimate(struct json *j, const struct run_value *v)
{
    if (v->estimated)
        json_bool(j, "estimated", true);
    if (v->estimated || v->error != 0)
        json_double(j, "error_s", v->error);
}

/* What is mostly 0 is left out then, as is what is not known of such a node. With a name that the
 * compiler knows this is a comparison or nothing. */
static inline bool is_shown(const char *name, enum graph_kind kind, bool some)
{
    if (!strcmp(name, "real"))
        return some || kind == GRAPH_COMMUNICATION || kind == GRAPH_REGION || kind == GRAPH_PROGRAM;
    if (!strcmp(name, "sync"))
        return kind != GRAPH_REGION;
    if (!strcmp(name, "unknown") || !strcmp(name, "reordered") || !strcmp(name, "uncertain"))
        return some;
    return true;
}

static void value_fields(struct json *j, enum graph_kind kind, const struct run_value *v)
{
#define X(name, unit, merge)                                                                       \
    if (is_shown(#name, kind, v->name != 0))                                                       \
        PUT_##unit(j, KEY_##unit(name), v->name);
    RECORD_STATEMENT_FIELDS(X)
#undef X
    if (kind != GRAPH_REGION)
        json_double(j, "transfer_s", run_value_transfer(v));
    if (v->outside != 0)
        json_double(j, "outside_s", v->outside);
    if (kind != GRAPH_REGION && kind != GRAPH_COMMUNICATION)
        json_double(j, "compute_s", run_value_compute(v));
    put_estimate(j, v);
    if (v->self_error != 0)
        json_double(j, "self_error_s", v->self_error);
    if (v->iterations)
        json_uint(j, "iterations", v->iterations);
}

static void peer_fields(struct json *j, const struct run_peer *p)
{
#define X(name, unit, merge) PUT_##unit(j, KEY_##unit(name), p->name);
    RECORD_PEER_FIELDS(X)
#undef X
    json_double(j, "transfer_s", run_peer_transfer(p));
}

static void put_headers(struct json *j, uint64_t paired, uint64_t missing, uint64_t ambiguous)
{
    json_object_begin(j, "headers");
    json_uint(j, "paired", paired);
    json_uint(j, "missing", missing);
    json_uint(j, "ambiguous", ambiguous);
    json_object_end(j);
}

static void put_run(struct json *j, const struct run *run)
{
    const struct run_rank *longest = query_longest(run);
    char date[FORMAT_ROOM];
    json_object_begin(j, "run");
    json_array_begin(j, "command");
    for (char **arg = run->command; arg && *arg; arg++)
        json_string(j, NULL, *arg);
    json_array_end(j);
    json_string(j, "program", run->program);
    json_string(j, "mpi", run->mpi);
    json_string(j, "job", run->job);
    json_uint(j, "ranks", run->rank_count);
    json_uint(j, "hosts", run_hosts(run));
    json_string(j, "started", run->started_ns > 0 ? format_date(date, run->started_ns) : NULL);
    json_bool(j, "complete", run->complete);
    json_bool(j, "live", run->live);
    json_double(j, "time_s", longest ? run_rank_time(longest) : 0);
    json_double(j, "real_s", longest ? longest->real_s : 0);
    json_double(j, "overhead_s", longest ? longest->overhead_s : 0);
    json_string(j, "compensation", run_compensation_name(run->compensation));
    struct run_rank all = query_all(run);
    put_headers(j, all.paired, all.missing, all.ambiguous);
    json_object_end(j);
}

static void put_rank(struct json *j, const struct run_rank *r)
{
    json_object_begin(j, NULL);
    json_int(j, "rank", r->rank);
    json_int(j, "world", r->world);
    json_int(j, "pid", r->pid);
    json_string(j, "host", r->host);
    json_string(j, "state", run_state_name(r->state));
    json_double(j, "time_s", run_rank_time(r));
    json_double(j, "real_s", r->real_s);
    json_double(j, "overhead_s", r->overhead_s);
    json_double(j, "compute_s", run_rank_compute(r));
    json_double(j, "sync_s", r->sync_s);
    json_double(j, "transfer_s", run_rank_transfer(r));
    json_double(j, "mpi_s", r->mpi_s);
    json_double(j, "probe_s", r->probe_s);
    if (!isnan(r->probe_error_s))
        json_double(j, "probe_error_s", r->probe_error_s);
    if (!isnan(r->preempted_s))
        json_double(j, "preempted_s", r->preempted_s);
    if (!isnan(r->preempted_mpi_s))
        json_double(j, "preempted_mpi_s", r->preempted_mpi_s);
    if (r->clock_error_s > 0) {
        json_double(j, "clock_error_s", r->clock_error_s);
        json_double(j, "clock_drift", r->clock_drift);
        json_uint(j, "headers_carried", r->carried);
    }
    json_double(j, "init_real_s", r->mpi ? r->init_real_s : NAN);
    json_double(j, "finalize_real_s", r->mpi ? r->finalize_real_s : NAN);
    if (r->exit_code >= 0 && (r->state == RUN_EXITED || r->state == RUN_ABORTED))
        json_int(j, "exit_code", r->exit_code);
    else
        json_null(j, "exit_code");
    if (r->signal > 0)
        json_int(j, "signal", r->signal);
    else
        json_null(j, "signal");
    json_uint(j, "events", r->events);
    json_uint(j, "threads", r->threads);
    json_uint(j, "segment_bytes", r->segment_bytes);
    put_headers(j, r->paired, r->missing, r->ambiguous);
    json_object_end(j);
}

static void put_efficiency(struct json *j, const struct run *run)
{
    struct run_efficiency e = run_efficiency(run);
    json_object_begin(j, "efficiency");
    json_double(j, "parallel", e.parallel);
    json_double(j, "load_balance", e.load_balance);
    json_double(j, "communication", e.communication);
    json_object_end(j);
}

static void put_place(struct json *j, const struct graph_node *n)
{
    char offset[24];
    json_string(j, "kind", graph_kind_name(n->kind));
    json_string(j, "name", n->name);
    json_string(j, "file", n->file);
    if (n->line)
        json_uint(j, "line", n->line);
    else
        json_null(j, "line");
    if (n->end_line)
        json_uint(j, "end_line", n->end_line);
    json_string(j, "procedure", n->procedure);
    if (n->linkage)
        json_string(j, "linkage", n->linkage);
    if (n->callee)
        json_uint(j, "callee", n->callee);
    if (n->group)
        json_uint(j, "group", n->group);
    if (n->inlined)
        json_string(j, "inlined", n->inlined);
    if (!n->module)
        return;
    json_string(j, "module", n->module);
    if (n->kind == GRAPH_PROCEDURE)
        return; /* of its statements: it has no address itself */
    snprintf(offset, sizeof offset, "0x%" PRIx64, n->offset);
    json_string(j, "offset", offset);
}

static void put_spread(struct json *j, const struct query_item *item)
{
    json_object_begin(j, "spread");
    json_double(j, "min_s", item->min_s);
    json_double(j, "avg_s", item->avg_s);
    json_double(j, "max_s", item->max_s);
    if (item->max_rank >= 0)
        json_int(j, "max_rank", item->max_rank);
    else
        json_null(j, "max_rank");
    json_object_end(j);
}

static void put_sizes(struct json *j, const struct run_value *total)
{
    if (!total->bytes)
        return;
    json_array_begin(j, "sizes");
    for (int b = 0; b < RECORD_SIZE_BUCKETS; b++) {
        if (!total->sizes[b])
            continue;
        json_object_begin(j, NULL);
        json_uint(j, "from", b ? UINT64_C(1) << (b - 1) : 0);
        json_uint(j, "count", total->sizes[b]);
        json_object_end(j);
    }
    json_array_end(j);
}

/* With several worlds a rank's number is not its name. */
static void put_world(struct json *j, const struct run_rank *rank)
{
    if (rank->world > 0)
        json_int(j, "world", rank->world);
}

static void put_values(struct json *j, const struct run *run, uint32_t node)
{
    size_t count;
    enum graph_kind kind = run->graph.nodes[node].kind;
    const struct run_value *values = run_values(run, node, &count);
    json_array_begin(j, "ranks");
    for (size_t i = 0; i < count; i++) {
        if (values[i].rank >= run->rank_count)
            continue;
        json_object_begin(j, NULL);
        json_int(j, "rank", run->ranks[values[i].rank].rank);
        put_world(j, &run->ranks[values[i].rank]);
        value_fields(j, kind, &values[i]);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_peers(struct json *j, const struct run *run, uint32_t node)
{
    size_t count;
    const struct run_peer *peers = run_peers(run, node, &count);
    json_array_begin(j, "peers");
    for (size_t i = 0; i < count; i++) {
        const struct run_peer *p = &peers[i];
        if (p->rank >= run->rank_count)
            continue;
        json_object_begin(j, NULL);
        json_int(j, "from", run->ranks[p->rank].rank);
        put_world(j, &run->ranks[p->rank]);
        if (p->peer >= 0) {
            json_int(j, "rank", p->peer);
        } else {
            json_null(j, "rank");
            json_bool(j, p->peer == RUN_PEER_FOREIGN ? "foreign" : "others", true);
        }
        json_word(j, "direction", p->received ? "received" : "sent");
        peer_fields(j, p);
        json_object_end(j);
    }
    json_array_end(j);
}

/* Whom a statement waited for most, which stands where its peers do not. */
static void put_wait(struct json *j, const struct run *run, uint32_t node)
{
    struct wait wait = wait_of(run, node);
    if (!(wait.sync_s > 0) || wait.rank < 0)
        return;
    json_object_begin(j, "worst_wait");
    json_int(j, "for", wait.rank);
    if (wait.world > 0)
        json_int(j, "world", wait.world);
    json_double(j, "sync_s", wait.most_s);
    json_object_end(j);
}

/* Of procedures with probes: the statements that call it, and what each has cost. */
static void put_callers(struct json *j, const struct run *run, uint32_t node)
{
    uint32_t *calls;
    size_t count = run_callers(run, node, &calls);
    json_array_begin(j, "callers");
    for (size_t i = 0; i < count; i++) {
        const struct graph_node *n = &run->graph.nodes[calls[i]];
        struct run_value total = run_total(run, calls[i]);
        json_object_begin(j, NULL);
        json_uint(j, "id", calls[i]);
        json_string(j, "name", n->file ? n->procedure : n->name);
        json_string(j, "file", n->file);
        if (n->line)
            json_uint(j, "line", n->line);
        else
            json_null(j, "line");
        json_uint(j, "count", total.count);
        json_double(j, "time_s", total.time);
        put_estimate(j, &total);
        json_object_end(j);
    }
    json_array_end(j);
    free(calls);
}

static void put_members(struct json *j, const struct run *run, uint32_t group)
{
    uint32_t *members;
    size_t count = run_members(run, group, &members);
    json_array_begin(j, "members");
    for (size_t i = 0; i < count; i++) {
        json_object_begin(j, NULL);
        json_uint(j, "id", members[i]);
        json_string(j, "name", run->graph.nodes[members[i]].name);
        json_uint(j, "count", run_total(run, members[i]).count);
        json_object_end(j);
    }
    json_array_end(j);
    free(members);
}

static void put_node(struct json *j, const struct run *run, uint32_t node, double all, bool full)
{
    const struct graph_node *n = &run->graph.nodes[node];
    struct query_item item = query_item(run, node, all);
    json_object_begin(j, NULL);
    json_uint(j, "id", node);
    if (n->parent == GRAPH_NONE)
        json_null(j, "parent");
    else
        json_uint(j, "parent", n->parent);
    put_place(j, n);
    value_fields(j, n->kind, &item.total);
    put_spread(j, &item);
    if (n->kind == GRAPH_COMMUNICATION)
        put_wait(j, run, node);
    put_sizes(j, &item.total);
    if (n->kind == GRAPH_PROCEDURE && (n->line || n->group))
        put_callers(j, run, node);
    if (n->kind == GRAPH_PROCEDURE && n->group == node)
        put_members(j, run, node);
    if (full) {
        put_values(j, run, node);
        if (n->kind == GRAPH_COMMUNICATION)
            put_peers(j, run, node);
    }
    json_object_end(j);
}

/* Who waited how long for whom; of many ranks the worst. */
static void put_waits(struct json *j, const struct run *run, bool full)
{
    struct matrix m;
    matrix_waits(run, &m);
    if (m.count)
        qsort(m.pairs, m.count, sizeof *m.pairs, matrix_longest_first);
    json_array_begin(j, "waits");
    for (size_t i = 0; i < m.count && (full || i < WAITS_MOST); i++) {
        const struct matrix_pair *pair = &m.pairs[i];
        json_object_begin(j, NULL);
        json_int(j, "rank", run->ranks[pair->from].rank);
        put_world(j, &run->ranks[pair->from]);
        if (pair->to >= 0) {
            json_int(j, "for", run->ranks[pair->to].rank);
        } else {
            json_null(j, "for");
            json_bool(j, pair->to == MATRIX_FOREIGN ? "foreign" : "others", true);
        }
        json_double(j, "sync_s", pair->time);
        json_uint(j, "node", pair->node); /* where most of it was */
        json_double(j, "node_sync_s", pair->most);
        json_object_end(j);
    }
    json_array_end(j);
    matrix_free(&m);
}

/* Which nodes --at asks for: the statements there and what is above them. NULL: all. */
static int chosen_nodes(const struct run *run, const struct view_options *options, bool **chosen)
{
    uint32_t *nodes;
    *chosen = NULL;
    if (!options->at_file)
        return 0;
    size_t count = query_at(run, options->at_file, options->at_line, &nodes);
    *chosen = xcalloc(run->graph.count, sizeof **chosen);
    for (size_t i = 0; i < count; i++)
        for (uint32_t at = nodes[i]; at < run->graph.count && !(*chosen)[at];
             at = run->graph.nodes[at].parent)
            (*chosen)[at] = true;
    free(nodes);
    return count ? 0 : -ENOENT;
}

/* Errors stay with the stream, whose owner asks for them in the end. */
static void put_piece(struct strbuf *out, FILE *stream)
{
    if (!stream || out->len < PIECE)
        return;
    fwrite(out->text, 1, out->len, stream);
    strbuf_clear(out);
}

int view_json(const struct run *run, const struct view_options *options, FILE *stream,
              struct strbuf *out)
{
    struct json j = {.out = out};
    double all = query_all_time(run);
    bool full = options->full || run->rank_count <= FULL_RANKS, *chosen;
    int error = chosen_nodes(run, options, &chosen);
    if (error) {
        free(chosen);
        return error;
    }
    json_object_begin(&j, NULL);
    json_object_begin(&j, "loupe");
    json_int(&j, "format", JSON_FORMAT);
    json_string(&j, "version", LOUPE_VERSION);
    json_object_end(&j);
    put_run(&j, run);
    json_array_begin(&j, "ranks");
    for (size_t i = 0; i < run->rank_count; i++)
        put_rank(&j, &run->ranks[i]);
    json_array_end(&j);
    put_efficiency(&j, run);
    json_array_begin(&j, "graph");
    for (uint32_t i = 0; i < run->graph.count; i++) {
        if (!chosen || chosen[i])
            put_node(&j, run, i, all, full);
        put_piece(out, stream);
    }
    json_array_end(&j);
    put_waits(&j, run, full);
    path_json(&j, run);
    json_array_begin(&j, "warnings");
    for (size_t i = 0; i < run->warning_count; i++)
        json_string(&j, NULL, run->warnings[i]);
    json_array_end(&j);
    json_object_end(&j);
    strbuf_putc(out, '\n');
    free(chosen);
    return 0;
}
