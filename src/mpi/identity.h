/* SPDX-License-Identifier: MIT */
/*
 * Ids of communicators, which all members compute alike without a word to each other, and which are
 * never used again, unlike handles. 0: unknown.
 *
 * What all of a communicator make together has its number among all that they made, in the order in
 * which MPI has them make it. Groups of one such making have no member in common, so the first
 * members tell them apart. What only some of a communicator make (from a group, or between two
 * groups) has no such number: it is counted for the very members and tag instead.
 *
 * Who calls holds the lock of the communicators: the counters are the process's.
 */
#ifndef LOUPE_MPI_IDENTITY_H
#define LOUPE_MPI_IDENTITY_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Members and tags that are counted; from the first that finds no room on, all new ones are unknown
 * (were there room later, it would count from another beginning than elsewhere). */
enum { IDENTITY_COUNTERS = 16384 };

/* MPI_COMM_WORLD: `nonce` is the same on all its ranks. */
uint64_t identity_world(uint64_t nonce);
/* MPI_COMM_SELF of a rank. */
uint64_t identity_self(uint64_t world, int32_t rank);

/* The `number`th that was made by all of `parent`. World ranks of the first members: of the one
 * group and of the other, in either order; IDENTITY_NOBODY if there is no other, or if all of the
 * parent are in it anyway. Another negative rank is of another world: unknown. */
enum { IDENTITY_NOBODY = -1 };
uint64_t identity_child(uint64_t parent, uint64_t number, int32_t one, int32_t other);

/* A group's members, by world rank, in order: IDENTITY_MEMBERS first, then what was returned. 0 if
 * any of them is of another world. */
#define IDENTITY_MEMBERS ((uint64_t)1)
uint64_t identity_members(uint64_t before, const int32_t *ranks, int32_t count);
/* One of which nothing but the members is known; `other`: of the other group, or 0. */
uint64_t identity_old(uint64_t world, uint64_t one, uint64_t other);
/* The next one made by these members of `parent` with this tag. */
uint64_t identity_group(uint64_t parent, uint64_t members, int32_t tag);
/* The next one made between these two groups with this tag; the same whichever comes first. */
uint64_t identity_inter(uint64_t world, uint64_t one, uint64_t other, int32_t tag);
/* `parent` is gone: nothing will be made of groups of it. */
void identity_forget(uint64_t parent);

#pragma GCC visibility pop

#endif
