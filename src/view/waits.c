/* SPDX-License-Identifier: MIT */
#include "view/waits.h"

#include "base/alloc.h"
#include "view/format.h"
#include "view/parts.h"

#include <stdlib.h>

/* Somebody that a statement waited for. */
struct reason {
    int32_t world, rank;
    double sync;
};

static int by_whom(const void *pa, const void *pb)
{
    const struct reason *a = pa, *b = pb;
    if (a->world != b->world)
        return a->world < b->world ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

struct wait wait_of(const struct run *run, uint32_t node)
{
    size_t count, reasons = 0;
    struct wait wait = {.node = node, .rank = -1};
    const struct run_value *values = run_values(run, node, &count);
    for (size_t i = 0; i < count; i++)
        wait.sync_s += values[i].sync;
    if (!(wait.sync_s > 0))
        return wait;
    const struct run_peer *peers = run_peers(run, node, &count);
    struct reason *list = xcalloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++)
        if (peers[i].rank < run->rank_count && peers[i].peer >= 0 && peers[i].sync > 0)
            list[reasons++] =
                (struct reason){run->ranks[peers[i].rank].world, peers[i].peer, peers[i].sync};
    if (reasons)
        qsort(list, reasons, sizeof *list, by_whom);
    for (size_t i = 0, next; i < reasons; i = next) {
        double sum = 0;
        for (next = i; next < reasons && !by_whom(&list[i], &list[next]); next++)
            sum += list[next].sync;
        if (sum > wait.most_s) {
            wait.most_s = sum;
            wait.world = list[i].world;
            wait.rank = list[i].rank;
        }
    }
    free(list);
    return wait;
}

static int most_first(const void *pa, const void *pb)
{
    const struct wait *a = pa, *b = pb;
    if (a->sync_s != b->sync_s)
        return a->sync_s > b->sync_s ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

size_t waits_list(const struct run *run, struct wait **waits)
{
    size_t count = 0, room = 0;
    *waits = NULL;
    for (uint32_t i = 0; i < run->graph.count; i++) {
        const struct graph_node *n = &run->graph.nodes[i];
        if (n->kind != GRAPH_COMMUNICATION || run_outside_time(n))
            continue;
        struct wait wait = wait_of(run, i);
        if (wait.sync_s > 0)
            *VEC_PUSH(*waits, count, room) = wait;
    }
    if (count)
        qsort(*waits, count, sizeof **waits, most_first);
    return count;
}

void wait_sentence(const struct run *run, const struct wait *wait, struct strbuf *text)
{
    const struct graph_node *n = &run->graph.nodes[wait->node];
    char *where = format_where(n), time[FORMAT_ROOM], rank[FORMAT_ROOM];
    strbuf_printf(text, "%s%s%s: %s of waiting", n->name ? n->name : "?", *where ? " " : "", where,
                  format_time(time, wait->sync_s));
    struct run_rank whom = {.world = wait->world, .rank = wait->rank};
    if (wait->rank >= 0)
        strbuf_printf(text, ", %.0f%% of it for rank %s", 100 * wait->most_s / wait->sync_s,
                      format_rank(rank, &whom));
    free(where);
}

struct doubt {
    uint64_t (*number)(const struct run_value *v);
    const char *noun;    /* follows the number, */
    const char *what;    /* and this follows it */
    const char *meaning; /* once, below them */
};

static uint64_t reordered(const struct run_value *v)
{
    return v->reordered;
}

static uint64_t uncertain(const struct run_value *v)
{
    return v->uncertain;
}

static uint64_t unknown(const struct run_value *v)
{
    return v->unknown;
}

static const struct doubt doubts[] = {
    {reordered, "receive", "from any source that took another message than without Loupe",
     "A receive from any source takes what comes first, and probes delay senders by different "
     "amounts: what the program does from there on may differ from a run without Loupe."},
    {uncertain, "execution", "whose waiting is not sure",
     "Not sure is an execution of which a partner's moment or delay was not known when it ended; "
     "the delay stays then as it was."},
    {unknown, "message", "without header",
     "Without its header it is not known when a message was sent: waiting for it counts as "
     "transfer."},
};

/* One line a statement, most of them first, then what it means. */
void part_doubts(const struct part *p, size_t most)
{
    for (size_t d = 0; d < sizeof doubts / sizeof *doubts; d++) {
        struct query_item *items;
        size_t all = query_items(p->run, GRAPH_COMMUNICATION, QUERY_TIME, &items), count = 0;
        for (size_t i = 0; i < all; i++) {
            uint64_t number = doubts[d].number(&items[i].total);
            char text[FORMAT_ROOM];
            if (!number || count++ >= most)
                continue;
            char *where = format_where(&p->run->graph.nodes[items[i].node]);
            const char *name = p->run->graph.nodes[items[i].node].name;
            struct strbuf line = {0};
            strbuf_printf(&line, "%s%s%s: %s %s%s %s", name ? name : "?", *where ? " " : "", where,
                          format_number(text, number), doubts[d].noun, number == 1 ? "" : "s",
                          doubts[d].what);
            strbuf_puts(p->out, count == 1 ? "\n" : "");
            part_note(p, line.text);
            strbuf_free(&line);
            free(where);
        }
        part_more(p, most, count, "statements like that (--full shows them)");
        if (count)
            part_note(p, doubts[d].meaning);
        free(items);
    }
}
