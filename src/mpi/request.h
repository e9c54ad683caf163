/* SPDX-License-Identifier: MIT */
/* The table of pending requests from within: request.c fills it, complete.c empties it. With
 * MPI_THREAD_MULTIPLE all of this under its lock. */
#ifndef LOUPE_MPI_REQUEST_H
#define LOUPE_MPI_REQUEST_H

#include "mpi/fast.h"

#pragma GCC visibility push(hidden)

static inline struct pending *request_next(const struct pending *p)
{
    return &shim_requests.slots[(uint32_t)(p + 1 - shim_requests.slots) & shim_requests.mask];
}

/* The slot that has this handle, or the free one where it would stand. */
HOT struct pending *request_slot(uintptr_t key)
{
    struct pending *p = request_home(key);
    while (p->key && p->key != key)
        p = request_next(p);
    return p;
}

/* With MPI_THREAD_MULTIPLE: by serial number; serial 0: the newest with this handle. */
struct pending *request_find_among(uintptr_t key, uint64_t serial);

HOT struct pending *request_find(uintptr_t key)
{
    if (UNLIKELY(shim_multiple))
        return request_find_among(key, 0);
    struct pending *p = request_slot(key);
    return p->key ? p : NULL;
}

/* A new request; its info, if it has one, is held from now on. False: there is no room. */
bool request_put(const struct pending *new);
/* Closes the gap, so that no tombstones pile up over a long run. */
void request_take_out(struct pending *p);
/* A receive that will get no message. */
void request_unpost(struct pending *p);

#pragma GCC visibility pop

#endif
