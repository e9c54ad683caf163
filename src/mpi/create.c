/* SPDX-License-Identifier: MIT */
/*
 * Communicators come into being: each gets the id that all its members will know it by
 * (identity.h). Seen whether or not the call is recorded, and those too that MPI makes for purposes
 * of its own through its interface: one rank, where measurement is off, cannot tell them from the
 * program's, and would count what another does not. A call that fails counts nowhere.
 */
#include "mpi/identity.h"
#include "mpi/shim.h"
#include "mpi/stream.h"

#include <errno.h>

enum { MEMBERS_AT_ONCE = 128 };

static uint64_t world_nonce;

void comm_world_nonce(uint64_t nonce)
{
    world_nonce = nonce;
}

/* 0: ids are of no use. */
static uint64_t world_id(void)
{
    return shim_headers ? identity_world(world_nonce) : 0;
}

bool comm_predefined(uintptr_t key)
{
    return key == HANDLE(ABI_COMM_WORLD) || key == HANDLE(ABI_COMM_SELF);
}

uint64_t comm_predefined_id(uintptr_t key)
{
    const struct record_header *h = loupe_process.writer.header;
    uint64_t world = world_id();
    if (key == HANDLE(ABI_COMM_WORLD))
        return world;
    if (key == HANDLE(ABI_COMM_SELF))
        return identity_self(world, h ? h->rank : -1);
    return 0;
}

/* The id of `parent`, and the number of what was just made by all of it. */
static uint64_t next_of(MPI_Comm parent, uint64_t *number)
{
    comms_enter();
    struct comm_info *info = comm_as_parent(parent);
    uint64_t id = info ? info->id : 0;
    *number = info ? ++info->children : 0;
    comms_leave();
    return id;
}

static bool is_inter(MPI_Comm comm)
{
    int inter = 0;
    PM(Comm_test_inter)(comm, &inter);
    return inter;
}

static bool group_of(MPI_Comm comm, bool remote, MPI_Group *group)
{
    if (!shim_world_known)
        return false;
    int result = remote ? PM(Comm_remote_group)(comm, group) : PM(Comm_group)(comm, group);
    return result == MPI_SUCCESS;
}

static void world_ranks_of(MPI_Group group, int first, int count, int32_t *world)
{
    int ranks[MEMBERS_AT_ONCE];
    for (int i = 0; i < count; i++) {
        ranks[i] = first + i;
        world[i] = MPI_UNDEFINED;
    }
    PM(Group_translate_ranks)(group, count, ranks, shim_world, world);
    for (int i = 0; i < count; i++)
        if (world[i] == MPI_UNDEFINED)
            world[i] = RECORD_PEER_FOREIGN;
}

static int32_t first_member(MPI_Comm comm, bool remote)
{
    MPI_Group group;
    int32_t world = RECORD_PEER_FOREIGN;
    if (group_of(comm, remote, &group)) {
        world_ranks_of(group, 0, 1, &world);
        PM(Group_free)(&group);
    }
    return world;
}

static uint64_t all_members(MPI_Comm comm, bool remote)
{
    MPI_Group group;
    int32_t world[MEMBERS_AT_ONCE];
    int size = 0;
    if (!group_of(comm, remote, &group))
        return 0;
    uint64_t hash = IDENTITY_MEMBERS;
    PM(Group_size)(group, &size);
    for (int done = 0, count; hash && done < size; done += count) {
        count = size - done < MEMBERS_AT_ONCE ? size - done : MEMBERS_AT_ONCE;
        world_ranks_of(group, done, count, world);
        hash = identity_members(hash, world, count);
    }
    PM(Group_free)(&group);
    return hash;
}

/* In a job that was attached to: a parent's number may have been counted by some ranks and not by
 * others. What is new is known as what is old, by its members. */
static bool made_midway(const MPI_Comm *made)
{
    if (streams_midway && *made != ABI_COMM_NULL)
        comm_identify(*made, 0);
    return streams_midway;
}

uint64_t comm_id_by_members(MPI_Comm comm)
{
    uint64_t one = all_members(comm, false);
    bool inter = is_inter(comm);
    uint64_t other = inter ? all_members(comm, true) : 0;
    return inter && !other ? 0 : identity_old(world_id(), one, other);
}

void comm_made(MPI_Comm parent, const MPI_Comm *made)
{
    if (made_midway(made))
        return;
    int saved = errno;
    uint64_t number, id = next_of(parent, &number); /* none, if this rank is left out, is one too */
    if (*made != ABI_COMM_NULL) {
        if (id)
            id = identity_child(id, number, first_member(*made, false),
                                is_inter(*made) ? first_member(*made, true) : IDENTITY_NOBODY);
        comm_identify(*made, id);
    }
    errno = saved;
}

MPI_Comm comm_making(MPI_Comm *made)
{
    if (!made)
        return ABI_COMM_NULL;
    MPI_Comm before = *made;
    *made = ABI_COMM_NULL;
    return before;
}

void comm_making_made(int result, MPI_Comm parent, MPI_Comm *made, MPI_Comm before)
{
    uint64_t number, id;
    if (result == MPI_SUCCESS && made_midway(made))
        return;
    if (result == MPI_SUCCESS) {
        id = next_of(parent, &number);
        if (*made != ABI_COMM_NULL)
            comm_identify(*made, identity_child(id, number, IDENTITY_NOBODY, IDENTITY_NOBODY));
    } else if (made && *made == ABI_COMM_NULL) {
        *made = before;
    }
}

void comm_made_of_group(MPI_Comm parent, int tag, const MPI_Comm *made)
{
    if (*made == ABI_COMM_NULL || made_midway(made))
        return;
    int saved = errno;
    uint64_t members = all_members(*made, false);
    comms_enter();
    struct comm_info *info = comm_as_parent(parent);
    uint64_t id = info ? identity_group(info->id, members, tag) : 0;
    if (info)
        info->has_groups = true;
    comms_leave();
    comm_identify(*made, id);
    errno = saved;
}

void comm_made_between(int tag, const MPI_Comm *made)
{
    if (*made == ABI_COMM_NULL || made_midway(made))
        return;
    int saved = errno;
    uint64_t ours = all_members(*made, false), theirs = all_members(*made, true);
    comms_enter();
    uint64_t id = identity_inter(world_id(), ours, theirs, tag);
    comms_leave();
    comm_identify(*made, id);
    errno = saved;
}

void comm_made_unknown(const MPI_Comm *made)
{
    if (*made != ABI_COMM_NULL)
        comm_identify(*made, 0);
}
