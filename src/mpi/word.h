/* SPDX-License-Identifier: MIT */
/*
 * Words: what one host says to another of a collective. Slots (meet.h) are seen on one host only,
 * but of the others it is enough to know when the last of each was there, in real and in virtual
 * time: so the last member of a host to come says that for all of them, in one small message to
 * each other host. There the *envoy*, the host's first member of the communicator, fetches it and
 * puts what all hosts have said into its board for its neighbours.
 *
 *     word_host(m, number, ...)                 before the collective: are all of this host there?
 *     word_say(m, number, to, ...)              then this is said to a rank, or to all envoys
 *     word_take(m, number, ...)                 after it: what the other hosts have said
 *
 * Nobody waits for a word for longer than a header that comes from another host is waited for, and
 * no longer at all after WORD_PATIENCE times in vain; what is not there is not known.
 *
 *   caps    of each communicator and host the last WORD_KEPT words are kept, private to who has
 *           fetched them, as long as no other communicator needs their places; WORD_SLOTS of 32
 *           bytes in the board of an envoy, and WORD_PATHS of 1 KB once there is a path. What was
 *           overwritten is not known. How many are on their way: twin.h
 *
 * Writer of the board's part: the envoy. Readers: the ranks of its host, which check the key before
 * and after. Not with MPI_THREAD_MULTIPLE: then there are no words. No MPI in here.
 */
#ifndef LOUPE_MPI_WORD_H
#define LOUPE_MPI_WORD_H

#include "mpi/meet.h"
#include "mpi/nodes.h"
#include "mpi/ring.h"

#pragma GCC visibility push(hidden)

enum { WORD_KEPT = 16, WORD_SLOTS = 256, WORD_PATHS = 64, WORD_PATIENCE = 4, WORD_TO_ALL = -1 };

/* When the last of some members was there, and their paths, as far as there are any. */
struct word {
    struct meeting sum; /* `own` is of no meaning */
    bool has_path;
    struct path_told told; /* of all of them together */
};

/* Once, if there are other nodes, which are kept; `wait`: ticks that a word may be waited for. */
void words_open(const struct nodes *nodes, uint64_t wait);
/* Its hosts become known; none if it has one only, or members of whom nothing will be heard. */
void word_hosts(struct meet *m);

/* Who reads the path beside a slot; set with meet_path. */
extern bool (*word_path_of)(int32_t world, const struct meet_slot *ring, uint64_t number,
                            uint64_t key, struct path_told *told);

/* All members of this host are there: what is to be said of them. False: not all. *unknown: paths
 * of theirs that are not to be had. */
bool word_host(struct meet *m, uint64_t number, struct word *w, uint32_t *unknown);
/* To one rank of MPI_COMM_WORLD, or to the envoys of all other hosts. */
void word_say(const struct meet *m, uint64_t number, int32_t to, const struct word *w);
/* One has come. */
void word_arrive(int32_t rank, const struct ring_slot *slot, const struct path_told *told);

enum word_for { WORD_FOR_HOST, WORD_FOR_ME };
/* What the other hosts have said, or only the one of rank `from` of the communicator (-1: all of
 * them). For the whole host its envoy hears it; or this rank itself has. False: not all is known;
 * w->sum.last < 0: nothing. */
bool word_take(struct meet *m, uint64_t number, enum word_for whom, int32_t from, bool wait,
               struct word *w);

/* Two paths that end where both are waited for: the longer, and net of each item the longer. */
void word_join_path(struct word *w, const struct path_told *other);

#pragma GCC visibility pop

#endif
