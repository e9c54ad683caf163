/* SPDX-License-Identifier: MIT */
/* run_finish(): whatever order values and peers come in, they are the same afterwards. */
#include "metric/run.h"

#include "base/alloc.h"
#include "lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 23, RANKS = 17, PEERS = 40, ROUNDS = 200 };

static uint64_t state = 1;

static uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

/* Sums by key, the plain way. */
struct sums {
    uint64_t values[NODES][RANKS], peers[NODES][RANKS][2][PEERS];
};

static void add(struct run *run, struct sums *sums, uint32_t node, uint32_t rank, uint32_t received,
                uint32_t peer)
{
    uint64_t count = 1 + below(1000);
    run_add_value(run, node, rank)->count = count;
    sums->values[node][rank] += count;
    run_add_peer(run, node, rank, (int32_t)peer, received)->count = count;
    sums->peers[node][rank][received][peer] += count;
}

static bool after(const struct run_peer *a, const struct run_peer *b)
{
    if (a->node != b->node)
        return b->node > a->node;
    if (a->rank != b->rank)
        return b->rank > a->rank;
    return b->received != a->received ? b->received > a->received : b->peer > a->peer;
}

/* In order, each key once, with its sum. */
static bool right(const struct run *run, const struct sums *sums)
{
    uint64_t all = 0, seen = 0;
    for (size_t i = 0; i < run->value_count; i++) {
        const struct run_value *v = &run->values[i], *last = v - 1;
        if (v->count != sums->values[v->node][v->rank])
            return false;
        if (i && (v->node < last->node || (v->node == last->node && v->rank <= last->rank)))
            return false;
        seen += v->count;
    }
    for (int n = 0; n < NODES; n++)
        for (int r = 0; r < RANKS; r++)
            all += sums->values[n][r];
    if (seen != all)
        return false;
    for (size_t i = 0; i < run->peer_count; i++) {
        const struct run_peer *p = &run->peers[i];
        if (p->count != sums->peers[p->node][p->rank][p->received][p->peer])
            return false;
        if (i && !after(p - 1, p))
            return false;
        seen -= p->count;
    }
    return seen == 0;
}

static void test_random(void)
{
    int good = 0;
    struct sums *sums = xcalloc(1, sizeof *sums);
    for (int round = 0; round < ROUNDS; round++) {
        struct run *run = run_new();
        memset(sums, 0, sizeof *sums);
        for (uint32_t n = below(400); n > 0; n--)
            add(run, sums, below(NODES), below(RANKS), below(2), below(PEERS));
        run_finish(run);
        good += right(run, sums);
        run_free(run);
    }
    ok(good == ROUNDS, "values and peers in any order: %d of %d", good, ROUNDS);
    free(sums);
}

/* Rank by rank, as they are read; each rank's peers begin behind itself, and `turn` comes first. */
static void test_by_rank(uint32_t turn)
{
    struct sums *sums = xcalloc(1, sizeof *sums);
    struct run *run = run_new();
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t node = 0; node < NODES; node++)
            for (uint32_t peer = 0; peer < PEERS; peer++)
                add(run, sums, node, rank, 0, (rank + turn + peer) % PEERS);
    run_finish(run);
    ok(right(run, sums), "rank by rank, %u peers out of order", turn);
    free(sums);
    run_free(run);
}

int main(void)
{
    test_random();
    for (uint32_t turn = 0; turn < PEERS; turn += 13)
        test_by_rank(turn);
    return tap_done();
}
