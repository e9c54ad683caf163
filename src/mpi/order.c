/* SPDX-License-Identifier: MIT */
#include "mpi/order.h"

/* Communicators and tags that are received from any source by turns; one that finds its place
 * taken takes it over, and its next message has nothing to be compared with. */
enum { PLACES = 64 };

/* The message that was sent last, in virtual time, of those that were received so far. */
static struct latest {
    uint64_t comm; /* 0: none */
    int32_t tag, rank;
    int64_t begin, ideal; /* when it was sent: really, and in virtual time */
} latest[PLACES];

static struct latest *place_of(uint64_t comm, int32_t tag)
{
    uint64_t x = (comm ^ (uint64_t)(uint32_t)tag) * 0x9e3779b97f4a7c15u;
    return &latest[x >> 58];
}

bool order_changed(uint64_t comm, int32_t tag, int32_t rank, const struct header *h)
{
    struct latest *last = place_of(comm, tag);
    struct latest now = {comm, tag, rank, h->begin, h->begin - h->delay};
    if (last->comm == comm && last->tag == tag && now.ideal < last->ideal)
        return rank != last->rank && now.begin > last->begin;
    *last = now;
    return false;
}
