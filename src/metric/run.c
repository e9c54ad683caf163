/* SPDX-License-Identifier: MIT */
#include "metric/run.h"

#include "base/alloc.h"
#include "graph/unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[RUN_STATES] = {"running", "finished", "exited", "killed",
                                                    "aborted"};

const char *run_state_name(enum run_state state)
{
    return (unsigned)state < RUN_STATES ? state_names[state] : "unknown";
}

int run_state_by_name(const char *name)
{
    for (int i = 0; i < RUN_STATES; i++)
        if (!strcmp(name, state_names[i]))
            return i;
    return -1;
}

static const char *const compensation_names[RUN_COMPENSATIONS] = {"full", "local", "none"};

const char *run_compensation_name(enum run_compensation compensation)
{
    return (unsigned)compensation < RUN_COMPENSATIONS ? compensation_names[compensation]
                                                      : "unknown";
}

int run_compensation_by_name(const char *name)
{
    for (int i = 0; i < RUN_COMPENSATIONS; i++)
        if (!strcmp(name, compensation_names[i]))
            return i;
    return -1;
}

struct run *run_new(void)
{
    return xcalloc(1, sizeof(struct run));
}

void run_free(struct run *run)
{
    if (!run)
        return;
    for (char **arg = run->command; arg && *arg; arg++)
        free(*arg);
    free(run->command);
    free(run->program);
    free(run->mpi);
    free(run->job);
    for (size_t i = 0; i < run->rank_count; i++)
        free(run->ranks[i].host);
    free(run->ranks);
    graph_free(&run->graph);
    free(run->values);
    free(run->peers);
    for (size_t i = 0; i < run->warning_count; i++)
        free(run->warnings[i]);
    free(run->warnings);
    for (size_t i = 0; i < run->path.item_count; i++)
        free(run->path.items[i].name);
    free(run->path.items);
    free(run->path.ranges);
    for (size_t i = 0; i < run->unit_count; i++)
        unit_free(&run->units[i]);
    free(run->units);
    free(run);
}

struct run_rank *run_add_rank(struct run *run)
{
    struct run_rank *rank = VEC_PUSH(run->ranks, run->rank_count, run->rank_room);
    rank->preempted_s = rank->preempted_mpi_s = rank->probe_error_s = NAN;
    rank->clock_error_s = rank->clock_drift = NAN;
    return rank;
}

struct run_value *run_add_value(struct run *run, uint32_t node, uint32_t rank)
{
    struct run_value *v = VEC_PUSH(run->values, run->value_count, run->value_room);
    v->node = node;
    v->rank = rank;
    v->min = INFINITY;
    return v;
}

struct run_peer *run_add_peer(struct run *run, uint32_t node, uint32_t rank, int32_t peer,
                              uint32_t received)
{
    struct run_peer *p = VEC_PUSH(run->peers, run->peer_count, run->peer_room);
    p->node = node;
    p->rank = rank;
    p->peer = peer;
    p->received = received;
    return p;
}

void run_warn(struct run *run, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        return;
    for (size_t i = 0; i < run->warning_count; i++)
        if (!strcmp(run->warnings[i], text)) {
            free(text);
            return;
        }
    *VEC_PUSH(run->warnings, run->warning_count, run->warning_room) = text;
}

#define MERGE_SUM(a, b)     (a) += (b)
#define MERGE_MIN(a, b)     (a) = (b) < (a) ? (b) : (a)
#define MERGE_MAX(a, b)     (a) = (b) > (a) ? (b) : (a)
#define MERGE_SQUARES(a, b) (a) = hypot(a, b)

void run_value_merge(struct run_value *into, const struct run_value *from)
{
#define X(name, unit, merge) MERGE_##merge(into->name, from->name);
    RECORD_VALUE_FIELDS(X)
#undef X
    for (int i = 0; i < RECORD_SIZE_BUCKETS; i++)
        into->sizes[i] += from->sizes[i];
}

void run_peer_merge(struct run_peer *into, const struct run_peer *from)
{
#define X(name, unit, merge) MERGE_##merge(into->name, from->name);
    RECORD_PEER_FIELDS(X)
#undef X
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int compare_values(const void *pa, const void *pb)
{
    const struct run_value *a = pa, *b = pb;
    COMPARE(a->node, b->node);
    COMPARE(a->rank, b->rank);
    return 0;
}

static int compare_peers(const void *pa, const void *pb)
{
    const struct run_peer *a = pa, *b = pb;
    COMPARE(a->node, b->node);
    COMPARE(a->rank, b->rank);
    COMPARE(a->received, b->received);
    COMPARE(a->peer, b->peer);
    return 0;
}

static uint32_t node_of(const char *element)
{
    uint32_t node;
    memcpy(&node, element, sizeof node); /* the first member of both */
    return node;
}

/* Which element belongs where in the order of nodes; those of one node stay in theirs. */
static size_t *sources(const char *array, size_t count, size_t size, size_t nodes)
{
    size_t *start = xcalloc(nodes + 1, sizeof *start);
    size_t *source = xrealloc(NULL, count, sizeof *source);
    for (size_t i = 0; i < count; i++)
        start[node_of(array + i * size) + 1]++;
    for (size_t n = 0; n < nodes; n++)
        start[n + 1] += start[n];
    for (size_t i = 0; i < count; i++)
        source[start[node_of(array + i * size)]++] = i;
    free(start);
    return source;
}

/* Fetches each element from its source, around the circles that they make: a second array would be
 * the most memory that a report needs. `held` has room for one. */
static void move(char *array, size_t count, size_t size, size_t *source, char *held)
{
    for (size_t i = 0; i < count; i++) {
        if (source[i] == i)
            continue;
        size_t at = i;
        memcpy(held, array + i * size, size);
        while (source[at] != i) {
            size_t from = source[at];
            memcpy(array + at * size, array + from * size, size);
            source[at] = at;
            at = from;
        }
        memcpy(array + at * size, held, size);
        source[at] = at;
    }
}

enum { NEAR = 16 };

/* Whether `at` could be put where it belongs, which is near. */
static bool put_back(char *array, size_t at, size_t size, char *held,
                     int (*compare)(const void *, const void *))
{
    size_t to = at;
    while (to && at - to < NEAR && compare(array + (to - 1) * size, array + at * size) > 0)
        to--;
    if (to && compare(array + (to - 1) * size, array + at * size) > 0)
        return false;
    memcpy(held, array + at * size, size);
    memmove(array + (to + 1) * size, array + to * size, (at - to) * size);
    memcpy(array + to * size, held, size);
    return true;
}

/*
 * Orders an array by node, keeping the order within a node: counting, then one copy. Values come
 * in rank by rank, so that this is about all there is to do for a run of any size: a few peers are
 * one or two places off. The comparison sort is for what does not come like this.
 */
static void order(void *array, size_t count, size_t size, size_t nodes,
                  int (*compare)(const void *, const void *))
{
    size_t *source = sources(array, count, size, nodes);
    char *at = array, *held = xcalloc(1, size);
    move(at, count, size, source, held);
    free(source);
    for (size_t i = 1; i < count; i++)
        if (compare(at + (i - 1) * size, at + i * size) > 0 &&
            !put_back(at, i, size, held, compare)) {
            qsort(at, count, size, compare);
            break;
        }
    free(held);
}

static size_t nodes_in(const char *array, size_t count, size_t size)
{
    size_t nodes = 0;
    for (size_t i = 0; i < count; i++)
        if (node_of(array + i * size) >= nodes)
            nodes = (size_t)node_of(array + i * size) + 1;
    return nodes;
}

bool run_peer_exchanged(const struct run_peer *p)
{
    return p->count || p->bytes || p->time != 0;
}

/* What was sent stands before what was received, of one statement and process, each by peer. */
static void join_waits(struct run *run)
{
    struct run_peer *peers = run->peers, last = {0};
    size_t kept = 0, sent = 0;
    for (size_t i = 0; i < run->peer_count; i++) {
        struct run_peer p = peers[i];
        if (p.node != last.node || p.rank != last.rank)
            sent = kept;
        last = p;
        while (p.received && sent < kept && !peers[sent].received && peers[sent].peer < p.peer)
            sent++;
        if (p.received && !run_peer_exchanged(&p) && sent < kept && !peers[sent].received &&
            peers[sent].peer == p.peer)
            run_peer_merge(&peers[sent], &p);
        else
            peers[kept++] = p;
    }
    run->peer_count = kept;
}

void run_finish(struct run *run)
{
    size_t kept = 0, size = sizeof *run->values;
    if (run->value_count) {
        size_t nodes = nodes_in((const char *)run->values, run->value_count, size);
        order(run->values, run->value_count, size, nodes, compare_values);
    }
    for (size_t i = 0; i < run->value_count; i++) {
        if (kept && !compare_values(&run->values[kept - 1], &run->values[i]))
            run_value_merge(&run->values[kept - 1], &run->values[i]);
        else if (kept++ != i)
            run->values[kept - 1] = run->values[i];
    }
    run->value_count = kept;

    kept = 0;
    size = sizeof *run->peers;
    if (run->peer_count) {
        size_t nodes = nodes_in((const char *)run->peers, run->peer_count, size);
        order(run->peers, run->peer_count, size, nodes, compare_peers);
    }
    for (size_t i = 0; i < run->peer_count; i++) {
        if (kept && !compare_peers(&run->peers[kept - 1], &run->peers[i]))
            run_peer_merge(&run->peers[kept - 1], &run->peers[i]);
        else if (kept++ != i)
            run->peers[kept - 1] = run->peers[i];
    }
    run->peer_count = kept;
    join_waits(run);
}

/* First index in an array sorted by node whose node is not below the wanted one. */
static size_t lower_bound(const char *array, size_t count, size_t size, uint32_t node)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint32_t at;
        memcpy(&at, array + middle * size, sizeof at); /* node is the first member */
        if (at < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct run_value *run_values(const struct run *run, uint32_t node, size_t *count)
{
    size_t size = sizeof *run->values;
    size_t first = lower_bound((const char *)run->values, run->value_count, size, node);
    size_t last = lower_bound((const char *)run->values, run->value_count, size, node + 1);
    *count = last - first;
    return run->values + first;
}

const struct run_peer *run_peers(const struct run *run, uint32_t node, size_t *count)
{
    size_t size = sizeof *run->peers;
    size_t first = lower_bound((const char *)run->peers, run->peer_count, size, node);
    size_t last = lower_bound((const char *)run->peers, run->peer_count, size, node + 1);
    *count = last - first;
    return run->peers + first;
}

struct run_value run_total(const struct run *run, uint32_t node)
{
    struct run_value total = {.node = node, .min = INFINITY};
    size_t count;
    const struct run_value *values = run_values(run, node, &count);
    for (size_t i = 0; i < count; i++)
        run_value_merge(&total, &values[i]);
    return total;
}

double run_rank_time(const struct run_rank *rank)
{
    return rank->real_s - rank->overhead_s;
}

double run_rank_compute(const struct run_rank *rank)
{
    double preempted = isnan(rank->preempted_s) ? 0 : rank->preempted_s;
    return run_rank_time(rank) - rank->mpi_s - preempted;
}

double run_rank_transfer(const struct run_rank *rank)
{
    return rank->mpi_s - rank->sync_s;
}

double run_value_transfer(const struct run_value *value)
{
    return value->mpi - value->outside - value->sync;
}

double run_value_compute(const struct run_value *value)
{
    return value->time - value->mpi;
}

double run_peer_transfer(const struct run_peer *peer)
{
    return fmax(peer->time - peer->sync, 0);
}

double run_time(const struct run *run)
{
    double longest = 0;
    for (size_t i = 0; i < run->rank_count; i++)
        longest = fmax(longest, run_rank_time(&run->ranks[i]));
    return longest;
}

struct run_efficiency run_efficiency(const struct run *run)
{
    double sum = 0, most = 0, time = run_time(run);
    for (size_t i = 0; i < run->rank_count; i++) {
        double compute = fmax(run_rank_compute(&run->ranks[i]), 0);
        sum += compute;
        most = fmax(most, compute);
    }
    if (!run->rank_count || time <= 0 || most <= 0)
        return (struct run_efficiency){NAN, NAN, NAN};
    double average = sum / (double)run->rank_count;
    return (struct run_efficiency){
        .parallel = average / time, .load_balance = average / most, .communication = most / time};
}

size_t run_hosts(const struct run *run)
{
    size_t hosts = 0;
    for (size_t i = 0; i < run->rank_count; i++) {
        const char *host = run->ranks[i].host;
        size_t before = 0;
        while (before < i &&
               strcmp(run->ranks[before].host ? run->ranks[before].host : "", host ? host : ""))
            before++;
        hosts += before == i;
    }
    return hosts;
}
