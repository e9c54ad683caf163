/* SPDX-License-Identifier: MIT */
/*
 * A stream: the messages of one communicator and tag from one rank to another. They are received in
 * the order in which they were sent, so counting them on both sides tells which header (ring.h)
 * belongs to which message.
 *
 * The sender counts what it publishes. The receiver gives a number to each receive when that is
 * posted, and takes the header by it when the receive is complete. A header that was lost uses up
 * its number. One that was never published does not: the sender was not intercepted then.
 *
 * Tables of the process: STREAMS_MAX each way; those beyond are *loose*. They are not counted, and
 * their headers are taken in order, as long as the ring has lost nothing. With more than one thread
 * in MPI, callers hold streams_lock around everything but stream_publish.
 */
#ifndef LOUPE_MPI_STREAM_H
#define LOUPE_MPI_STREAM_H

#include "mpi/ring.h"
#include "runtime/process.h"

#pragma GCC visibility push(hidden)

enum { STREAMS_MAX = 4096 };

/* Of a stream that was there before it was counted (anchor.h). */
struct anchor {
    int32_t low, high; /* between these is how many more receives than headers were counted */
    uint8_t votes;     /* how often `high` was found */
    uint8_t doubts;    /* how often in a row what was found was below `low` */
    bool known;        /* both are the same, and that is it */
    bool mixed;        /* it is of several communicators: never known */
};

struct stream {
    uint32_t key;
    uint32_t count; /* published; or numbers given to receives */
    union {
        struct ring_out *out;
        struct ring_in *in;
    };
    uint32_t unsent; /* numbers given to messages that had no header */
    int32_t rank, tag;
    bool loose;
    bool far; /* from or to another node */
    /* With MPI_THREAD_MULTIPLE: threads inside a blocking receive of it; more than one at once, so
     * that their order is not known. */
    bool contested;
    bool midway; /* of receives: began in mid-run (anchor.h); `unsent` is 1 then, whatever else */
    uint32_t inside;
    struct anchor anchor;
    uint64_t comm;
    struct stream *next;
};

/* `ranks` of the world; once, after board_know. */
int streams_open(int32_t ranks, int32_t me, bool multiple);
extern bool streams_multiple;
/* Instead: of a job that was attached to. None is loose then: those beyond the cap have no headers.
 * Again after streams_leave, when nobody has a stream any more. */
int streams_open_midway(int32_t ranks, int32_t me);
void streams_leave(void);
extern bool streams_midway;
/* What is known of this communicator's messages is of two: no header is taken any more. */
void streams_mixed(uint64_t comm);
/*
 * One thread alone calls MPI: what it sends to itself has neither header nor stream, and misses
 * none, for its delay is the receiver's own and its path too. `streams_self` is its rank of the
 * world; else none.
 */
void streams_alone(void);
extern int32_t streams_self;
/* The ring of what a rank sends us, made if need be; NULL: none to be had. For who brings headers
 * from other nodes. */
struct ring_in *streams_ring_from(int32_t rank);
/* The ring of what we send there; NULL: nothing was. */
struct ring_out *streams_ring_to(int32_t rank);

/*
 * Messages to `rank` of the world, or from it; slow, to be kept by who asks. NULL: no headers there
 * (an unknown communicator, a rank without Loupe, streams_self). Beyond the cap it is *spare,
 * filled in: not to be kept.
 */
struct stream *stream_to(uint64_t comm, int32_t rank, int32_t tag, struct stream *spare);
struct stream *stream_from(uint64_t comm, int32_t rank, int32_t tag, struct stream *spare);

/* With the path of the calling thread. */
void stream_publish_path(struct thread *t, struct stream *s, uint64_t begin, int64_t delay,
                         uint32_t statement, uint64_t bytes);
/* Of several threads, or to another node. */
void stream_publish_careful(struct stream *s, uint64_t begin, int64_t delay, uint32_t statement,
                            uint64_t bytes);

void stream_withdraw_far(struct stream *s); /* the last header, with its lock held */

/* Before the message is sent. */
HOT void stream_publish(struct stream *s, uint64_t begin, int64_t delay, uint32_t statement,
                        uint64_t bytes)
{
    struct ring_out *r = s->out;
    uint32_t loose = UNLIKELY(s->loose) ? RING_LOOSE : 0;
    statement &= ~(RING_LOOSE | RING_PATH);
    if (UNLIKELY(r->careful))
        stream_publish_careful(s, begin, delay, statement | loose, bytes);
    else
        ring_publish(r, s->key, ++s->count, begin, delay, statement | loose, bytes);
}

/* May who asked for it keep it, to go the short way with it? That one is for rings at hand. */
static inline bool stream_kept(const struct stream *s)
{
    return !s || (!s->loose && !s->far && !s->midway);
}

/* The number of the next receive from it. */
HOT uint32_t stream_post(struct stream *s)
{
    return ++s->count;
}

/* A receive that had got the last number will not take place. */
static inline void stream_unpost(struct stream *s)
{
    s->count--;
}

enum ring_result stream_take_slow(struct stream *s, uint32_t number, uint64_t bytes,
                                  struct header *h);

/* The header of a message that a receive with this number has got. */
HOT bool stream_take(struct stream *s, uint32_t number, uint64_t bytes, struct header *h)
{
    if (UNLIKELY(s->loose || s->unsent)) {
        struct header found = {0}; /* has an address; `h` should stay in registers */
        enum ring_result result = stream_take_slow(s, number, bytes, &found);
        *h = found;
        return result == RING_FOUND;
    }
    enum ring_result result = ring_take(s->in, s->key, number, bytes, h);
    if (UNLIKELY(result == RING_NONE))
        s->unsent++;
    return LIKELY(result == RING_FOUND);
}

/* The same when it is not known whether the number is right: nobody else may have that header. */
static inline void stream_discard(struct stream *s, uint32_t number, uint64_t bytes)
{
    struct header unused;
    (void)stream_take(s, number, bytes, &unused);
}

#pragma GCC visibility pop

#endif
