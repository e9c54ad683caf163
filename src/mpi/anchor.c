/* SPDX-License-Identifier: MIT */
#include "mpi/anchor.h"

uint64_t anchor_delivery;
uint32_t anchors_wanted;

static const struct anchor unknown = {.low = INT32_MIN, .high = INT32_MAX};

void anchor_begin(struct stream *s)
{
    s->midway = true;
    s->unsent = 1; /* so that nobody goes the short way */
    s->anchor = unknown;
}

void anchors_leave(void)
{
    anchors_wanted = 0;
}

static void set_known(struct anchor *a, bool known)
{
    if (a->known != known)
        anchors_wanted += known ? -1u : 1u;
    a->known = known;
}

void anchor_mixed(struct stream *s)
{
    if (!s->anchor.mixed)
        anchors_wanted -= !s->anchor.known;
    s->anchor.known = false;
    s->anchor.mixed = true;
}

bool anchor_due(const struct stream *s)
{
    static uint32_t calls;
    if (!s)
        return anchors_wanted || calls++ % ANCHOR_EVERY == 0;
    return s->midway && !s->anchor.mixed && (!s->anchor.known || s->count % ANCHOR_EVERY == 0);
}

static void forget(struct anchor *a)
{
    set_known(a, false);
    *a = unknown;
}

static void forget_high(struct anchor *a)
{
    set_known(a, false);
    a->high = INT32_MAX;
    a->votes = 0;
}

static void settle(struct anchor *a)
{
    set_known(a, a->low == a->high && a->votes >= ANCHOR_VOTES);
}

void anchor_absent(struct stream *s, uint32_t number, uint64_t at)
{
    struct anchor *a = &s->anchor;
    int64_t begun = s->midway && !a->mixed && at > anchor_delivery
                        ? ring_begun(s->in, s->key, at - anchor_delivery)
                        : -1;
    if (begun < 0)
        return;
    int32_t high = (int32_t)(number - 1 - (uint32_t)begun);
    if (high < a->low) {
        /* Someone lost his processor between header and message. If it is always so, then `low` is
         * not true any more: a message was received that nobody has counted. */
        forget_high(a);
        if (++a->doubts == ANCHOR_DOUBTS)
            forget(a);
        return;
    }
    a->doubts = 0;
    if (high < a->high) {
        a->high = high;
        a->votes = 0;
    }
    if (high == a->high && a->votes < ANCHOR_VOTES)
        a->votes++;
    settle(a);
}

/* A message has come: its header is there. */
static void got(struct stream *s, uint32_t number)
{
    struct anchor *a = &s->anchor;
    int64_t begun = ring_begun(s->in, s->key, UINT64_MAX);
    if (begun < 0)
        return;
    int32_t low = (int32_t)(number - (uint32_t)begun);
    if (low > a->low)
        a->low = low;
    if (a->low > a->high)
        forget_high(a);
    settle(a);
}

enum ring_result anchor_take(struct stream *s, uint32_t number, uint64_t bytes, struct header *h)
{
    struct anchor *a = &s->anchor;
    if (!a->known && !a->mixed)
        got(s, number);
    if (!a->known || !anchor_number(s, &number) || (int32_t)number <= 0)
        return RING_LOST; /* or it was under way at the beginning */
    enum ring_result result = ring_find(s->in, s->key, number, bytes, h);
    if (result == RING_NONE) {
        forget(a);
        return RING_LOST;
    }
    return result;
}
