/* SPDX-License-Identifier: MIT */
/*
 * Who is there: before a collective each rank writes into its board when it began and what its
 * delay was then; after it, it reads what the others have written, and the meeting of them all
 * (runtime/delay.h) says who was the last. Nobody is ever waited for: what is not there is not
 * known.
 *
 * A rank's board has MEET_RINGS rings; each belongs to one communicator for the time being and has
 * slots for the last MEET_SLOTS collectives on it. The key in a slot says of which communicator and
 * which collective it is, so that neither a ring that was given to another communicator nor a slot
 * that was written anew can be taken for what it was before.
 *
 *   caps        33 KB of each board; per communicator 16 bytes a member and 0.4 KB, private
 *   ring full   the oldest is overwritten. A member who runs ahead (the root of a Bcast may, by any
 *               number) is not seen by those who come MEET_SLOTS collectives later
 *   rings full  the ring that was idle since the last time is taken away from its communicator,
 *               which takes another at its next collective. With MPI_THREAD_MULTIPLE the owner may
 *               just be writing there: no ring is taken away, and communicators without one are not
 *               seen
 *
 * Writer: the rank itself, one at a time (a program calls the collectives of a communicator one
 * after the other). Readers: all ranks of the node, which check what they find.
 */
#ifndef LOUPE_MPI_MEET_H
#define LOUPE_MPI_MEET_H

#include "mpi/board.h"
#include "runtime/delay.h"
#include "runtime/learnt.h"

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { MEET_RINGS = 64, MEET_SLOTS = 16, MEET_SIZES = 40 };
#define MEET_PATH 0x40000000u /* in a statement: a path stands beside it (carry.h) */

struct meet_slot {
    uint64_t key;   /* meet_key(); 0: being written */
    uint64_t begin; /* real, in ticks */
    int64_t delay;  /* in ticks */
    uint32_t statement;
    uint32_t spare; /* midway: which call it is, and how long it took (instance.h) */
};
_Static_assert(sizeof(struct meet_slot) == 32, "two to a cache line");

/* The part of a board that belongs to collectives. All zeros: nothing yet. */
struct meet_area {
    uint64_t ids[MEET_RINGS]; /* which communicator's; 0: nobody's */
    struct meet_slot slots[MEET_RINGS][MEET_SLOTS] __attribute__((aligned(64)));
};

/* A member of a communicator, as this rank knows it. */
struct meet_member {
    const struct meet_slot *ring; /* in its board; meet_nowhere: not found */
    int32_t world;
    uint32_t tries; /* how often its ring was looked for and not found, in a row */
};

/* A host among those of a communicator. */
struct meet_host {
    int32_t node;
    int32_t envoy; /* rank of MPI_COMM_WORLD */
};

/* The hosts of a communicator that has more than one (word.h). */
struct meet_hosts {
    size_t bytes; /* of all this */
    int32_t others, here;
    int32_t envoy;                 /* of this host: rank in the communicator */
    uint32_t patience;             /* how often waiting may still be in vain */
    int64_t cost;                  /* of saying something, in ticks, as it mostly is */
    int32_t *members;              /* on this host, by rank in the communicator: `here` of them */
    int32_t absent;                /* which of these was not there last time */
    uint32_t seen[2];              /* of the envoy's board */
    const struct meet_slot *slots; /* there; NULL: not seen yet */
    const struct word_path *paths;
    struct meet_host host[]; /* the others */
};

/* A collective that has ended here, in which each waited for all; number 0: none. */
struct meet_waited {
    uint64_t number, begin, end;
    uint32_t call;
};

/* A communicator, privately. */
struct meet {
    uint64_t id;
    uint64_t own_id;          /* in the keys of our own slots: the same, once numbers agree */
    struct meet_slot *own;    /* NULL: no ring */
    uint64_t last;            /* number of the last that was written */
    uint64_t last_seen;       /* the same when rings were last taken away */
    int32_t count, me;        /* members; -1: not among them (intercommunicator) */
    bool full;                /* there is no short way: several hosts, or midway */
    struct learnt cost;       /* of meeting all */
    struct meet_hosts *hosts; /* NULL: all members are on this one, or cannot be heard of */
    /* Rooted ones: the least that it has taken from when all were there whom the data come from,
     * by power of two of the size, at those who receive [0] and those who only send [1]. */
    uint32_t least[2][MEET_SIZES];
    /* In a job that was attached to (instance.h): */
    bool midway, anchored; /* numbers are to be found out, and are known */
    uint8_t agreed;        /* how often this was found: */
    int64_t differs;       /* by how much ours are too small */
    struct meet_waited waited;
    struct meet_member members[];
};

/* From the board of this rank, and of another (NULL: it has none on this node). */
struct meet_area *meet_area_own(void);
const struct meet_area *meet_area_of(int32_t world);

extern const struct meet_slot meet_nowhere[MEET_SLOTS];

/* The ring of a rank of the world for this communicator; NULL: not found. */
const struct meet_slot *meet_ring_of(int32_t world, uint64_t id);

/* Moves on when something was looked for that is mostly at hand. */
extern uint32_t meet_searches;

void meet_open(bool multiple);
/* NULL: no memory. `map`: world ranks of the members, NULL: 0, 1, 2 ... */
struct meet *meet_new(uint64_t id, const int32_t *map, int32_t count, int32_t me);
void meet_free(struct meet *m);
/* Before it is written to: has it a ring now? */
bool meet_take_ring(struct meet *m);

static inline uint64_t meet_key(uint64_t id, uint64_t number)
{
    return id + number * 0x9e3779b97f4a7c15u;
}

/* Neighbours in time are not neighbours in memory: the next is written while this one is read. */
static inline uint32_t meet_at(uint64_t number)
{
    return (uint32_t)(number << 1 | (number >> 3 & 1)) % MEET_SLOTS;
}

/* This rank begins its `number`th collective on the communicator. */
static inline void meet_write(struct meet *m, uint64_t number, uint64_t begin, int64_t delay,
                              uint32_t statement)
{
    m->last = number;
    if (__builtin_expect(!m->own, 0))
        return;
    struct meet_slot *s = &m->own[meet_at(number)];
    __atomic_store_n(&s->key, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&s->begin, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&s->delay, delay, __ATOMIC_RELAXED);
    __atomic_store_n(&s->statement, statement, __ATOMIC_RELAXED);
    __atomic_store_n(&s->key, meet_key(m->own_id, number), __ATOMIC_RELEASE);
    line_fetch(&m->own[meet_at(number + 1)]);
}

/* What a slot says, if it is of this collective and makes sense at `now`, when that has ended here:
 * nobody begins later, and no delay is longer than time itself. */
static inline bool meet_read(const struct meet_slot *ring, uint64_t number, uint64_t key,
                             uint64_t now, struct meet_slot *seen)
{
    const struct meet_slot *s = &ring[meet_at(number)];
    if (__builtin_expect(__atomic_load_n(&s->key, __ATOMIC_ACQUIRE) != key, 0))
        return false;
    seen->begin = __atomic_load_n(&s->begin, __ATOMIC_RELAXED);
    seen->delay = __atomic_load_n(&s->delay, __ATOMIC_RELAXED);
    seen->statement = __atomic_load_n(&s->statement, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&s->key, __ATOMIC_RELAXED) == key && seen->begin <= now &&
           (uint64_t)seen->delay + now <= 2 * now;
}

/* The same of a member whose ring is elsewhere than it was, or not yet known. */
bool meet_see_slow(struct meet *m, int32_t rank, uint64_t number, uint64_t now,
                   struct meet_slot *seen);

static inline bool meet_see(struct meet *m, int32_t rank, uint64_t number, uint64_t now,
                            struct meet_slot *seen)
{
    return __builtin_expect(
               meet_read(m->members[rank].ring, number, meet_key(m->id, number), now, seen), 1) ||
           meet_see_slow(m, rank, number, now, seen);
}

/* Meets the path that stands beside a slot; set by who carries paths. `at`: when this rank began to
 * wait, in virtual time. */
extern void (*meet_path)(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                         int64_t at);

/* A slot that was seen in `ring` joins. */
static inline void meet_join_seen(const struct meet_slot *seen, uint64_t id, int32_t world,
                                  const struct meet_slot *ring, uint64_t number, uint64_t there,
                                  struct meeting *meeting)
{
    meeting_join(meeting, (int64_t)there, seen->delay, world);
    if (__builtin_expect(seen->statement & MEET_PATH && meet_path, 0))
        meet_path(world, ring, number, meet_key(id, number), meeting->own);
}

/* The members from..to-1 join; false: not all of them are known. */
static inline bool meet_join(struct meet *m, int32_t from, int32_t to, uint64_t number,
                             uint64_t now, struct meeting *meeting)
{
    bool all = true;
    struct meet_slot seen;
    for (int32_t i = from; i < to; i++)
        if (__builtin_expect(meet_see(m, i, number, now, &seen), 1))
            meet_join_seen(&seen, m->id, m->members[i].world, m->members[i].ring, number,
                           seen.begin, meeting);
        else
            all = false;
    return all;
}

static inline bool meet_join_all(struct meet *m, uint64_t number, uint64_t now,
                                 struct meeting *meeting)
{
    bool below = meet_join(m, 0, m->me, number, now, meeting);
    return meet_join(m, m->me + 1, m->count, number, now, meeting) && below;
}

/* The same for one member, who is known by world rank: a neighbour. */
bool meet_join_world(uint64_t id, int32_t world, uint64_t number, uint64_t now,
                     struct meeting *meeting);

/* A rooted collective ended here at `now`, and could have ended at `since` but for the transfer.
 * Is it likely that another member than those it should have waited for has held it up? Some
 * algorithms pass the data on through members. `least` is learnt here. */
bool meet_held_up(struct meet *m, uint64_t number, uint64_t since, uint64_t now, uint32_t *least);

#pragma GCC visibility pop

#endif
