/* SPDX-License-Identifier: MIT */
#include "view/query.h"

#include "base/alloc.h"
#include "view/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double query_all_time(const struct run *run)
{
    double sum = 0;
    for (size_t i = 0; i < run->rank_count; i++)
        sum += run_rank_time(&run->ranks[i]);
    return sum;
}

/* Of what not every rank knows, the sum of what is known. */
struct run_rank query_all(const struct run *run)
{
    struct run_rank all = {.preempted_s = NAN, .probe_error_s = NAN};
    for (size_t i = 0; i < run->rank_count; i++) {
        const struct run_rank *r = &run->ranks[i];
        all.real_s += r->real_s;
        all.overhead_s += r->overhead_s;
        all.probe_s += r->probe_s;
        all.mpi_s += r->mpi_s;
        all.sync_s += r->sync_s;
        if (!isnan(r->preempted_s))
            all.preempted_s = r->preempted_s + (isnan(all.preempted_s) ? 0 : all.preempted_s);
        if (!isnan(r->probe_error_s)) /* they are wrong in the same direction, if at all */
            all.probe_error_s =
                r->probe_error_s + (isnan(all.probe_error_s) ? 0 : all.probe_error_s);
        all.events += r->events;
#define X(name, unit, merge) all.name += r->name;
        RECORD_PAIRING_FIELDS(X)
#undef X
    }
    return all;
}

double query_waiting(const struct run *run, const struct query_item *item)
{
    double mpi = item->total.mpi - item->total.outside;
    bool known = mpi > 0 && !run_outside_time(&run->graph.nodes[item->node]);
    return known ? item->total.sync / mpi : NAN;
}

int32_t query_rank(const struct run *run, uint32_t index)
{
    return index < run->rank_count ? run->ranks[index].rank : -1;
}

const struct run_rank *query_longest(const struct run *run)
{
    const struct run_rank *longest = NULL;
    for (size_t i = 0; i < run->rank_count; i++)
        if (!longest || run_rank_time(&run->ranks[i]) > run_rank_time(longest))
            longest = &run->ranks[i];
    return longest;
}

/* "others" is a sum over many and would always win, and a rank's own part of an all-to-all says
 * nothing about whom it waits for; they stand only where nothing else does. */
static int last_resort(const struct run *run, const struct run_peer *p)
{
    return p->peer == RUN_PEER_OTHERS ? 1 : p->peer == run->ranks[p->rank].rank ? 2 : 0;
}

static bool worse(const struct run *run, const struct run_peer *a, const struct run_peer *b)
{
    int last_a = last_resort(run, a), last_b = last_resort(run, b);
    if (last_a != last_b)
        return last_a < last_b;
    return a->time > b->time || (a->time == b->time && a->bytes > b->bytes);
}

static const struct run_peer *worst_peer(const struct run *run, uint32_t node)
{
    size_t count;
    const struct run_peer *peers = run_peers(run, node, &count), *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (peers[i].rank < run->rank_count && run_peer_exchanged(&peers[i]) &&
            (!worst || worse(run, &peers[i], worst)))
            worst = &peers[i];
    return worst;
}

struct query_item query_item(const struct run *run, uint32_t node, double all_time)
{
    struct query_item item = {.node = node, .share = NAN, .min_s = INFINITY, .max_rank = -1};
    size_t count;
    const struct run_value *values = run_values(run, node, &count);
    item.total = (struct run_value){.node = node, .min = INFINITY};
    for (size_t i = 0; i < count; i++) {
        run_value_merge(&item.total, &values[i]);
        item.min_s = fmin(item.min_s, values[i].time);
        if (item.max_rank < 0 || values[i].time > item.max_s) {
            item.max_s = values[i].time;
            item.max_rank = query_rank(run, values[i].rank);
        }
    }
    if (count < run->rank_count || !count)
        item.min_s = 0; /* some rank never came here */
    item.avg_s = run->rank_count ? item.total.time / (double)run->rank_count : 0;
    if (all_time > 0 && !run_outside_time(&run->graph.nodes[node]))
        item.share = item.total.time / all_time;
    item.worst = worst_peer(run, node);
    return item;
}

/* An ordering that never ties, so that a report is the same every time: 1 if a goes first. */
static int compare_by(double a, double b, const struct query_item *x, const struct query_item *y)
{
    if (isnan(x->share) != isnan(y->share))
        return isnan(x->share) ? 1 : -1;
    if (a != b)
        return a > b ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

#define COMPARE(name, member)                                                                      \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const struct query_item *x = a, *y = b;                                                    \
        return compare_by((double)x->total.member, (double)y->total.member, x, y);                 \
    }
COMPARE(by_time, time)
COMPARE(by_count, count)
COMPARE(by_bytes, bytes)
COMPARE(by_max, max)
#undef COMPARE

static int (*const compare[QUERY_SORTS])(const void *, const void *) = {by_time, by_count, by_bytes,
                                                                        by_max};

size_t query_items(const struct run *run, enum graph_kind kind, enum query_sort sort,
                   struct query_item **items)
{
    size_t count = 0, room = 0;
    double all_time = query_all_time(run);
    *items = NULL;
    for (size_t i = 0; i < run->graph.count; i++)
        if (run->graph.nodes[i].kind == kind)
            *VEC_PUSH(*items, count, room) = query_item(run, (uint32_t)i, all_time);
    if (count)
        qsort(*items, count, sizeof **items, compare[sort]);
    return count;
}

size_t query_children(const struct run *run, uint32_t parent, struct query_item **items)
{
    size_t count = 0, room = 0;
    double all_time = query_all_time(run);
    *items = NULL;
    for (size_t i = 0; i < run->graph.count; i++)
        if (run->graph.nodes[i].parent == parent && i != parent)
            *VEC_PUSH(*items, count, room) = query_item(run, (uint32_t)i, all_time);
    if (count)
        qsort(*items, count, sizeof **items, by_time);
    return count;
}

static bool path_ends(const char *path, const char *end)
{
    size_t len = strlen(path), end_len = strlen(end);
    return end_len && end_len <= len && !strcmp(path + len - end_len, end) &&
           (len == end_len || path[len - end_len - 1] == '/' || *end == '/');
}

bool query_same_file(const char *known, const char *asked)
{
    while (!strncmp(asked, "./", 2))
        asked += 2;
    return known && (path_ends(known, asked) || path_ends(asked, known));
}

/* "binary+0x1f3c", with its directories or without, or as a narrow table has it: "bin..+0x1f3c". */
static bool same_address(const struct graph_node *node, const char *asked)
{
    const char *plus = strstr(asked, "+0x"), *name = node->module;
    char offset[32];
    snprintf(offset, sizeof offset, "+0x%" PRIx64, node->offset);
    if (!plus || !name || strcmp(plus, offset))
        return false;
    size_t len = (size_t)(plus - asked);
    if (!memchr(asked, '/', len))
        name = format_base(name);
    if (len >= 2 && !strncmp(plus - 2, "..", 2) && !strncmp(name, asked, len - 2))
        return true;
    return !strncmp(name, asked, len) && !name[len];
}

static bool stands_at(const struct graph_node *node, const char *file, uint32_t line, bool exactly)
{
    if (node->kind == GRAPH_PROGRAM || (node->kind == GRAPH_PROCEDURE && !node->line))
        return false;
    if (line && node->line == line && node->file)
        return exactly ? !strcmp(node->file, file) : query_same_file(node->file, file);
    if (line || exactly || node->line)
        return false;
    return same_address(node, file);
}

size_t query_at(const struct run *run, const char *file, uint32_t line, uint32_t **nodes)
{
    size_t count = 0, room = 0;
    *nodes = NULL;
    for (int exactly = 1; exactly >= 0 && !count; exactly--)
        for (uint32_t i = 0; i < run->graph.count; i++)
            if (stands_at(&run->graph.nodes[i], file, line, exactly))
                *VEC_PUSH(*nodes, count, room) = i;
    return count;
}
