/* SPDX-License-Identifier: MIT */
/*
 * A ring: the headers of the messages from one rank to one other, in the sender's board. A fixed
 * number of slots; the newest overwrites the oldest, whether or not that was read. Headers are
 * numbered absolutely, in the ring and in their stream (stream.h), so that what is lost is known to
 * be lost, and the next is never taken for it.
 *
 * Writer: the sending rank, one thread at a time. Readers: the receiving rank, one thread at a
 * time; it writes nothing there and believes nothing but numbers. A slot's number says what it
 * holds (number n stands in slot ring_at(n)), is a mark while it changes, and is looked at before
 * and after the rest is read.
 */
#ifndef LOUPE_MPI_RING_H
#define LOUPE_MPI_RING_H

#include "mpi/carry.h"

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { RING_SLOTS = 512, RING_SIZES = 40, RING_SIZE_BITS = 12 };
#define RING_MARK  0x80000000u /* in a number: the slot is about to hold it */
#define RING_LOOSE 0x80000000u /* in a statement: the sender has not counted this stream */
#define RING_PATH  0x40000000u /* in a statement: a path stands beside it (carry.h) */
/* As statement, between nodes. */
#define RING_VOID   0xffffffffu /* the header before it is withdrawn */
#define RING_WORD   0xfffffffeu /* no header: of a collective (word.h), */
#define RING_ANSWER 0xfffffffdu /* or an answer (answer.h) */

struct ring_slot {
    uint32_t number;
    uint32_t key;       /* of the stream: a hash of communicator and tag */
    uint64_t begin;     /* when the send began, in ticks */
    int64_t delay;      /* the sender's then, in ticks, times 2^RING_SIZE_BITS, plus ring_size() */
    uint32_t stream;    /* number in the stream */
    uint32_t statement; /* the sender's: index in the low half, its block's in the high one */
} __attribute__((aligned(32)));
_Static_assert(sizeof(struct ring_slot) == 32, "two in a cache line");

/* What travels beside a message. */
struct header {
    int64_t begin;
    int64_t delay;
    uint32_t statement;
    uint64_t number; /* of its slot */
};

/* Who has come back (mark.h): what this rank says of one way, and what the other does. */
struct mark_table {
    struct mark_slot *own; /* in the board; NULL: none made yet, */
    struct carried *own_paths;
    bool none, no_paths;            /* nor will there be any */
    const struct mark_slot *theirs; /* NULL: not seen yet */
    const struct carried *their_paths;
    uint32_t seen, paths_seen; /* of the other's board, */
    const uint32_t *areas;     /* which has so many by now; NULL: not looked at yet */
};

struct ring_out {
    struct ring_slot *slots; /* in the board */
    uint64_t next;           /* number of the next header; the first is 1 */
    uint32_t lock;
    bool careful;     /* several threads may publish, or `far` is there */
    struct twin *far; /* to another node, without slots here; NULL: through the board */
    int32_t me;
    uint32_t seen;                   /* of the receiver's board */
    uint64_t eager;                  /* sends of so many bytes did not wait for their receive */
    const struct ring_slot *answers; /* answer.h; NULL: not seen yet */
    struct carried *paths;           /* beside the slots; NULL: none made yet, */
    bool no_paths;                   /* nor will there be any */
    const struct carried *answer_paths;
    uint32_t answer_paths_seen;
    struct mark_table marks;
    uint8_t patience;        /* far: how often waiting for an answer may still be in vain */
    struct ring_slot *heard; /* far: in place of `answers`; NULL: none has come */
    struct ring_told *told;  /* and of `answer_paths` */
};

struct ring_in {
    const struct ring_slot
        *at;      /* slot of `low`, while nothing above it is taken; else of nothing */
    uint64_t low; /* lowest number that is neither taken nor lost */
    const struct ring_slot *slots; /* NULL: not seen yet */
    uint32_t ahead;                /* taken ones above `low` */
    uint32_t lost;                 /* overwritten before they were taken, and not yet missed */
    bool partial;                  /* some of its messages have no header at all */
    bool far;                      /* from another node: `slots` are ours, filled by ring_arrive */
    uint8_t patience;              /* far: how often waiting may still be in vain */
    uint64_t newest;               /* far: the last that has come; midway: that was seen */
    const struct snapshot *expect; /* that comes with the next header, likely; NULL: none does */
    int32_t rank, me;
    uint32_t seen;               /* of the sender's board */
    struct ring_slot *answers;   /* answer.h; NULL: none made yet, */
    bool no_answers;             /* nor will there be any */
    const struct carried *paths; /* beside the slots; NULL: not seen yet */
    uint32_t paths_seen;
    bool no_answer_paths;
    struct carried *answer_paths; /* the same as of answers */
    struct ring_told *told;       /* far: in place of `paths` */
    struct mark_table marks;
    uint64_t taken[RING_SLOTS / 64];
    /* By power of two of the size, the least that was seen; 0: none yet. */
    uint64_t sent[RING_SIZES];  /* from the send to the end of a receive that was waiting for it */
    uint64_t found[RING_SIZES]; /* of a receive that found its message there */
};

/* A path that came with a header from another node. */
struct ring_told {
    uint64_t number;
    struct path_told told;
};

/* How a message can come by its header. */
enum ring_result {
    RING_FOUND,
    RING_LOST, /* there was one, or which is its own cannot be said any more */
    RING_NONE, /* none was published: the sender was not intercepted */
};

/* For what is not to be found by its number in the stream. */
enum ring_order { RING_BY_NUMBER, RING_BY_ORDER };

/* Messages from `rank` to `me`; `slots` NULL: they are in that rank's board. */
void ring_open_in(struct ring_in *r, int32_t rank, int32_t me, struct ring_slot *slots);
/*
 * Between nodes the sender's slots travel as messages of our own (twin.h), and the receiver keeps
 * the last RING_SLOTS of each sender as the board of that rank would. What has not come when it is
 * wanted counts as lost: that it was never published cannot be known.
 */
void ring_arrive(struct ring_in *r, const struct ring_slot *slot, const struct path_told *told);
/* Who carries them; set by twin.c, which knows MPI. */
struct ring_carrier {
    struct twin *(*to)(int32_t rank); /* NULL: nothing can go there */
    bool (*from)(int32_t rank);       /* can anything come from there? */
    /* Never waits: what there is no room for is not sent. */
    void (*send)(struct twin *to, const struct ring_slot *slot, const struct path_told *told);
    /* Fetches what has come for anyone; false: no use to go on asking for what has been asked for
     * since `since`, by one who can wait (`patience`). */
    bool (*fetch)(bool patience, uint64_t since);
};
extern const struct ring_carrier *ring_carrier; /* NULL: there are no other nodes */
enum { RING_PATIENCE = 4 };

enum ring_result ring_take_slow(struct ring_in *r, uint32_t key, enum ring_order order,
                                uint32_t stream, uint64_t bytes, struct header *h);

/* Neighbours in time are not neighbours in memory: the next is written while this one is read. */
static inline uint32_t ring_at(uint64_t n)
{
    return (uint32_t)(n << 1 | (n / (RING_SLOTS / 2) & 1)) % RING_SLOTS;
}

/* A few bits of the size, by which a header that belongs to another message is told. */
static inline uint32_t ring_size(uint64_t bytes)
{
    bytes ^= bytes >> 36 ^ bytes >> 24;
    return (uint32_t)(bytes ^ bytes >> RING_SIZE_BITS) & ((1u << RING_SIZE_BITS) - 1);
}

HOT void ring_fill(struct ring_slot *s, uint32_t key, uint32_t stream, uint64_t begin,
                   int64_t delay, uint32_t statement, uint64_t bytes)
{
    s->key = key;
    s->begin = begin;
    s->delay = (int64_t)((uint64_t)delay << RING_SIZE_BITS | ring_size(bytes));
    s->stream = stream;
    s->statement = statement;
}

HOT void ring_publish(struct ring_out *r, uint32_t key, uint32_t stream, uint64_t begin,
                      int64_t delay, uint32_t statement, uint64_t bytes)
{
    uint64_t n = r->next++;
    struct ring_slot *s = &r->slots[ring_at(n)];
    __atomic_store_n(&s->number, (uint32_t)n ^ RING_MARK, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    ring_fill(s, key, stream, begin, delay, statement, bytes);
    __atomic_store_n(&s->number, (uint32_t)n, __ATOMIC_RELEASE);
    line_fetch(&r->slots[ring_at(n + 1)]);
}

/* True: the slot still holds that number, so what was copied is whole. */
HOT bool ring_copy(const struct ring_slot *s, uint64_t n, struct header *h, uint32_t *size)
{
    h->begin = (int64_t)s->begin;
    h->delay = s->delay >> RING_SIZE_BITS;
    *size = (uint32_t)s->delay & ((1u << RING_SIZE_BITS) - 1);
    h->statement = s->statement;
    h->number = n;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&s->number, __ATOMIC_RELAXED) == (uint32_t)n;
}

/* Header, what stands beside it and the snapshot that it names are in lines that the sender has
 * just written: fetched at once they take as long as the first alone. */
void ring_fetch_path(const struct ring_in *r);

/* The header of message `stream` of the stream that has this key. Mostly it is the next one. */
HOT enum ring_result ring_take(struct ring_in *r, uint32_t key, uint32_t stream, uint64_t bytes,
                               struct header *h)
{
    const struct ring_slot *s = r->at;
    uint32_t size;
    if (UNLIKELY(r->expect != NULL))
        ring_fetch_path(r);
    if (UNLIKELY(__atomic_load_n(&s->number, __ATOMIC_ACQUIRE) != (uint32_t)r->low ||
                 s->key != key || s->stream != stream || !ring_copy(s, r->low, h, &size) ||
                 size != ring_size(bytes) || h->statement & RING_LOOSE)) {
        struct header found = {0}; /* has an address; `h` should stay in registers */
        enum ring_result result = ring_take_slow(r, key, RING_BY_NUMBER, stream, bytes, &found);
        *h = found;
        return result;
    }
    r->low++;
    r->at = &r->slots[ring_at(r->low)];
    return RING_FOUND;
}

/* The path that belongs to a header that was taken from `r`, if it says that there is one. */
void ring_meet_path(struct ring_in *r, const struct header *h, int64_t at);

/*
 * Of a rank that was attached to in mid-run (anchor.h), headers are looked for by number alone,
 * from the newest on backwards: nobody knows which of the older ones are still to be taken.
 *
 * The number in its stream of the last header that began by `until`; 0: none has; -1: it cannot be
 * said any more.
 */
int64_t ring_begun(struct ring_in *r, uint32_t key, uint64_t until);
/* RING_LOST: overwritten. RING_NONE: it was not published yet, or is of another size; so whoever
 * asks has got its message has counted wrongly. */
enum ring_result ring_find(struct ring_in *r, uint32_t key, uint32_t stream, uint64_t bytes,
                           struct header *h);

/* The header that was published last is of a message that was not sent after all. */
bool ring_withdraw(struct ring_out *r);
static inline bool ring_is_last(const struct ring_out *r, uint32_t key, uint32_t stream)
{
    const struct ring_slot *last = &r->slots[ring_at(r->next - 1)];
    return last->key == key && last->stream == stream;
}

static inline void ring_learn(uint64_t *least, int64_t took)
{
    if (took > 0 && (!*least || (uint64_t)took < *least))
        *least = (uint64_t)took;
}

/*
 * How long after its send began a message of this size could be taken: what a receive that waited
 * for it took, from there on, less what one takes that finds its message there. So little is left
 * of a long message that moves only when both are there. `since` is when the receive began, `until`
 * when it ended.
 */
HOT int64_t ring_transfer(struct ring_in *r, const struct header *h, int64_t since, int64_t until,
                          uint64_t bytes)
{
    uint32_t bucket = size_bucket(bytes);
    uint64_t *sent = &r->sent[bucket], *found = &r->found[bucket];
    if (since < h->begin)
        ring_learn(sent, until - h->begin);
    else if (*sent && since - h->begin > (int64_t)*sent)
        ring_learn(found, until - since);
    return *sent > *found ? (int64_t)(*sent - *found) : 0;
}

/* The same from what is known; nothing is learnt. */
static inline int64_t ring_reckoned(const struct ring_in *r, uint64_t bytes)
{
    uint64_t sent = r->sent[size_bucket(bytes)], found = r->found[size_bucket(bytes)];
    return sent > found ? (int64_t)(sent - found) : 0;
}
_Static_assert(RING_SIZES == RECORD_SIZE_BUCKETS, "a bucket each");

#pragma GCC visibility pop

#endif
