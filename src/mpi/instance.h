/* SPDX-License-Identifier: MIT */
/*
 * Which instance of a collective is which, in a job that was attached to in mid-run. Members count
 * the collectives of a communicator from different ones on: one may have been inside an instance at
 * that moment that it does not count, or ahead of others by any number. The number of the first
 * member is the right one; the others find out by how much theirs differs.
 *
 * Of an instance X that each waits for all in (a barrier, a sum of something) two things are
 * certain about two members: X begins at the one before it ends at the other; and what follows X
 * begins at the one after X has begun at the other. So,
 *
 *   X is, at the first member, what it had begun last when X began here, or one of those that it
 *   began while we were in X. Where all of them but one are other calls, it is that one;
 *   when nothing begins here while the first member is in an X, then X is what we have begun last.
 *
 * One of them is so for whoever comes later of the two, as long as the other does not leave and
 * begin anew before that one has left. The second needs the end of X there, so each such slot is
 * given one. Twice the same must be found. It is looked at again each time: a difference means that
 * it is not known any more. While it is not, a member's slots have keys that nobody looks for, and
 * it meets nobody: uncertain.
 */
#ifndef LOUPE_MPI_INSTANCE_H
#define LOUPE_MPI_INSTANCE_H

#include "mpi/meet.h"

#pragma GCC visibility push(hidden)

/* A new communicator. Returns its number of collectives to begin with. */
uint64_t instance_open(struct meet *m);
/* A collective is about to begin. Returns what to add to the number of collectives so far. */
int64_t instance_come(struct meet *m, uint64_t now);
/* One begins: `number` in our count. Which call it is, the same at all; 0: not known. */
void instance_begin(struct meet *m, uint64_t number, uint32_t call);
/* It has ended here; each has waited for all. Returns as instance_come. */
int64_t instance_end(struct meet *m, const struct meet_waited *w);

#pragma GCC visibility pop

#endif
