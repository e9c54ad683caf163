/* SPDX-License-Identifier: MIT */
#include "store/sound.h"

#define FOLLOWS(a, b, member)                                                                      \
    if ((a)->member != (b)->member)                                                                \
    return (a)->member < (b)->member

static bool value_follows(const struct run_value *a, const struct run_value *b)
{
    FOLLOWS(a, b, node);
    FOLLOWS(a, b, rank);
    return false;
}

static bool peer_follows(const struct run_peer *a, const struct run_peer *b)
{
    FOLLOWS(a, b, node);
    FOLLOWS(a, b, rank);
    FOLLOWS(a, b, received);
    FOLLOWS(a, b, peer);
    return false;
}

static bool consistent_path(const struct run *run)
{
    const struct run_path *path = &run->path;
    if (!path->known)
        return !path->item_count;
    for (size_t i = 0; i < path->item_count; i++)
        if (path->items[i].node && path->items[i].node >= run->graph.count)
            return false;
    return path->rank < run->rank_count && path->item_count <= RECORD_PATH_ITEMS;
}

bool sound(const struct run *run)
{
    const struct graph *g = &run->graph;
    if ((unsigned)run->compensation >= RUN_COMPENSATIONS)
        return false;
    for (size_t i = 0; i < run->rank_count; i++)
        if ((unsigned)run->ranks[i].state >= RUN_STATES)
            return false;
    for (size_t i = 0; i < g->count; i++)
        if ((unsigned)g->nodes[i].kind >= GRAPH_KINDS ||
            (g->nodes[i].parent != GRAPH_NONE && g->nodes[i].parent >= i))
            return false;
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].node >= g->count || run->values[i].rank >= run->rank_count ||
            (i && !value_follows(&run->values[i - 1], &run->values[i])))
            return false;
    for (size_t i = 0; i < run->peer_count; i++)
        if (run->peers[i].node >= g->count || run->peers[i].rank >= run->rank_count ||
            run->peers[i].received > 1 || run->peers[i].peer < RUN_PEER_FOREIGN ||
            (i && !peer_follows(&run->peers[i - 1], &run->peers[i])))
            return false;
    for (size_t i = 0; i < run->warning_count; i++)
        if (!run->warnings[i])
            return false;
    return consistent_path(run);
}
