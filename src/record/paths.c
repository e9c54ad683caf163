/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a block, as readers see it. The record says what was when it changed last;
 * what has gone on since is in the length and in every active item alike.
 */
#include "base/alloc.h"
#include "record/visit.h"

/* More ticks than any path has, and few enough that sums of them are numbers. */
#define TICKS_MOST (INT64_C(1) << 60)

static bool sane(int64_t ticks)
{
    return ticks > -TICKS_MOST && ticks < TICKS_MOST;
}

static int64_t within(int64_t least, int64_t value, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

struct moment {
    uint64_t now, delay; /* real ticks */
};

/* One try to copy the record and the delay that belongs to it; false: they changed meanwhile. */
static bool try_path(const struct visit *v, const struct block *b, const struct record_path *live,
                     struct record_path *copy, struct moment *m)
{
    uint32_t version = segment_load32(&live->version);
    if (version & 1)
        return false;
    m->delay = visit_delay(v, b->thread);
    segment_copy(copy, live, sizeof *copy);
    /* Between `now` and here it may have waited, which is in the copy already. */
    m->now = v->to->running ? record_now(v->reader) : v->now;
    return visit_delay(v, b->thread) == m->delay && segment_load32(&live->version) == version;
}

/* Up to when the length has grown, in virtual ticks: to its end, to where it waits, to now. The
 * margin is for what a probe has cost and its thread has not said yet. */
static uint64_t grown_until(const struct visit *v, const struct record_path *p, struct moment m)
{
    if (p->ended)
        return p->ended;
    uint64_t until = m.now - v->margin - m.delay;
    return p->waits && (int64_t)(p->waits - until) < 0 ? p->waits : until;
}

static bool valid(const struct record_path *p)
{
    if (p->items > RECORD_PATH_ITEMS || p->strip_shift >= 60 || !sane(p->mpi))
        return false;
    uint32_t known = p->items < 32 ? (1u << p->items) - 1 : UINT32_MAX;
    if (p->active & ~known)
        return false;
    if (p->innermost != RECORD_PATH_NO_ITEM &&
        (p->innermost >= p->items || !(p->active >> p->innermost & 1)))
        return false;
    for (uint32_t i = 0; i < p->items; i++)
        if (!sane(p->item[i].share) || !sane(p->item[i].exclusive) || !sane(p->item[i].excess) ||
            p->item[i].excess < 0 || !sane(p->spent[i]))
            return false;
    return true;
}

/* What an item has of the path up to `length`. Visits that stand for others make a share an
 * estimate, which may be off either way, but a part of the path it is. */
static struct record_path_item whole_item(const struct record_path *p, uint32_t item,
                                          int64_t length)
{
    struct record_path_item whole = p->item[item];
    if (p->active >> item & 1)
        whole.share += length;
    if (p->innermost == item)
        whole.exclusive += length;
    whole.share = within(0, whole.share, length);
    whole.exclusive = within(0, whole.exclusive, whole.share);
    whole.excess = within(0, whole.excess, whole.share);
    return whole;
}

/* A thread that loses its core just before it says that it waits, or whose slow path is not
 * accounted for yet, seems to compute meanwhile: what was given then stands until it is true. */
static int64_t not_below(struct visit *v, const struct block *b, uint32_t generation,
                         int64_t length)
{
    struct record_reader *r = v->reader;
    while (r->floor_count <= b->index)
        *VEC_PUSH(r->floors, r->floor_count, r->floor_room) = (struct path_floor){0};
    struct path_floor *floor = &r->floors[b->index];
    if (floor->generation != generation || floor->length < length)
        *floor = (struct path_floor){generation, length};
    return floor->length;
}

/* The strip is written now and then; since then the path went on in this rank. Where it has
 * outgrown its strip, two buckets become one, of which the later counts, as its writer will do. */
static void whole_strip(struct record_path_reading *r, const struct record_path *p, int32_t rank)
{
    uint32_t shift = p->strip_shift, known = 0;
    for (uint32_t i = 0; i < RECORD_PATH_STRIP; i++) {
        r->strip[i] = p->strip[i];
        known = p->strip[i] ? i + 1 : known;
    }
    for (; r->length >> shift >= RECORD_PATH_STRIP; shift++) {
        for (uint32_t i = 0; i < RECORD_PATH_STRIP / 2; i++)
            r->strip[i] = r->strip[2 * i + 1] ? r->strip[2 * i + 1] : r->strip[2 * i];
        for (uint32_t i = RECORD_PATH_STRIP / 2; i < RECORD_PATH_STRIP; i++)
            r->strip[i] = 0;
        known = (known + 1) / 2;
    }
    r->bucket = INT64_C(1) << shift;
    for (uint32_t i = known; r->length && i <= (uint32_t)(r->length >> shift); i++)
        r->strip[i] = rank >= 0 && rank < UINT16_MAX ? (uint16_t)(rank + 1) : 0;
}

void paths_give(struct visit *v, struct block *b)
{
    struct record_path copy;
    struct moment m;
    if (!v->to->path || !b->paths.count || !b->paths.refs[0].used || v->now <= v->margin)
        return;
    const struct record_path *live = (const void *)(b->paths.refs[0].chunk + 1);
    for (int tries = 0; !try_path(v, b, live, &copy, &m); tries++)
        if (!visit_patience(v, tries)) {
            v->torn++;
            return; /* its numbers belong together, or mean nothing */
        }
    if (!copy.generation)
        return;
    uint64_t until = grown_until(v, &copy, m);
    int64_t length = (int64_t)(until - (uint64_t)copy.offset);
    int64_t spent = (int64_t)(until - (uint64_t)copy.idle);
    if (!valid(&copy) || !sane(length) || !sane(spent)) {
        v->reader->damaged = true;
        return;
    }
    length = not_below(v, b, copy.generation, length > 0 ? length : 0);
    struct record_path_reading r = {.generation = copy.generation,
                                    .items = copy.items,
                                    .began = copy.began,
                                    .length = length,
                                    .spent = spent > 0 ? spent : 0,
                                    .met = copy.met,
                                    .adopted = copy.adopted,
                                    .ended = copy.ended != 0};
    r.mpi = within(0, copy.mpi, r.length);
    for (uint32_t i = 0; i < copy.items; i++) {
        r.item[i] = whole_item(&copy, i, r.length);
        r.item_spent[i] = within(0, copy.spent[i] + (copy.active >> i & 1 ? r.spent : 0), r.spent);
    }
    whole_strip(&r, &copy, v->reader->header.rank);
    v->to->path(v->to->data, b->index, &r);
}
