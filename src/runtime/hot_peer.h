/* SPDX-License-Identifier: MIT */
/* The part of the hot path (runtime/hot.h, which includes it) that counts bytes and peers. */
#ifndef LOUPE_RUNTIME_HOT_PEER_H
#define LOUPE_RUNTIME_HOT_PEER_H

#include "runtime/thread.h"

static inline uint32_t size_bucket(uint64_t bytes)
{
    /* The lowest bit makes 0 like any other; nothing has 2^63 bytes. */
    uint32_t bucket = 63u ^ (uint32_t)__builtin_clzll(bytes << 1 | 1);
    return bucket < RECORD_SIZE_BUCKETS ? bucket : RECORD_SIZE_BUCKETS - 1;
}

/* Bytes of the statement as a whole, one message or one collective. */
static inline void statement_bytes(struct record_statement *s, uint64_t bytes)
{
    s->bytes += bytes;
    s->sizes[size_bucket(bytes)]++;
}

/* The same on the short way, where the machine counts zeros in one step, those of 0 too. */
static inline void short_bytes(struct record_statement *s, uint64_t bytes)
{
#if defined(__x86_64__)
    uint64_t zeros;
    __asm__("lzcnt %1, %0" : "=r"(zeros) : "rm"(bytes) : "cc");
    s->bytes += bytes;
    if (UNLIKELY(zeros <= 64 - RECORD_SIZE_BUCKETS)) {
        zeros = 64 - RECORD_SIZE_BUCKETS + 1;
        __asm__("" : "+r"(zeros)); /* a branch that is never taken, not two moves each time */
    }
    (s->sizes + 64)[-(int64_t)zeros]++;
#else
    statement_bytes(s, bytes);
#endif
}

static inline struct near_peer *near_peer(struct site *site, int32_t rank, uint32_t direction)
{
    return &site->near[direction][(uint32_t)rank % NEAR_PEERS];
}

/* One message that begins or ends at a peer that is known already. */
static inline void peer_add(struct record_peer *p, uint64_t bytes, uint64_t ticks)
{
    p->count++;
    p->bytes += bytes;
    p->time += ticks;
}

static inline struct record_peer *event_find_peer(struct thread *t, struct site *site, int32_t rank,
                                                  uint32_t direction)
{
    if (LIKELY(site->last_rank[direction] == rank && site->last_peer[direction]))
        return site->last_peer[direction];
    return event_peer_slow(t, site, rank, direction);
}

/* One message to or from `rank`; inside the odd section of `site`'s statement. */
static inline void event_peer(struct thread *t, struct site *site, int32_t rank, uint32_t direction,
                              uint64_t bytes, uint64_t ticks)
{
    struct record_peer *p = event_find_peer(t, site, rank, direction);
    if (LIKELY(p != NULL))
        peer_add(p, bytes, ticks);
}

#endif
