/* SPDX-License-Identifier: MIT */
/*
 * Twins: headers of messages to other nodes, where there is no shared memory. Beside each message
 * goes a small one of ours, on a duplicate of MPI_COMM_WORLD, sent before it and never waited for.
 * The receiver fetches what has come when it wants a header (ring.h keeps what is not wanted yet).
 * What hosts say of collectives (word.h) goes the same way.
 *
 * Full: at TWINS_MAX ranks of other nodes that one sends to, or receives from: no headers for
 * further ones. For each rank at most RING_SLOTS twins are on their way: every TWIN_STRIDEth is
 * sent synchronously, so the sender knows what the receiver has fetched; what comes when there is
 * no room is not sent, and its message has no header.
 */
#ifndef LOUPE_MPI_TWIN_H
#define LOUPE_MPI_TWIN_H

#include "mpi/clocks.h"
#include "mpi/ring.h"

#pragma GCC visibility push(hidden)

enum { TWINS_MAX = 512, TWIN_STRIDE = 64, TWIN_WAIT_US = 200 };

/* The nodes are kept, not copied; `h` may be NULL. */
void twins_open(MPI_Comm comm, const struct nodes *nodes, struct record_header *h);
/* Fetches all that was ever sent; collective. */
void twins_close(void);

#pragma GCC visibility pop

#endif
