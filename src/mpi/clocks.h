/* SPDX-License-Identifier: MIT */
/*
 * The clocks of other nodes. Ranks of one node have one clock; the first rank of each compares it
 * with that of the first rank of all, in MPI_Init and again in MPI_Finalize: it sends, and knows
 * that the answer was written between then and now. The shortest of several round trips counts, and
 * half of it is the bound of the error. What the clocks have drifted apart in between is known at
 * the end only; it is added to the bound then.
 *
 * Moments travel in the sender's ticks and are turned into our own when they arrive.
 */
#ifndef LOUPE_MPI_CLOCKS_H
#define LOUPE_MPI_CLOCKS_H

#include "mpi/nodes.h"
#include "mpi/shim.h"

#pragma GCC visibility push(hidden)

/* Memory for so many nodes at most, before anyone counts on us; -ENOMEM. */
int clocks_reserve(int32_t count);
/* Both are collective over `comm`; `h` may be NULL. The nodes are kept, not copied. */
void clocks_open(MPI_Comm comm, const struct nodes *nodes, struct record_header *h);
void clocks_close(MPI_Comm comm, struct record_header *h);

/* An own moment as it goes to others, and another rank's as we see it. */
uint64_t clocks_leaving(uint64_t ticks);
uint64_t clocks_arriving(int32_t rank, uint64_t ticks);

#pragma GCC visibility pop

#endif
