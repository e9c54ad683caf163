/* SPDX-License-Identifier: MIT */
/*
 * Receives from any source take what comes first. With us a message may come before one that would
 * have been sent earlier without us: then the program took another way than it would have taken.
 */
#ifndef LOUPE_MPI_ORDER_H
#define LOUPE_MPI_ORDER_H

#include "mpi/ring.h"

#pragma GCC visibility push(hidden)

/*
 * A receive from any source that asked for `tag` (which may be any) has got a message of `rank`.
 * True: in virtual time it was sent before one that such a receive got before it, though it was
 * sent later in real time. With MPI_THREAD_MULTIPLE under the lock of the streams.
 */
bool order_changed(uint64_t comm, int32_t tag, int32_t rank, const struct header *h);

#pragma GCC visibility pop

#endif
