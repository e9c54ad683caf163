/* SPDX-License-Identifier: MIT */
/*
 * Receives that were posted and whose message is not known from that alone. MPI gives a message to
 * the first posted receive that it fits. So a receive from one source with one tag has its number
 * in that stream at once, but for one case: a receive from any source, or with any tag, was posted
 * before it on the same communicator, and has not got its message yet. From there on receives are
 * listed here, in the order of posting, until it is known what the earlier ones got.
 *
 * When one of them is complete, all before it that its message fits must have theirs already, or it
 * would have gone to them. If MPI says which, the number follows by counting. If it cannot be said
 * (a long message that is still under way), the header is not used: the receive is not *sure*.
 *
 * With MPI_THREAD_MULTIPLE under the lock of the requests (requests_enter).
 */
#ifndef LOUPE_MPI_POSTS_H
#define LOUPE_MPI_POSTS_H

#include "mpi/shim.h"
#include "mpi/stream.h"

#pragma GCC visibility push(hidden)

struct post {
    struct post *next, *before;   /* those that are not resolved, in order */
    const struct comm_info *info; /* held */
    MPI_Request request;
    int32_t source, tag; /* world rank or SHIM_ANY; may be MPI_ANY_TAG */
    int32_t rank, got;   /* when it is complete: from whom, with which tag */
    uint64_t bytes;
    uint32_t number; /* when it is resolved: in that stream */
    bool complete, resolved, sure;
    bool loose; /* its stream is not counted: the header must be taken when its turn is known */
    bool taken, found; /* that has been done */
    bool freed;        /* its request is gone: nobody will ever say what it got */
    bool doubt;        /* another was not sure because of this one */
    struct header header;
};

/* Not resolved at present; with MPI_THREAD_MULTIPLE one more, so that the short way is not taken.
 */
extern uint32_t shim_posts;

/* NULL: no memory; whatever it gets is not known then. */
struct post *post_add(const struct comm_info *info, int32_t source, int32_t tag,
                      MPI_Request request);
/* Is there any on this communicator that is not resolved? */
bool posts_pending(const struct comm_info *info);
/* It has got a message from `rank`. Tell of all that are complete before the first is resolved. */
void post_complete(struct post *p, int32_t rank, const MPI_Status *status);
/* Finds out the number, if it can be. */
void post_resolve(struct post *p);
/* It will get no message. */
void post_cancel(struct post *p);
/* Its request is about to be freed, complete or not. */
void post_free(struct post *p);
/* Nobody needs it any more. */
void post_forget(struct post *p);

/* All of them: their requests may have gone while nobody looked. */
void posts_forget(void);

/* The same for a receive that was posted just now, or a message that was matched: `number` in the
 * stream from `rank` with `tag`. False: not sure. */
bool post_match(const struct comm_info *info, int32_t rank, int32_t tag, struct stream *s,
                uint32_t *number);

#pragma GCC visibility pop

#endif
