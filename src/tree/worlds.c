/* SPDX-License-Identifier: MIT */
/*
 * Which MPI_COMM_WORLD a process belongs to. A job script or a test driver under `loupe run` starts
 * MPI more than once, and a program can spawn another; then the job has several processes of the
 * same rank, and none of them knows of the other worlds. But no rank comes out of MPI_Init before
 * all of its world have entered it, and they come out and end together: that tells them apart. Two
 * worlds of one size that start in the same moment could still be taken for one another, hence the
 * warning in node.c.
 */
#include "tree/members.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

struct world {
    uint64_t begun, left; /* the last has entered MPI_Init, the first has come out */
    const struct record_header *first;
    size_t *ranks; /* indexes of its members in the list */
    size_t count, room;
};

struct worlds {
    struct world *list;
    size_t count, room;
};

static const struct record_header *header(const struct members *members, size_t i)
{
    return record_header(members->list[i].reader);
}

static bool knows_rank(const struct record_header *h)
{
    return h->mpi_phase != RECORD_MPI_NONE && h->rank >= 0;
}

static bool twice(const struct members *members)
{
    for (size_t i = 1; i < members->count; i++) {
        const struct record_header *a = header(members, i - 1), *b = header(members, i);
        if (knows_rank(a) && knows_rank(b) && a->world == b->world && a->rank == b->rank)
            return true;
    }
    return false;
}

static bool fits(const struct members *members, const struct world *w,
                 const struct record_header *h)
{
    if (w->first->size != h->size || w->first->world != h->world)
        return false;
    if (h->mpi_init_begin > w->left || h->mpi_init_end < w->begun)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (header(members, w->ranks[i])->rank == h->rank)
            return false;
    return true;
}

/* How far two processes are from beginning and ending together. */
static double apart(const struct record_header *a, const struct record_header *b)
{
    double ticks = fabs((double)a->mpi_init_end - (double)b->mpi_init_end);
    if (a->mpi_finalize_end && b->mpi_finalize_end)
        ticks += fabs((double)a->mpi_finalize_end - (double)b->mpi_finalize_end);
    return ticks;
}

static struct world *world_for(struct worlds *worlds, const struct members *members,
                               const struct record_header *h)
{
    struct world *best = NULL;
    for (size_t i = 0; i < worlds->count; i++) {
        struct world *w = &worlds->list[i];
        if (fits(members, w, h) && (!best || apart(w->first, h) < apart(best->first, h)))
            best = w;
    }
    if (!best) {
        best = VEC_PUSH(worlds->list, worlds->count, worlds->room);
        *best = (struct world){.begun = h->mpi_init_begin, .left = h->mpi_init_end, .first = h};
    }
    return best;
}

static void join(struct world *w, size_t index, const struct record_header *h)
{
    w->begun = h->mpi_init_begin > w->begun ? h->mpi_init_begin : w->begun;
    w->left = h->mpi_init_end < w->left ? h->mpi_init_end : w->left;
    *VEC_PUSH(w->ranks, w->count, w->room) = index;
}

static int by_first(const void *pa, const void *pb)
{
    const struct world *a = pa, *b = pb;
    if (a->first->world != b->first->world)
        return a->first->world < b->first->world ? -1 : 1;
    return a->left < b->left ? -1 : a->left > b->left;
}

void members_find_worlds(struct members *members)
{
    struct worlds worlds = {0};
    for (size_t i = 0; i < members->count; i++)
        members->list[i].world = header(members, i)->world;
    if (!twice(members))
        return;
    for (size_t i = 0; i < members->count; i++)
        if (knows_rank(header(members, i)))
            join(world_for(&worlds, members, header(members, i)), i, header(members, i));
    if (worlds.count)
        qsort(worlds.list, worlds.count, sizeof *worlds.list, by_first);
    for (size_t w = 0; w < worlds.count; w++) {
        for (size_t i = 0; i < worlds.list[w].count; i++)
            members->list[worlds.list[w].ranks[i]].world = (int32_t)w;
        free(worlds.list[w].ranks);
    }
    free(worlds.list);
}
