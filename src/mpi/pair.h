/* SPDX-License-Identifier: MIT */
/*
 * Headers beside the messages of a program: published before a send, taken when a receive is
 * complete, and what follows from them for the time of the call that waited.
 *
 *     struct pairing p = pairing_begin(&e);      after the call
 *     pair_received(&p, ...);                    each message it has got
 *     pairing_settle(&e, &p);                    instead of event_settle
 *
 * All of this also takes place while measurement is off, at a statement that nobody sees, so that
 * numbers stay in step and delays pass on.
 */
#ifndef LOUPE_MPI_PAIR_H
#define LOUPE_MPI_PAIR_H

#include "mpi/answer.h"
#include "mpi/mark.h"
#include "mpi/order.h"
#include "mpi/posts.h"
#include "mpi/shim.h"
#include "mpi/stream.h"

#pragma GCC visibility push(hidden)

/* What header work costs, in 1/256 ticks: found out at the start, and corrected as it goes on. */
extern int64_t pair_publish_cost, pair_take_cost;
void pair_calibrate(void);
/* Messages up to so many bytes are sent without waiting for their receive, on a node and between
 * nodes; 0: not known. */
extern uint64_t pair_eager, pair_eager_far;
/* From so many bytes on one may wait for the other; without headers none do, for all we know. */
extern uint64_t pair_long;
static inline bool pair_waits(const struct stream *s, uint64_t bytes)
{
    return bytes >= ANSWER_BYTES && bytes > (s->far ? pair_eager_far : pair_eager) &&
           bytes > s->out->eager;
}
/* Is the sender of what is received with so much room to be told? */
static inline bool pair_answers(const struct stream *s, uint64_t room)
{
    return room >= ANSWER_BYTES && (!s->far || room > pair_eager_far);
}
/* Does either end of it tell when it came back (mark.h)? */
static inline bool pair_marked(uint64_t bytes)
{
    return pair_eager && bytes > pair_eager && !streams_midway;
}
/* May the other end of it tell when it came back (mark.h)? */
HOT bool pair_marks(const struct mark_table *theirs, uint64_t bytes)
{
    return pair_marked(bytes) && marks_there(theirs);
}
/* In MPI_Init: everybody's board becomes known to everybody. NULL: this rank is not monitored. */
void pair_open(struct record_header *h);
void pair_close(void);
/* Instead, in a job that runs (midway.c): everybody's board follows from the job. False: there are
 * no headers. What there was of an earlier time is left first. */
bool pair_attach(const struct record_header *h);
void pair_leave(void);

/* An event of which nothing is to be recorded because measurement is off; false: it is not that. */
bool pair_enter(struct event *e, void *frame);
static inline bool pair_seen(const struct event *e)
{
    return e->site != e->thread->unseen;
}

HOT uint32_t pair_statement(const struct site *site)
{
    return site->index | site->thread->block_index << 16;
}

/* ---- sending ---- */

struct sending {
    struct stream *stream; /* NULL: no header */
    uint64_t bytes;
    uint32_t number;
    struct stream spare;
};
/* Before the clock starts. */
void sending_begin(struct sending *s, struct event *e, int dest, int tag, MPI_Comm comm,
                   uint64_t count, MPI_Datatype type);
void pair_withdraw(struct stream *s);
/* After the call; settles the event. `synchronous`: it has waited for its receive in any case. */
void sending_settle(const struct sending *s, struct event *e, int result, bool synchronous);
/* The same of a send that goes on: its request is tracked if it may wait. */
void sending_track(const struct sending *s, struct event *e, int result, MPI_Request request,
                   bool synchronous);
/* After it: the next time from this statement is quick. */
void sending_end(const struct sending *s, struct event *e, int result, int dest, int tag);

/* Between the clock and the call. It is no part of the event's time. */
HOT void pair_publish(struct thread *t, const struct site *site, uint64_t begin, int64_t before,
                      struct stream *s, uint64_t bytes)
{
    if (UNLIKELY(t->path))
        stream_publish_path(t, s, begin, delay_told(t, before), pair_statement(site), bytes);
    else
        stream_publish(s, begin, delay_told(t, before), pair_statement(site), bytes);
    event_spent(t, pair_publish_cost);
}

HOT void sending_publish(struct sending *s, const struct event *e)
{
    if (LIKELY(s->stream != NULL)) {
        pair_publish(e->thread, e->site, e->begin, e->before, s->stream, s->bytes);
        s->number = s->stream->count;
    }
}

/* ---- receiving ---- */

struct pairing {
    struct meeting meeting;
    int64_t transfer; /* of the message that was the last to be there */
    int64_t since, until;
    int64_t latest; /* when the last part of what has ended began, without transfers; */
    int16_t *vote;  /* that was the coming which this is about (mark.h); NULL: it was none */
    int64_t doubt;  /* somebody may have been the last then, in virtual time */
    uint32_t paired, missing, ambiguous, reordered, uncertain;
    uint32_t met; /* others who have joined: of a collective, or the receiver of a send */
};

HOT struct pairing pairing_start(struct meeting m, uint64_t begin, uint64_t now)
{
    return (struct pairing){.meeting = m, .since = (int64_t)begin, .until = (int64_t)now};
}

HOT struct pairing pairing_begin(const struct event *e)
{
    return pairing_start(event_meeting(e), e->begin, e->now);
}

/* Some of it began at that moment; INT64_MAX: nobody knows when. */
HOT void pairing_latest(struct pairing *p, int64_t at)
{
    if (at > p->latest) {
        p->latest = at;
        p->vote = NULL;
    }
}

HOT void pairing_at(struct pairing *p, const struct header *h, int64_t transfer, int32_t rank)
{
    int64_t at = h->begin + transfer, ideal = p->meeting.ideal;
    meeting_join(&p->meeting, at < p->until ? at : p->until, h->delay, rank);
    if (p->meeting.ideal > ideal)
        p->transfer = transfer;
    p->paired++;
}

/* It was on its way at that moment. */
HOT void pairing_moment(struct pairing *p, struct ring_in *ring, const struct header *h,
                        int32_t rank, uint64_t bytes)
{
    pairing_at(p, h, ring_transfer(ring, h, p->since, p->until, bytes), rank);
    pairing_latest(p, h->begin);
}

/* A message that may have waited for its sender to come back (mark.h). True: it has. */
bool pairing_came(struct pairing *p, struct ring_in *ring, struct header h, int32_t rank,
                  uint64_t bytes);

/* A message from `rank` has this header. */
HOT void pairing_join(struct pairing *p, struct ring_in *ring, const struct header *h, int32_t rank,
                      uint64_t bytes)
{
    if (UNLIKELY(bytes >= ANSWER_BYTES) && UNLIKELY(pair_marks(&ring->marks, bytes)) &&
        pairing_came(p, ring, *h, rank, bytes))
        return;
    pairing_moment(p, ring, h, rank, bytes);
    if (UNLIKELY(h->statement & RING_PATH)) {
        struct header copy = *h; /* the same: what has an address is kept in memory */
        ring_meet_path(ring, &copy, carry_begin(p->meeting.own));
    }
}

HOT uint64_t pairing_sync(const struct pairing *p)
{
    int64_t wait = meeting_wait(&p->meeting) - p->transfer;
    return wait > 0 ? (uint64_t)wait : 0;
}

/* Takes the header; what that costs is looked at now and then. */
HOT bool pair_take(struct stream *s, uint32_t number, uint64_t bytes, struct header *h)
{
    if (LIKELY(number % 32) || s->far)
        return stream_take(s, number, bytes, h);
    uint64_t begin = short_clock();
    bool found = stream_take(s, number, bytes, h);
    learnt_pull(&pair_take_cost, clock_since(begin, short_clock()));
    return found;
}

HOT void pair_received(struct pairing *p, struct stream *s, uint32_t number, int32_t rank,
                       uint64_t bytes)
{
    struct header h;
    if (LIKELY(s && pair_take(s, number, bytes, &h)))
        pairing_join(p, s->in, &h, rank, bytes);
    else
        p->missing += rank != streams_self;
}

/* All have joined. */
HOT void pairing_vote(const struct pairing *p)
{
    if (UNLIKELY(p->vote && !(p->missing | p->ambiguous)))
        mark_needed(p->vote);
}

/* What was counted, at the statement that waited; inside its odd section. */
HOT void pairing_count(const struct pairing *p, struct record_statement *s, struct record_thread *b)
{
    b->paired += p->paired;
    uint32_t uncertain = p->uncertain | (p->doubt > p->meeting.ideal);
    if (UNLIKELY((p->missing | p->ambiguous | p->reordered | uncertain) && shim_headers)) {
        b->missing += p->missing;
        b->ambiguous += p->ambiguous;
        s->unknown += p->missing + p->ambiguous;
        s->reordered += p->reordered;
        s->uncertain += uncertain;
    }
}

void pairing_settle(struct event *e, const struct pairing *p);
/* A send of `bytes` has ended, message `number` of the stream: joins its receiver, if it waited. It
 * began at `began`; 0: not known. */
void pairing_sent(struct pairing *p, struct stream *s, uint32_t number, uint64_t bytes,
                  uint64_t began);

/* A blocking receive (Recv, and the receiving half of Sendrecv). */
struct receiving {
    const struct comm_info *info;
    int32_t source, tag;   /* source as the program said */
    struct stream *stream; /* numbered before the call */
    uint32_t number;
    bool numbered, contested;
    bool answers;    /* its sender may wait for it */
    uint64_t absent; /* midway: there was no message then; 0: not known */
    struct stream spare;
};
/* Before the clock starts. True: the message must be matched first (pair_match), for another thread
 * could get it. */
bool receiving_begin(struct receiving *r, struct event *e, int source, int tag, MPI_Comm comm,
                     uint64_t count, MPI_Datatype type, bool alone);
/* Before the clock starts, midway: is there no message for a receive that is about to be posted?
 * Tells the anchor of its stream. */
void pair_look_posting(struct event *e, int source, int tag, MPI_Comm comm);
HOT void pair_posting(struct event *e, int source, int tag, MPI_Comm comm)
{
    if (UNLIKELY(streams_midway))
        pair_look_posting(e, source, tag, comm);
}
/* The same of a persistent one. */
void pair_look_starting(struct event *e, const struct pending *p);
/* The last moment at which there was none; 0: there is one, or nobody wants to know. `patient`: as
 * it will be waited for anyway, it is looked for for a while. */
uint64_t pair_absent(struct event *e, const struct comm_info *info, int source, int tag,
                     MPI_Comm comm, bool patient);
/* Between the clock and the call. */
void receiving_answer(struct receiving *r, struct event *e);
/* Waits until there is a message; as MPI_Mprobe. */
int pair_match(struct receiving *r, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
/* After the call; settles the event. */
void receiving_end(struct receiving *r, struct event *e, int result, const MPI_Status *status);

/* A matched message has its number when it is matched. */
void pair_settle_message(struct event *e, int result, const struct pending *m,
                         const MPI_Status *status);

#pragma GCC visibility pop

#endif
