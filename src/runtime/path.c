/* SPDX-License-Identifier: MIT */
#include "runtime/path.h"

#include "runtime/hot.h"
#include "runtime/options.h"
#include "runtime/path_log.h"
#include "runtime/probe.h"
#include "runtime/process.h"

#include <errno.h>
#include <string.h>

void (*loupe_path_plan)(struct thread *t, uint32_t generation, int64_t at);

/* ---- start and end ---- */

/* Private part and record stay with the block. */
static struct path *make(struct thread *t)
{
    int saved = errno;
    struct path *p = pages_alloc(sizeof *p);
    struct record_chunk *chunk =
        p ? record_writer_chunk(&loupe_process.writer, RECORD_KIND_PATHS, t->block_index) : NULL;
    if (chunk) {
        p->record = (struct record_path *)(chunk + 1);
        __atomic_store_n(&chunk->used, 1, __ATOMIC_RELEASE);
    } else {
        pages_free(p, sizeof *p);
        p = NULL;
    }
    errno = saved;
    return p;
}

static uint32_t items_of(const struct plan *plan)
{
    uint32_t items = plan->items; /* some may have no range yet */
    for (uint32_t i = 0; i < plan->count && i < PLAN_RANGES; i++)
        if (plan->ranges[i].item >= items)
            items = plan->ranges[i].item + 1;
    return items < RECORD_PATH_ITEMS ? items : RECORD_PATH_ITEMS;
}

/* A thread that takes over the block of one that has ended goes on with what that has spent. */
static int64_t keep_spent(const struct path *p, uint32_t generation,
                          int64_t spent[RECORD_PATH_ITEMS])
{
    const struct record_path *r = p->record;
    bool kept = r->ended && r->generation == generation;
    int64_t all = kept ? path_spent(p, (int64_t)r->ended) : 0;
    for (uint32_t i = 0; i < RECORD_PATH_ITEMS; i++)
        spent[i] = kept ? r->spent[i] + (r->active >> i & 1 ? all : 0) : 0;
    return all;
}

static void clear(struct path *p, const struct plan *plan, int64_t at)
{
    struct record_path *r = p->record;
    int64_t spent[RECORD_PATH_ITEMS], all = keep_spent(p, plan->generation, spent);
    uint32_t version = r->version | 1;
    r->version = version;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memset((char *)r + sizeof version, 0, sizeof *r - sizeof version);
    memcpy(r->spent, spent, sizeof spent);
    r->offset = at;
    r->idle = at - all;
    r->began = clock_now();
    r->innermost = RECORD_PATH_NO_ITEM;
    r->strip_shift = PATH_STRIP_FIRST;
    p->items = r->items = items_of(plan);
    p->touched = 0;
    p->begin = p->last = p->start = at;
    p->adopted = p->floor = 0;
    p->statement = RECORD_PATH_NO_ITEM;
    p->depth = p->deep = p->strip_at = 0;
    p->generation = r->generation = plan->generation;
    p->change++;
    p->whole = false;
    memset(p->visits, 0, sizeof p->visits);
    memset(p->exclusive, 0, sizeof p->exclusive);
    for (uint32_t i = 0; i < RECORD_PATH_ITEMS; i++)
        p->looked[i] = (struct path_spent){.all = spent[i]};
    p->looked_at = at;
    p->looked_spent = all;
    p->lost = p->went = 0;
    path_close(r);
}

/* What was lost until now is not of the new path, but in the communication that it begins in. */
static uint64_t lost_inside(struct thread *t)
{
    uint64_t before = t->block->preempted_mpi;
    event_look(t);
    bool inside = t->guard && t->open && t->open->record->open;
    return inside ? t->block->preempted_mpi - before : 0;
}

void path_start_at(struct thread *t, const struct plan *plan, int64_t at)
{
    if (!plan->on) {
        path_end(t);
        return;
    }
    if (!t->path_kept)
        t->path_kept = make(t);
    if (!t->path_kept)
        return;
    if (!path_log_on && loupe_process.writer.header->rank >= 0) /* MPI_Init has returned */
        path_log_open(options_path_log(), loupe_process.writer.header->rank);
    uint64_t lost = t->preempt.known ? lost_inside(t) : 0;
    const struct plan *shared = loupe_process.plan;
    uint64_t waits = t->path ? t->path->record->waits : 0;
    clear(t->path_kept, plan, at);
    t->path_kept->newest = shared ? &shared->generation : &t->path_kept->generation;
    t->path_kept->record->waits = waits;
    t->path_kept->lost = lost;
    t->path = t->path_kept;
    if (path_log_on)
        path_log_line(t, "start", plan->generation, at);
}

static int64_t virtual_now(const struct thread *t)
{
    return (int64_t)clock_now() - ((*t->delay & t->taken) >> RECORD_TIME_SHIFT);
}

void path_start(struct thread *t, const struct plan *plan)
{
    bool inside = t->guard && t->path && t->path->record->waits;
    path_start_at(t, plan, inside ? t->path->begin : virtual_now(t));
}

void path_turn(struct thread *t)
{
    struct path *p = t->path;
    uint32_t before = p->generation;
    if (loupe_path_plan)
        loupe_path_plan(t, __atomic_load_n(p->newest, __ATOMIC_ACQUIRE), p->begin);
    if (t->path && p->generation == before) /* it cannot be read: not again and again */
        p->newest = &p->generation;
}

void path_end(struct thread *t)
{
    struct path *p = t->path;
    if (!p)
        return;
    struct record_path *r = p->record;
    int64_t at = r->waits ? p->begin : virtual_now(t);
    at = at < p->last && !r->waits ? p->last : at;
    if (t->probes)
        probe_reckon(t->probes, at);
    path_open(r);
    path_strip(p, path_length(p, at));
    r->ended = (uint64_t)at;
    r->waits = 0;
    path_close(r);
    if (path_log_on) {
        path_log_line(t, "end", at, INT64_MIN);
        path_log_flush();
    }
    t->path = NULL;
}

/* ---- the strip ---- */

/* Of two buckets the later one stays, if the path has come there. */
static void fold(uint16_t strip[RECORD_PATH_STRIP], uint32_t *shift)
{
    for (uint32_t i = 0; i < RECORD_PATH_STRIP / 2; i++)
        strip[i] = strip[2 * i + 1] ? strip[2 * i + 1] : strip[2 * i];
    memset(strip + RECORD_PATH_STRIP / 2, 0, sizeof *strip * RECORD_PATH_STRIP / 2);
    (*shift)++;
}

/* From bucket *at on, up to this length, it was `rank`: those buckets that it has left. In the one
 * it has come to, another may take it over. True: that is news. */
static bool carry(uint16_t strip[RECORD_PATH_STRIP], uint32_t *shift, uint32_t *at, int64_t length,
                  int32_t rank)
{
    bool news = false;
    while (*shift < 62 && length >> *shift >= RECORD_PATH_STRIP) {
        fold(strip, shift);
        *at /= 2;
        news = true;
    }
    uint32_t to = (uint32_t)(length >> *shift);
    uint16_t who = (uint16_t)(rank + 1);
    for (; *at < to && *at < RECORD_PATH_STRIP; ++*at)
        if (strip[*at] != who) {
            strip[*at] = who;
            news = true;
        }
    *at = to < RECORD_PATH_STRIP ? to : RECORD_PATH_STRIP - 1;
    return news;
}

void path_strip(struct path *p, int64_t length)
{
    struct record_path *r = p->record;
    if (length > 0 &&
        carry(r->strip, &r->strip_shift, &p->strip_at, length, loupe_process.writer.header->rank))
        p->change++;
}

/* ---- meeting ---- */

/* Whatever others say must not overflow: sums are made of unsigned numbers. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The length, if bit `i` says that it is to be added. */
static int64_t when(uint32_t bits, uint32_t i, int64_t length)
{
    return -(int64_t)(bits >> i & 1) & length;
}

static uint32_t bit_of(uint32_t item)
{
    return item < RECORD_PATH_ITEMS ? 1u << item : 0;
}

/* What the other has of an item. */
static const struct record_path_item *its_item(const struct path_told *other, uint32_t item)
{
    static const struct record_path_item none;
    return other->touched >> item & 1 ? &other->item[item] : &none;
}

/* The own path is the longer one: it stays, net of an item the other may be longer. `items`: those
 * that either was ever in, a bit each; net of another one both are as long as they are. */
static bool stay(struct path *p, int64_t length, const struct path_told *other, uint32_t items)
{
    struct record_path *r = p->record;
    bool news = false;
    for (; items; items &= items - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(items);
        struct record_path_item *mine = &r->item[i];
        const struct record_path_item *its = its_item(other, i);
        int64_t net = minus(length, plus(mine->share, when(r->active, i, length)));
        int64_t its_net = plus(minus(other->length, its->share), its->excess);
        int64_t excess = minus(its_net, net);
        news |= excess > mine->excess;
        mine->excess = excess > mine->excess ? excess : mine->excess;
    }
    return news;
}

/* True: no other path than that one is the longest net of an item. */
static bool adopt(struct path *p, int64_t length, const struct path_told *other, uint32_t items)
{
    struct record_path *r = p->record;
    uint32_t inner = bit_of(r->innermost);
    bool whole = true;
    for (; items; items &= items - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(items);
        struct record_path_item *mine = &r->item[i];
        const struct record_path_item *its = its_item(other, i);
        int64_t net =
            plus(minus(length, plus(mine->share, when(r->active, i, length))), mine->excess);
        int64_t excess = minus(net, minus(other->length, its->share));
        whole &= excess <= its->excess;
        mine->excess = excess > its->excess ? excess : its->excess;
        mine->share = minus(its->share, when(r->active, i, other->length));
        mine->exclusive = minus(its->exclusive, when(inner, i, other->length));
    }
    return whole;
}

static void adopt_length(struct path *p, int64_t at, int64_t length, int64_t mpi)
{
    struct record_path *r = p->record;
    int64_t bucket = length >> r->strip_shift;
    p->strip_at = bucket < RECORD_PATH_STRIP ? (uint32_t)bucket : RECORD_PATH_STRIP - 1;
    r->offset = minus(at, length);
    r->mpi = mpi;
    r->adopted++;
    p->adoptions++;
    p->adopted = p->floor = length;
}

static bool is_path(const struct path_told *o)
{
    return o->generation && o->length >= 0 && o->length < PATH_LENGTH_MAX &&
           o->items <= RECORD_PATH_ITEMS && o->strip_shift < 62 &&
           !(o->touched & ~path_items(o->items));
}

bool path_meet(struct thread *t, int64_t at, const struct path_told *other)
{
    struct path *p = t->path;
    if (!is_path(other))
        return false;
    if (UNLIKELY(!p || (int32_t)(other->generation - p->generation) > 0) && loupe_path_plan) {
        loupe_path_plan(t, other->generation, at);
        p = t->path;
    }
    if (!p || p->generation != other->generation || p->items != other->items)
        return false;
    struct record_path *r = p->record;
    int64_t length = path_length(p, at);
    if (UNLIKELY(path_log_on))
        path_log_heard(t, other);
    path_open(r);
    r->met++;
    p->whole = false;
    p->touched |= other->touched;
    if (other->length > length) {
        p->whole = adopt(p, length, other, p->touched);
        r->strip_shift = other->strip_shift;
        memcpy(r->strip, other->strip, sizeof r->strip);
        adopt_length(p, at, other->length, other->mpi);
        p->change++;
    } else if (stay(p, length, other, p->touched)) {
        p->change++;
    }
    path_close(r);
    return true;
}

/* Net of any item too, the longer one is the longer. */
bool path_meet_same(struct thread *t, int64_t at, int64_t length, int64_t mpi)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    if (length < 0 || length >= PATH_LENGTH_MAX)
        return false;
    path_open(r);
    r->met++;
    if (length > path_length(p, at))
        adopt_length(p, at, length, mpi);
    path_close(r);
    return true;
}

void path_waited(struct thread *t, int64_t ticks)
{
    struct record_path *r = t->path->record;
    t->path->waited++;
    if (ticks <= 0)
        return;
    path_open(r);
    r->offset += ticks;
    r->idle += ticks;
    path_close(r);
}

void path_tell(struct thread *t, int64_t at, struct path_told *told)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    int64_t length = path_length(p, at);
    uint32_t inner = bit_of(r->innermost);
    path_strip(p, length);
    *told = (struct path_told){.generation = p->generation,
                               .items = p->items,
                               .length = length,
                               .mpi = r->mpi,
                               .strip_shift = r->strip_shift,
                               .rank = loupe_process.writer.header->rank,
                               .number = p->published,
                               .touched = p->touched};
    memcpy(told->strip, r->strip, sizeof told->strip);
    for (uint32_t i = 0; i < p->items; i++) {
        told->item[i] = r->item[i];
        told->item[i].share += when(r->active, i, length);
        told->item[i].exclusive += when(inner, i, length);
    }
    p->floor = length;
    if (UNLIKELY(path_log_on))
        path_log_send(t, at, told->rank);
    p->published++;
}
