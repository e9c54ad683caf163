/* SPDX-License-Identifier: MIT */
/* Ids of communicators. Every rank is a process of its own here: they share no counter. */
#include "mpi/identity.h"

#include "lib/tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, IDS = 64 };

static uint64_t (*ids)[IDS]; /* of each rank, by the name that the tests give a communicator */
static uint64_t world;

static void on_all_ranks(void (*program)(int rank, uint64_t *id))
{
    memset(ids, 0, RANKS * sizeof *ids);
    for (int rank = 0; rank < RANKS; rank++) {
        pid_t child = fork();
        if (child == 0) {
            program(rank, ids[rank]);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        if (child < 0 || status != 0)
            ok(0, "rank %d runs", rank);
    }
}

/* Ranks of `who` (a bit each) agree, on something that is known. */
static bool agree(unsigned who, int name)
{
    uint64_t id = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        if (!(who >> rank & 1))
            continue;
        if (!ids[rank][name] || (id && ids[rank][name] != id))
            return false;
        id = ids[rank][name];
    }
    return id;
}

static bool all_differ(int count)
{
    uint64_t seen[RANKS * IDS];
    int n = 0;
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < count; i++) {
            if (!ids[rank][i])
                continue;
            for (int k = 0; k < n; k++)
                if (seen[k] == ids[rank][i])
                    return false;
            seen[n++] = ids[rank][i];
        }
    return n > 0;
}

static uint64_t members(const int32_t *ranks, int count)
{
    return identity_members(IDENTITY_MEMBERS, ranks, count);
}

static void test_predefined(void)
{
    ok(world && identity_world(7) == world, "the world's id is its nonce's");
    ok(identity_world(8) != world, "another world, another id");
    bool differ = true;
    for (int32_t a = 0; a < 100; a++) {
        differ = differ && identity_self(world, a) && identity_self(world, a) != world;
        for (int32_t b = 0; b < a; b++)
            differ = differ && identity_self(world, a) != identity_self(world, b);
    }
    ok(differ, "MPI_COMM_SELF is each rank's own");
    ok(!identity_self(world, -1) && !identity_self(0, 1), "unknown without world or rank");
}

enum { DUP_1, SPLIT_1, SPLIT_2, EVEN_DUP, DUP_2, INTER_1, INTER_2 };

/* By all of the world: a duplicate, two splits by parity, in between a duplicate by the even ones
 * of theirs, a second duplicate; then an intercommunicator between the halves. */
static void children(int rank, uint64_t *id)
{
    uint64_t number = 0, number_in_half = 0;
    int32_t first = rank % 2, other = 1 - rank % 2;
    id[DUP_1] = identity_child(world, ++number, 0, IDENTITY_NOBODY);
    id[SPLIT_1] = identity_child(world, ++number, first, IDENTITY_NOBODY);
    if (rank % 2 == 0)
        id[EVEN_DUP] = identity_child(id[SPLIT_1], ++number_in_half, 0, IDENTITY_NOBODY);
    id[SPLIT_2] = identity_child(world, ++number, first, IDENTITY_NOBODY);
    id[DUP_2] = identity_child(world, ++number, 0, IDENTITY_NOBODY);
    id[INTER_1] = identity_child(id[DUP_1], 1, first, other);
    id[INTER_2] = identity_child(id[DUP_1], 2, first, other);
}

static void test_children(void)
{
    on_all_ranks(children);
    for (int name = 0; name <= INTER_2; name++)
        if (name == SPLIT_1 || name == SPLIT_2)
            ok(agree(0x5, name) && agree(0xa, name) && ids[0][name] != ids[1][name],
               "split %d: each half agrees, and they differ", name);
        else
            ok(agree(name == EVEN_DUP ? 0x5 : 0xf, name), "communicator %d: all agree", name);
    for (int rank = 1; rank < RANKS; rank++) { /* one of each, and both halves of the splits */
        for (int name = 0; name <= INTER_2; name++)
            if (rank > 1 || (name != SPLIT_1 && name != SPLIT_2))
                ids[rank][name] = 0;
    }
    ok(all_differ(INTER_2 + 1), "no two communicators have the same id");
    ok(!identity_child(0, 1, 0, IDENTITY_NOBODY), "of an unknown one: unknown");
    ok(!identity_child(world, 1, -2, IDENTITY_NOBODY) && !identity_child(world, 1, 0, -2),
       "with members of another world: unknown");
}

enum { PAIR_1, PAIR_2, PAIR_TAG, TRIPLE, PAIR_AGAIN, TURNED, OF_DUP };

/* {0, 1} twice with one tag, once with another; {0, 1, 2}, of which rank 1 takes part before its
 * second pair and the others after it, which tags and groups allow. */
static void groups(int rank, uint64_t *id)
{
    const int32_t pair[] = {0, 1}, turned[] = {1, 0}, triple[] = {0, 1, 2};
    bool in_pair = rank < 2;
    if (rank == 3)
        return;
    if (in_pair)
        id[PAIR_1] = identity_group(world, members(pair, 2), 5);
    if (rank == 1)
        id[TRIPLE] = identity_group(world, members(triple, 3), 5);
    if (in_pair)
        id[PAIR_2] = identity_group(world, members(pair, 2), 5);
    if (rank != 1)
        id[TRIPLE] = identity_group(world, members(triple, 3), 5);
    if (in_pair) {
        id[PAIR_TAG] = identity_group(world, members(pair, 2), 6);
        id[PAIR_AGAIN] = identity_group(world, members(pair, 2), 5);
        id[TURNED] = identity_group(world, members(turned, 2), 5);
        id[OF_DUP] = identity_group(identity_child(world, 1, 0, -1), members(pair, 2), 5);
    }
}

static void test_groups(void)
{
    on_all_ranks(groups);
    for (int name = 0; name <= OF_DUP; name++)
        ok(agree(name == TRIPLE ? 0x7 : 0x3, name), "group %d: its members agree", name);
    memset(ids[1], 0, 3 * sizeof *ids);
    ok(all_differ(OF_DUP + 1), "same group and tag again, other order, tag or parent: another id");
    const int32_t foreign[] = {0, -2, 1}, one = 3;
    ok(!members(foreign, 3) && !identity_members(members(foreign, 2), &one, 1),
       "a group with a member of another world is unknown");
    const int32_t many[] = {4, 2, 0, 1, 3};
    ok(identity_members(members(many, 2), many + 2, 3) == members(many, 5),
       "members can be given in parts");
    ok(!identity_group(0, members(many, 5), 0) && !identity_group(world, 0, 0),
       "of unknown parent or members: unknown");
}

enum { INTER_A, INTER_B, INTER_TAG, INTER_THREE };

/* Each side names itself first. */
static void intercommunicators(int rank, uint64_t *id)
{
    const int32_t low[] = {0, 2}, high[] = {1, 3}, three[] = {1, 2, 3}, zero = 0;
    uint64_t ours = members(rank % 2 ? high : low, 2), theirs = members(rank % 2 ? low : high, 2);
    id[INTER_A] = identity_inter(world, ours, theirs, 1);
    id[INTER_B] = identity_inter(world, ours, theirs, 1);
    id[INTER_TAG] = identity_inter(world, ours, theirs, 2);
    ours = rank ? members(three, 3) : members(&zero, 1);
    theirs = rank ? members(&zero, 1) : members(three, 3);
    id[INTER_THREE] = identity_inter(world, ours, theirs, 1);
}

static void test_intercommunicators(void)
{
    on_all_ranks(intercommunicators);
    for (int name = 0; name <= INTER_THREE; name++)
        ok(agree(0xf, name), "intercommunicator %d: both sides agree", name);
    memset(ids[1], 0, 3 * sizeof *ids);
    ok(all_differ(INTER_THREE + 1), "no two intercommunicators have the same id");
    ok(!identity_inter(world, 0, 5, 1) && !identity_inter(world, 5, 0, 1) &&
           !identity_inter(0, 5, 6, 1),
       "unknown groups or world: unknown");
}

/* 0: a parent whose counters go when it goes never fills the table. 1, 2, 3: the table is full, and
 * what was counted goes on, but nothing new. */
static void many(int rank, uint64_t *id)
{
    const int32_t one = 1;
    uint64_t group = members(&one, 1), kept = identity_group(world, group, -1);
    bool known = kept != 0;
    for (int i = 1; i < 3 * IDENTITY_COUNTERS && rank == 0; i++) {
        uint64_t parent = identity_child(world, (uint64_t)i, 0, IDENTITY_NOBODY);
        known = known && identity_group(parent, group, 1) && identity_group(parent, group, 2);
        identity_forget(parent);
    }
    for (int i = 1; i < IDENTITY_COUNTERS && rank > 0; i++)
        known = known && identity_group(world + 1, group, i);
    id[0] = known;
    id[2] = identity_group(world, group, -1) != 0 && identity_group(world, group, -1) != kept;
    if (rank == 0)
        return;
    id[3] = identity_group(world, group, IDENTITY_COUNTERS);
    id[4] = identity_inter(world, 5, 6, 1);
    identity_forget(world + 1);
    id[5] = identity_group(world, group, IDENTITY_COUNTERS);
    id[6] = identity_group(world, group, -1) != 0;
}

static void test_many(void)
{
    on_all_ranks(many);
    ok(ids[0][0], "counters of what is gone make room");
    ok(ids[0][2], "what was counted for the world stays");
    ok(ids[1][0], "as many groups and tags as there are counters");
    ok(ids[1][2], "the full table counts on for those it has");
    ok(!ids[1][3] && !ids[1][4], "one more is unknown");
    ok(!ids[1][5] && ids[1][6], "and stays unknown when there is room, as it was not counted");
}

int main(void)
{
    world = identity_world(7);
    ids =
        mmap(NULL, RANKS * sizeof *ids, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ids == MAP_FAILED)
        return 1;
    test_predefined();
    test_children();
    test_groups();
    test_intercommunicators();
    test_many();
    return tap_done();
}
