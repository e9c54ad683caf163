/* SPDX-License-Identifier: MIT */
/* At the end of MPI_Init: everybody's board becomes known to everybody, and what headers cost is
 * found out. */
#include "mpi/pair.h"

#include "record/place.h"

#include <stdlib.h>

/* A duplicate of MPI_COMM_WORLD, for traffic of our own; made here because making it is collective.
 */
MPI_Comm shim_twin;
bool shim_twin_known;

enum { BATCHES = 8, TRIES = RING_SLOTS };

/* On a ring of our own: what it costs besides moving the cache line from one core to another. */
void pair_calibrate(void)
{
    size_t bytes = RING_SLOTS * sizeof(struct ring_slot);
    struct ring_slot *slots = pages_alloc(bytes);
    uint64_t publish = UINT64_MAX, take = UINT64_MAX;
    if (!slots)
        return;
    struct ring_out out = {.slots = slots, .next = 1};
    struct ring_in in = {.at = &slots[1], .low = 1, .slots = slots};
    struct stream to = {.out = &out}, from = {.in = &in};
    for (int batch = 0; batch < BATCHES; batch++) {
        struct header h;
        uint64_t begin = clock_now();
        for (int i = 0; i < TRIES; i++)
            stream_publish(&to, begin, i, 0, 8);
        uint64_t middle = clock_now();
        for (int i = 0; i < TRIES; i++)
            (void)stream_take(&from, stream_post(&from), 8, &h);
        uint64_t end = clock_now();
        publish = middle - begin < publish ? middle - begin : publish;
        take = end - middle < take ? end - middle : take;
    }
    pages_free(slots, bytes);
    pair_publish_cost = (int64_t)(publish << RECORD_TIME_SHIFT) / TRIES;
    pair_take_cost = (int64_t)(take << RECORD_TIME_SHIFT) / TRIES;
}

static void know(const struct board_token *all, int size, int rank)
{
    uint64_t nonce = 0;
    for (int i = 0; i < size && !nonce; i++)
        nonce = all[i].nonce;
    comm_world_nonce(nonce);
    if (nonce && !board_know(all, size, rank))
        streams_open(size, rank, shim_multiple);
}

/* All ranks come here or none: it is collective. One that has no board says so. */
void pair_open(bool there)
{
    struct board_token mine = {0};
    int rank = 0, size = 0;
    if (PM(Comm_dup)(ABI_COMM_WORLD, &shim_twin) != MPI_SUCCESS)
        return;
    shim_twin_known = true;
    PM(Comm_rank)(shim_twin, &rank);
    PM(Comm_size)(shim_twin, &size);
    const char *dir = getenv(PLACE_ENV_JOB_DIR);
    if (there && dir)
        board_open(&mine, dir, getenv(PLACE_ENV_SPILL));
    size_t bytes = (size_t)size * sizeof mine;
    struct board_token *all = pages_alloc(bytes);
    int result = MPI_ERR_OTHER;
    if (all)
        result = PM(Allgather)(&mine, (int)sizeof mine, ABI_BYTE, all, (int)sizeof mine, ABI_BYTE,
                               shim_twin);
    if (result == MPI_SUCCESS)
        know(all, size, rank);
    pages_free(all, bytes);
    pair_calibrate();
}

void pair_close(void)
{
    if (shim_twin_known)
        PM(Comm_free)(&shim_twin);
    shim_twin_known = false;
}
