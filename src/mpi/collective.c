/* SPDX-License-Identifier: MIT */
/* Who gives how much to whom in a collective. docs/ARCHITECTURE.md defines `bytes` of each. */
#include "mpi/collective.h"

int coll_members(struct event *e, MPI_Comm comm)
{
    const struct comm_info *info = comm_of(e->site, comm);
    return info ? info->count : 0;
}

int coll_me(struct event *e, MPI_Comm comm)
{
    const struct comm_info *info = comm_of(e->site, comm);
    return info && info->me >= 0 ? info->me : 0;
}

bool coll_is_root(struct event *e, int root, MPI_Comm comm)
{
    const struct comm_info *info = comm_of(e->site, comm);
    return root == MPI_ROOT || (info && info->me >= 0 && info->me == root);
}

void coll_rooted(struct coming *c, struct event *e, uint64_t bytes, int root, MPI_Comm comm,
                 uint32_t direction)
{
    coll_go(c, e, bytes);
    if (!pair_seen(e))
        return;
    if (root == MPI_PROC_NULL) /* the idle ones of the root's side of an intercommunicator */
        return;
    statement_bytes(e->site->record, bytes);
    if (!coll_is_root(e, root, comm))
        event_peer(e->thread, e->site, world_rank(comm_of(e->site, comm), root), direction, bytes,
                   e->ticks);
}

void coll_to(struct event *e, const struct comm_info *info, int rank, uint64_t bytes)
{
    event_peer(e->thread, e->site, world_rank(info, rank), RECORD_SENT, bytes, 0);
}

void coll_each(struct event *e, uint64_t bytes_each, MPI_Comm comm)
{
    const struct comm_info *info = comm_of(e->site, comm);
    int count = info ? info->count : 0;
    statement_bytes(e->site->record, bytes_each * (uint64_t)count);
    for (int i = 0; i < count; i++)
        coll_to(e, info, i, bytes_each);
}

int coll_neighbors(struct event *e, MPI_Comm comm, const struct comm_info **info)
{
    *info = comm_with_neighbors(e->site, comm);
    return *info && (*info)->out_count > 0 ? (*info)->out_count : 0;
}

void coll_to_neighbor(struct event *e, const struct comm_info *info, int index, uint64_t bytes)
{
    if (info->out[index] != SHIM_NOBODY)
        event_peer(e->thread, e->site, info->out[index], RECORD_SENT, bytes, 0);
}

void coll_each_neighbor(struct event *e, uint64_t total, uint64_t bytes_each, MPI_Comm comm)
{
    const struct comm_info *info;
    int count = coll_neighbors(e, comm, &info), there = 0;
    for (int i = 0; i < count; i++) {
        there += info->out[i] != SHIM_NOBODY;
        coll_to_neighbor(e, info, i, bytes_each);
    }
    statement_bytes(e->site->record, total ? total : bytes_each * (uint64_t)there);
}
