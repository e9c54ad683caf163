/* SPDX-License-Identifier: MIT */
/*
 * A random program: random SEED ROUNDS. All ranks draw what is done next from one sequence, so that
 * they agree on it; how long each works, and in which procedure, from one of its own.
 */
#include "unit.h"

#include <string.h>

enum { ROOM = 1 << 18, TURN_NS = 20000, MOST_TURNS = 60 };

static char out[ROOM], in[ROOM];
static uint64_t common, own;
static int round_tag; /* whoever receives from anyone takes what is of this round */

static inline uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static inline void spend(void)
{
    unit_spend((int64_t)draw(&own, MOST_TURNS) * TURN_NS);
}

static void sow(void)
{
    spend();
}

static void reap(void)
{
    spend();
    if (draw(&own, 2))
        sow();
}

static void thresh(int depth)
{
    spend();
    if (depth)
        thresh(depth - 1);
    reap();
}

static void work(void)
{
    switch (draw(&own, 4)) {
    case 0: sow(); break;
    case 1: reap(); break;
    case 2: thresh(1); break;
    default: spend();
    }
}

/* Most are small, some move only when both are there. */
static int size(void)
{
    return draw(&common, 4) ? 1 + (int)draw(&common, 512) : 1 + (int)draw(&common, ROOM);
}

static void message(void)
{
    int from = (int)draw(&common, (uint32_t)unit.ranks), bytes = size();
    int to = (from + 1 + (int)draw(&common, (uint32_t)unit.ranks - 1)) % unit.ranks;
    if (unit.rank == from)
        MPI_Send(out, bytes, MPI_CHAR, to, round_tag, MPI_COMM_WORLD);
    if (unit.rank == to)
        MPI_Recv(in, bytes, MPI_CHAR, MPI_ANY_SOURCE, round_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void shift(void)
{
    int by = 1 + (int)draw(&common, (uint32_t)unit.ranks - 1), bytes = size();
    int overlap = (int)draw(&common, 3);
    MPI_Request requests[2];
    MPI_Irecv(in, bytes, MPI_CHAR, (unit.rank + unit.ranks - by) % unit.ranks, 2, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(out, bytes, MPI_CHAR, (unit.rank + by) % unit.ranks, 2, MPI_COMM_WORLD, &requests[1]);
    if (overlap)
        work();
    if (overlap == 2) {
        for (int done = 0; !done;)
            MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    } else {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void exchange(void)
{
    int by = 1 + (int)draw(&common, (uint32_t)unit.ranks - 1), bytes = size();
    MPI_Sendrecv(out, bytes, MPI_CHAR, (unit.rank + by) % unit.ranks, 3, in, bytes, MPI_CHAR,
                 (unit.rank + unit.ranks - by) % unit.ranks, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void together(void)
{
    int root = (int)draw(&common, (uint32_t)unit.ranks), each = ROOM / unit.ranks / 64;
    switch (draw(&common, 6)) {
    case 0: MPI_Barrier(MPI_COMM_WORLD); break;
    case 1: MPI_Bcast(in, each, MPI_CHAR, root, MPI_COMM_WORLD); break;
    case 2: MPI_Reduce(out, in, each, MPI_CHAR, MPI_BOR, root, MPI_COMM_WORLD); break;
    case 3: MPI_Allreduce(out, in, 8, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD); break;
    case 4: MPI_Alltoall(out, each, MPI_CHAR, in, each, MPI_CHAR, MPI_COMM_WORLD); break;
    default: MPI_Gather(out, each, MPI_CHAR, in, each, MPI_CHAR, root, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 100;
    unit_begin(&argc, &argv);
    common = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    own = common * 1000003 + (uint64_t)unit.rank;
    memset(out, unit.rank, sizeof out);
    for (int i = 0; i < rounds; i++) {
        round_tag = 16 + i;
        work();
        switch (draw(&common, 5)) {
        case 0:
        case 1: message(); break;
        case 2: shift(); break;
        case 3: exchange(); break;
        default: together();
        }
    }
    return unit_end();
}
