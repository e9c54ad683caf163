/* SPDX-License-Identifier: MIT */
/*
 * Marks: when a rank came back into MPI that has long messages under way. Such a message goes in
 * several steps, and MPI takes most of them only while somebody is inside a call: where the
 * receiver copies the data itself (CMA, XPMEM), a send ends when the *receiver*, which had posted
 * its receive and gone on to compute, next waits, tests or receives; where the sender copies them,
 * a receive ends when the *sender* does. Whoever waits for that waits for the other's computation,
 * and the other's delay is the one of then, not of when it posted (answer.h) or began to send
 * (ring.h).
 *
 * Each rank writes a slot for each long message that it has posted without waiting, to send or to
 * receive, into its board, in a table for the rank at the other end: first that it is pending, and
 * whenever a call begins in which MPI can go on with it, when that was, with the delay then. Who is
 * done with the message looks there once, and waits for nothing. Not to other nodes, and not with
 * MPI_THREAD_MULTIPLE, where numbers may be another thread's.
 *
 * Whose coming is needed is found out, for each way and by power of two of the size: what was
 * complete before the other came back did not need it; what was waited for until just after that
 * did, if nothing else that the call waited for was later. Each mark says what its writer has found
 * out, for those who have found out nothing. Who comes more than once leaves the last time only:
 * what was done may have needed an earlier one, and it is used with care, or not at all.
 *
 *   caps        MARKS slots of 32 bytes for each rank and way; MARKS_PENDING messages at once, to
 *               and from all. Of one beyond that nothing is said: as if it were not needed. Nor
 *               of one that is pending for MARK_COMINGS comings, which all the calls in between
 *               would pay for
 */
#ifndef LOUPE_MPI_MARK_H
#define LOUPE_MPI_MARK_H

#include "mpi/stream.h"

#pragma GCC visibility push(hidden)

enum { MARKS = 256, MARKS_PENDING = 64, MARK_COMINGS = 256, MARK_VOTES = 4, MARK_CLOSE_US = 4 };

/* Calls that begin so shortly after the last are one: who tests all the time is always there. In
 * ticks. */
extern uint64_t mark_close;

/* Messages that are pending. */
extern uint32_t marks_pending;

/* Number `number` of the stream has been posted: the last that was published, or a receive. */
void mark_add_send(struct stream *s, uint32_t number, uint64_t bytes);
void mark_add_receive(struct stream *s, uint32_t number, uint64_t room);
/* It is complete, and the other may still look; or nothing is to be known of it. */
enum mark_end { MARK_LEAVE, MARK_VOID };
void mark_drop(const struct stream *s, uint32_t number, enum mark_end end);
/* When the send that is pending began; 0: there is none. */
uint64_t mark_begun(const struct stream *s, uint32_t number);
/* Its numbers are not what they were. */
void marks_drop_stream(const struct stream *s);
void marks_drop_all(void);

/* The thread came into MPI at `begin`, with this delay. */
void marks_come(struct thread *t, uint64_t begin, int64_t before);
/* Between the clock and any call in which MPI can go on with what is pending. */
HOT void marks_begin(struct thread *t, uint64_t begin, int64_t before)
{
    if (UNLIKELY(marks_pending))
        marks_come(t, begin, before);
}

enum mark {
    MARK_NONE,   /* the other's coming was not needed */
    MARK_UNSURE, /* the same, for all that is known */
    MARK_CAME,   /* it was */
    MARK_POLLED, /* the same, and that asks now and then: it would have come at another moment */
};

/* A call that is done with a message. */
struct mark_done {
    int64_t since, until;
    int64_t own; /* `since` in virtual time */
    uint64_t bytes;
    /* Found out: the other came then, before this was done; 0: it did not, */
    int64_t came;
    int16_t *vote; /* and it looks as if that was needed, if nothing else of the call was later */
};
/* So it was. */
void mark_needed(int16_t *vote);

/* False: the other has said nothing of any message between us. */
HOT bool marks_there(const struct mark_table *t)
{
    return t->theirs || !t->areas || __atomic_load_n(t->areas, __ATOMIC_RELAXED) != t->seen;
}
/* Has the message that was received, with header `h`, waited for its sender? Then *came says since
 * when that was there, as a header. */
enum mark mark_of_sender(struct ring_in *r, const struct header *h, struct mark_done *done,
                         struct header *came);
/* The same of a message that was sent, and its receiver, whose answer is `h`. */
enum mark mark_of_receiver(struct stream *s, uint32_t number, const struct header *h,
                           struct mark_done *done, struct header *came);
/* The other's path when it had come: one of these, after that. */
void mark_meet_sender(struct ring_in *r, const struct header *h, const struct header *came,
                      int64_t at);
void mark_meet_receiver(struct stream *s, uint32_t number, const struct header *came, int64_t at);

#pragma GCC visibility pop

#endif
