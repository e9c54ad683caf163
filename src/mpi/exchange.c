/* SPDX-License-Identifier: MIT */
/* At the end of MPI_Init: everybody's board becomes known to everybody, and what headers cost is
 * found out. */
#include "mpi/pair.h"

#include "mpi/nodes.h"
#include "mpi/together.h"
#include "mpi/twin.h"

#include "record/place.h"

#include <stdlib.h>

/*
 * For traffic of our own with all ranks of the world: MPI_COMM_WORLD itself, as long as MPI_Init
 * has not returned, for nobody else can use it (life_initialized); with several nodes there is more
 * later, on a duplicate. Whoever makes a communicator pays for it in every later call: Open MPI
 * agrees on its number by a nonblocking collective, and looks for progress of such ones from the
 * first on.
 */
static MPI_Comm twin;
static bool twin_made;
static bool opened; /* and not yet closed: another tool's MPI_Init may lead here twice */

static bool twin_make(void)
{
    twin_made = PM(Comm_dup)(ABI_COMM_WORLD, &twin) == MPI_SUCCESS;
    if (twin_made)
        PM(Comm_set_errhandler)(twin, ABI_ERRORS_RETURN);
    return twin_made;
}

enum { BATCHES = 8, TRIES = RING_SLOTS };
enum { FUNNELED = 1 }; /* as the segment has the level of threads */

/* On a ring of our own: what it costs besides moving the cache line from one core to another. */
void pair_calibrate(void)
{
    const struct record_header *h = loupe_process.writer.header;
    mark_close = (uint64_t)(MARK_CLOSE_US * 1000.0 / (h && h->tick_ns > 0 ? h->tick_ns : 1));
    size_t bytes = RING_SLOTS * sizeof(struct ring_slot);
    struct ring_slot *slots = pages_alloc(bytes);
    uint64_t publish = UINT64_MAX, take = UINT64_MAX;
    if (!slots)
        return;
    struct ring_out out = {.slots = slots, .next = 1};
    struct ring_in in = {.at = &slots[ring_at(1)], .low = 1, .slots = slots};
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

struct token {
    struct board_token board;
    uint64_t node; /* nodes_id() */
};

static struct nodes nodes;

/* A file system that nodes share shows the board of a rank on another one, but memory it is not. */
static void know_boards(struct token *all, int size, int rank, const struct record_header *h)
{
    struct board_token *boards = pages_alloc((size_t)size * sizeof *boards);
    for (int i = 0; boards && i < size; i++)
        if (all[i].node == all[rank].node)
            boards[i] = all[i].board;
    if (boards && !board_know(boards, size, rank) && !streams_open(size, rank, shim_multiple) &&
        h && h->thread_level <= FUNNELED)
        streams_alone();
    pages_free(boards, (size_t)size * sizeof *boards);
}

static void know(struct token *all, int size, int rank, uint64_t nonce, struct record_header *h)
{
    comm_world_nonce(nonce);
    if (!nonce)
        return;
    if (nodes.count > 1) {
        clocks_open(twin, &nodes, h);
        twins_open(twin, &nodes, h);
    }
    know_boards(all, size, rank, h);
}

/* What all ranks know alike. False: a duplicate of the world is needed, and cannot be made. */
static bool know_nodes(const struct token *all, int size, uint64_t *nonce)
{
    *nonce = 0;
    for (int i = 0; i < size && !*nonce; i++)
        *nonce = all[i].board.nonce;
    for (int i = 0; i < size && *nonce; i++)
        nodes_add(&nodes, i, all[i].node, all[i].board.nonce);
    return nodes.count <= 1 || twin_make();
}

/*
 * Up to which size a send does not wait for its receive, between neighbours in the world: messages
 * of all sizes are begun, and those that are complete before any receive is posted did not wait.
 * Both are here, so that neither waits for long.
 */
enum { LADDER = 8, LADDER_BYTES = ANSWER_BYTES << (LADDER - 1), LOOKS = 50, LADDER_TAG = 1 };

static void climb(char *out, char *in, int other, uint64_t *eager)
{
    MPI_Request r[LADDER];
    int there[LADDER] = {0};
    MPI_Status status;
    for (int i = 0; i < LADDER; i++)
        PM(Isend)(out, ANSWER_BYTES << i, ABI_BYTE, other, LADDER_TAG, twin, &r[i]);
    for (int look = 0; look < LOOKS; look++)
        for (int i = 0; i < LADDER; i++)
            if (!there[i])
                PM(Test)(&r[i], &there[i], &status);
    for (int i = 0; i < LADDER && there[i]; i++)
        *eager = ANSWER_BYTES << i;
    PM(Barrier)(twin);
    for (int i = 0; i < LADDER; i++)
        PM(Recv)(in, LADDER_BYTES, ABI_BYTE, other, LADDER_TAG, twin, &status);
    for (int i = 0; i < LADDER; i++)
        if (!there[i])
            PM(Wait)(&r[i], &status);
}

/* What one pair has found out is for all: collective, as pair_open. */
static void find_eager_of(char *memory, int rank, int first, int second, uint64_t *eager)
{
    if (rank == first || rank == second)
        climb(memory, memory + LADDER_BYTES, rank == first ? second : first, eager);
    else
        PM(Barrier)(twin);
    PM(Bcast)(eager, (int)sizeof *eager, ABI_BYTE, first, twin);
}

/* The first two neighbours in the world that are on one node; and the first two nodes. */
static void find_eager(char *memory, int size, int rank)
{
    int first = 0;
    while (first + 1 < size && nodes.of[first] != nodes.of[first + 1])
        first++;
    if (first + 1 < size)
        find_eager_of(memory, rank, first, first + 1, &pair_eager);
    if (nodes.count > 1)
        find_eager_of(memory, rank, 0, nodes.leaders[1], &pair_eager_far);
}

/* Collective: all ranks do this, or none. One that has no board says so. */
static void exchange(struct record_header *h, struct token *all, char *memory, int size, int rank)
{
    struct token mine = {.node = nodes_id()};
    uint64_t nonce;
    const char *dir = process_setting(PLACE_ENV_JOB_DIR);
    if (h && dir)
        board_open(&mine.board, dir, process_setting(PLACE_ENV_SPILL));
    if (PM(Allgather)(&mine, (int)sizeof mine, ABI_BYTE, all, (int)sizeof mine, ABI_BYTE, twin) !=
        MPI_SUCCESS)
        return;
    if (!know_nodes(all, size, &nonce))
        return;
    know(all, size, rank, nonce, h);
    find_eager(memory, size, rank);
    pair_calibrate();
}

void pair_open(struct record_header *h)
{
    int rank = 0, size = 0;
    if (opened)
        return;
    PM(Comm_rank)(ABI_COMM_WORLD, &rank);
    PM(Comm_size)(ABI_COMM_WORLD, &size);
    size_t bytes = (size_t)size * sizeof(struct token);
    struct token *all = pages_alloc(bytes);
    char *memory = pages_alloc(2 * (size_t)LADDER_BYTES);
    bool ready = all && memory && !nodes_open(&nodes, size, rank) && !clocks_reserve(size);
    /* Who has no memory says nothing, so that the others do not begin either. */
    opened = ready && together(h, size);
    twin = ABI_COMM_WORLD;
    if (opened)
        exchange(h, all, memory, size, rank);
    else if (h)
        record_trouble(h, RECORD_TROUBLE_APART);
    pages_free(all, bytes);
    pages_free(memory, 2 * (size_t)LADDER_BYTES);
}

void pair_close(void)
{
    struct record_header *h = loupe_process.writer.header;
    if (twin_made) {
        twins_close();
        clocks_close(twin, h);
        PM(Comm_free)(&twin);
    }
    twin_made = opened = false;
}
