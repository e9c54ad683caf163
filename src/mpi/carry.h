/* SPDX-License-Identifier: MIT */
/*
 * The critical path beside what one rank tells another: a message, an answer, the arrival at a
 * collective. A rank's board has a ring of numbered *snapshots* of each thread's path, and whatever
 * is published says which of them was the path then, how long that was, and how much of it MPI's.
 * For while no item is entered or left and no path taken over, a path only grows: what is active
 * grows as the length does. So one snapshot serves any number of messages.
 *
 * Who takes over a path as it is, and tells it back to the one who has told it, says so: *lent*. In
 * a ping-pong the two then have the same snapshot, and nothing but lengths goes back and forth.
 * That one must be there for a while yet: nobody else is told of it in this way, and not when half
 * the ring has been written since.
 *
 * Writer: the thread whose path it is. Readers: all ranks of the node; they check the number before
 * and after reading. A snapshot that was overwritten is lost: its path is not met, and counted as
 * unknown.
 *
 *   caps    CARRY_SNAPSHOTS of 1 KB for each thread that has a path; 32 bytes for each slot of a
 *           ring, of answers and of collectives. Made when the first path is told, so nothing is
 *           there while there is none. Where there is no room for them no path is carried.
 */
#ifndef LOUPE_MPI_CARRY_H
#define LOUPE_MPI_CARRY_H

#include "mpi/board.h"
#include "runtime/hot.h"

#pragma GCC visibility push(hidden)

enum { CARRY_SNAPSHOTS = 256 };

/* Stands beside a slot of a ring, of answers or of a collective, in an array of its own. */
struct carried {
    uint64_t key;         /* of that slot; 0: being written */
    uint32_t serial;      /* of the snapshot, */
    uint32_t block : 12;  /* and whose; */
    uint32_t lent : 1;    /* it is in the board of the one who reads this */
    uint32_t number : 19; /* of what was published (path_log.h) */
    int64_t length, mpi;
};
_Static_assert(sizeof(struct carried) == 32, "two in a cache line");

struct snapshot {
    uint32_t serial;            /* 0: being written */
    uint32_t active, innermost; /* as in struct record_path: those go on growing, */
    uint32_t spare;
    struct path_told told; /* so in here they are less the length; of items the touched ones alone,
                              one behind the other */
} __attribute__((aligned(1024)));
_Static_assert(sizeof(struct snapshot) == 1024, "four in a page");

/* The calling thread's path as of its last event, for rank `to` of MPI_COMM_WORLD (-1: for
 * several); `key` is left. False: it cannot be told. */
bool carry_now(struct thread *t, int32_t to, struct carried *c);

static inline void carry_write(struct carried *slot, uint64_t key, const struct carried *c)
{
    __atomic_store_n(&slot->key, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    slot->serial = c->serial;
    slot->block = c->block;
    slot->lent = c->lent;
    slot->number = c->number;
    slot->length = c->length;
    slot->mpi = c->mpi;
    __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
}

/* What rank `world` has told beside `key`, in that slot of its board (NULL: not found), is met at
 * virtual moment `at`. Returns the snapshot after it, which is the next that one tells, as long as
 * items or paths change from message to message; NULL: there is none. */
const struct snapshot *carry_meet(int32_t world, const struct carried *slot, uint64_t key,
                                  int64_t at);
/* The same, to be passed on; false: it is not to be had. */
bool carry_read(int32_t world, const struct carried *slot, uint64_t key, struct path_told *told);
/* It is about to be read. */
void carry_fetch(const struct snapshot *s);
/* The same of one that came from another node; NULL: it is not there. */
void carry_meet_told(const struct path_told *told, int64_t at);
/* Nothing is known of any board any more. */
void carry_leave(void);
/* In place of `at`: the beginning of the communication in progress. */
static inline int64_t carry_begin(int64_t without)
{
    const struct thread *t = loupe_tls.self;
    return t && t->path ? t->path->begin : without;
}

#pragma GCC visibility pop

#endif
