/* SPDX-License-Identifier: MIT */
/*
 * Streams of a job that was attached to in mid-run. Messages were under way then that have no
 * header, and receives were posted that nobody has counted: so the receiver's number of a message
 * and the sender's differ. But they always differ by the same *lag*: the messages that were under
 * way less the receives that had been posted. It is found between two bounds:
 *
 *   low    a message that was received has a header: so the lag is at least the receive's number
 *          less the headers that are there. This is certain.
 *   high   when a receive is about to be posted and MPI has no message for it, all messages that
 *          were sent some time ago (anchor_delivery) have been matched by earlier receives: so the
 *          lag is at most the number of these less the headers that began by then. This is as good
 *          as certain: a sender that loses its processor between header and message can break it,
 *          which makes it too low, never too high. Who is about to wait can look for a while: the
 *          later the moment, the more headers began well before it.
 *
 * When both are the same, and `high` was found twice, that is the lag. Until then a message's
 * header counts as missing: nothing is guessed. Afterwards it is looked at again now and then; a
 * header that should be there and is not, one of another size, or a `high` below the lag (the
 * program has received something behind our back) means that it is not known any more.
 *
 * One thread alone is in MPI (no headers with MPI_THREAD_MULTIPLE).
 */
#ifndef LOUPE_MPI_ANCHOR_H
#define LOUPE_MPI_ANCHOR_H

#include "mpi/stream.h"

#pragma GCC visibility push(hidden)

enum { ANCHOR_VOTES = 2, ANCHOR_DOUBTS = 4, ANCHOR_EVERY = 8, ANCHOR_DELIVERY_US = 20 };

extern uint64_t anchor_delivery; /* ANCHOR_DELIVERY_US in ticks; set before the first stream */
extern uint32_t anchors_wanted;  /* streams whose lag is not known */
/* So long may look who is about to wait anyway. */
static inline uint64_t anchor_patience(void)
{
    return 2 * anchor_delivery;
}

void anchor_begin(struct stream *s);
void anchor_mixed(struct stream *s);
void anchors_leave(void);

/* Is it time to find out whether there is a message, before a receive is posted in the stream?
 * NULL: from any source. */
bool anchor_due(const struct stream *s);
/* There was none at that moment, before receive `number` was posted. */
void anchor_absent(struct stream *s, uint32_t number, uint64_t at);

/* As stream_take. RING_LOST: the lag is not known. */
enum ring_result anchor_take(struct stream *s, uint32_t number, uint64_t bytes, struct header *h);

/* From the receiver's number to the sender's; false: not known. */
static inline bool anchor_number(const struct stream *s, uint32_t *number)
{
    if (s->midway)
        *number -= (uint32_t)s->anchor.low;
    return !s->midway || s->anchor.known;
}

#pragma GCC visibility pop

#endif
