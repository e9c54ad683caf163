/* SPDX-License-Identifier: MIT */
/* Peers of a statement beyond the one it used last: a small hash, then a new record, then the
 * record for all the others. */
#include "runtime/hot.h"
#include "runtime/process.h"

#include <errno.h>
#include <string.h>

static uint32_t peer_hash(int32_t rank, uint32_t direction)
{
    return ((uint32_t)rank * 2 + direction) * 0x9e3779b1u >> 7;
}

static struct peer_slot *find(struct peer_index *x, int32_t rank, uint32_t direction)
{
    uint32_t h = peer_hash(rank, direction) & x->mask;
    while (x->slots[h].record && (x->slots[h].rank != rank || x->slots[h].direction != direction))
        h = (h + 1) & x->mask;
    return &x->slots[h];
}

static bool reserve(struct peer_index *x)
{
    if (x->mask && 2 * (x->count + 1) <= x->mask + 1)
        return true;
    struct peer_index bigger = {.mask = x->mask ? 2 * x->mask + 1 : 7, .count = x->count};
    bigger.slots = arena_alloc((bigger.mask + 1) * sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    memset(bigger.slots, 0, (bigger.mask + 1) * sizeof *bigger.slots);
    for (uint32_t i = 0; x->mask && i <= x->mask; i++)
        if (x->slots[i].record)
            *find(&bigger, x->slots[i].rank, x->slots[i].direction) = x->slots[i];
    x->slots = bigger.slots;
    x->mask = bigger.mask;
    return true;
}

static struct record_peer *new_record(struct thread *t, struct site *site, int32_t rank,
                                      uint32_t direction)
{
    struct record_peer *p = next_record(t, &t->peers, RECORD_KIND_PEERS, sizeof *p);
    if (!p)
        return NULL;
    p->statement = site->index;
    p->rank = rank;
    p->direction = direction;
    record_cursor_publish(&t->peers);
    return p;
}

static struct record_peer *others(struct thread *t, struct site *site, uint32_t direction)
{
    struct record_peer **other = &site->peers.others[direction];
    record_trouble(loupe_process.writer.header, RECORD_TROUBLE_PEERS);
    if (!*other)
        *other = new_record(t, site, RECORD_PEER_OTHERS, direction);
    return *other;
}

void event_near_peer(struct site *site, int32_t rank, int32_t world, uint32_t direction)
{
    struct peer_index *x = &site->peers;
    struct record_peer *p = x->mask ? find(x, world, direction)->record : NULL;
    if (p)
        *near_peer(site, rank, direction) =
            (struct near_peer){.record = p, .rank = rank, .world = world, .tag = NEAR_NONE};
}

void event_near_none(struct site *site)
{
    for (int d = 0; d < RECORD_DIRECTIONS; d++)
        for (int i = 0; i < NEAR_PEERS; i++)
            site->near[d][i].rank = NEAR_NONE;
}

struct record_peer *event_peer_slow(struct thread *t, struct site *site, int32_t rank,
                                    uint32_t direction)
{
    struct peer_index *x = &site->peers;
    struct record_peer *p = NULL;
    if (x->mask) {
        struct peer_slot *slot = find(x, rank, direction);
        p = slot->record;
    }
    uint64_t began = p ? 0 : clock_now();
    if (!p && (x->count >= loupe_process.peers_max || !reserve(x))) {
        int saved = errno;
        p = others(t, site, direction);
        errno = saved;
        return p; /* not remembered as the last peer: it stands for many */
    }
    if (!p) {
        int saved = errno;
        p = new_record(t, site, rank, direction);
        errno = saved;
        if (!p)
            return others(t, site, direction);
        *find(x, rank, direction) = (struct peer_slot){p, rank, direction};
        x->count++;
        event_spent_since(t, began);
    }
    site->last_rank[direction] = rank;
    site->last_peer[direction] = p;
    return p;
}
