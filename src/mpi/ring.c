/* SPDX-License-Identifier: MIT */
#include "mpi/ring.h"

#include "runtime/process.h"

#include <string.h>

enum { TRIES = 4 }; /* searches that the sender may overtake before the header counts as lost */

/* What a ring that was not seen yet looks like: no number of it is ever expected. */
static const struct ring_slot nothing;

enum slot_state { SLOT_THERE, SLOT_NOT_YET, SLOT_OVERRUN };

const struct ring_carrier *ring_carrier;

void ring_open_in(struct ring_in *r, int32_t rank, int32_t me, struct ring_slot *slots)
{
    *r = (struct ring_in){.at = &nothing,
                          .low = 1,
                          .rank = rank,
                          .me = me,
                          .slots = slots,
                          .far = slots,
                          .patience = RING_PATIENCE};
}

static bool seen(struct ring_in *r)
{
    if (!r->slots) {
        const struct board *b = board_of(r->rank);
        r->slots =
            board_look(b, BOARD_RING, (uint64_t)r->me, RING_SLOTS * sizeof *r->slots, &r->seen);
    }
    return r->slots;
}

/* Numbers wrap; no reader is half of all numbers behind. *newest: what the slot holds instead. */
static enum slot_state state_of(const struct ring_slot *s, uint64_t n, uint64_t *newest)
{
    uint32_t number = __atomic_load_n(&s->number, __ATOMIC_ACQUIRE);
    int32_t far = (int32_t)(number - (uint32_t)n);
    if (far == 0)
        return SLOT_THERE;
    if (far >= 1 << 30 || far < -(1 << 30))
        far = (int32_t)((uint32_t)far ^ RING_MARK);
    if (far <= 0)
        return SLOT_NOT_YET;
    *newest = n + (uint32_t)far;
    return SLOT_OVERRUN;
}

static bool is_taken(const struct ring_in *r, uint64_t n)
{
    return r->taken[n % RING_SLOTS / 64] >> (n % 64) & 1;
}

static void put_at(struct ring_in *r)
{
    r->at = r->ahead ? &nothing : &r->slots[ring_at(r->low)];
}

/* Everything below `to` is behind us. */
static void forget_below(struct ring_in *r, uint64_t to)
{
    uint64_t whole = to - r->low;
    for (uint64_t n = r->low; n < to && n < r->low + RING_SLOTS; n++)
        if (is_taken(r, n)) {
            r->taken[n % RING_SLOTS / 64] &= ~(1ull << n % 64);
            r->ahead--;
            whole--;
        }
    r->lost += (uint32_t)(whole < UINT32_MAX - r->lost ? whole : UINT32_MAX - r->lost);
    r->low = to;
}

static void mark_taken(struct ring_in *r, uint64_t n)
{
    r->taken[n % RING_SLOTS / 64] |= 1ull << n % 64;
    r->ahead++;
    while (r->ahead && is_taken(r, r->low)) {
        r->taken[r->low % RING_SLOTS / 64] &= ~(1ull << r->low % 64);
        r->ahead--;
        r->low++;
    }
}

static enum ring_result missed(struct ring_in *r)
{
    if (r->lost)
        r->lost--;
    return RING_LOST;
}

struct wanted {
    uint32_t key, stream;
    enum ring_order order;
    uint64_t bytes;
};

enum seen_result { SEEN_TAKE, SEEN_LOST, SEEN_OTHER, SEEN_OVERRUN };

/* Is the header in slot `n` the wanted one? Headers of one stream stand in their order. */
static enum seen_result look_at(struct ring_in *r, uint64_t n, const struct wanted *w,
                                struct header *h, uint32_t *size)
{
    const struct ring_slot *s = &r->slots[ring_at(n)];
    if (s->key != w->key)
        return SEEN_OTHER;
    uint32_t stream = s->stream;
    if (!ring_copy(s, n, h, size))
        return SEEN_OVERRUN;
    if (w->order == RING_BY_ORDER || h->statement & RING_LOOSE)
        return SEEN_TAKE;
    int32_t later = (int32_t)(stream - w->stream);
    return later == 0 ? SEEN_TAKE : later > 0 ? SEEN_LOST : SEEN_OTHER;
}

/* Found where its number says, or as the first of its stream. Without a number it can only be told
 * while nothing was lost; else each message uses one header up, until none is left over. */
static enum ring_result take(struct ring_in *r, uint64_t n, const struct wanted *w,
                             struct header *h, uint32_t size)
{
    bool numbered = w->order == RING_BY_NUMBER && !(h->statement & RING_LOOSE);
    bool sure = numbered || (!r->lost && !r->partial);
    if (sure && size != ring_size(w->bytes)) {
        r->partial = true;
        return RING_NONE;
    }
    mark_taken(r, n);
    h->statement &= ~RING_LOOSE;
    return sure ? RING_FOUND : RING_LOST;
}

static bool search(struct ring_in *r, const struct wanted *w, struct header *h,
                   enum ring_result *result)
{
    for (uint64_t n = r->low; n < r->low + RING_SLOTS; n++) {
        uint64_t newest;
        uint32_t size;
        enum slot_state state = state_of(&r->slots[ring_at(n)], n, &newest);
        if (state == SLOT_NOT_YET)
            break;
        if (state == SLOT_OVERRUN) {
            forget_below(r, newest - RING_SLOTS + 1);
            return false;
        }
        if (is_taken(r, n))
            continue;
        enum seen_result seen = look_at(r, n, w, h, &size);
        if (seen == SEEN_OVERRUN)
            return false;
        if (seen == SEEN_OTHER)
            continue;
        *result = seen == SEEN_TAKE ? take(r, n, w, h, size) : missed(r);
        return true;
    }
    *result = r->lost && !r->far ? missed(r) : RING_NONE;
    r->partial |= *result == RING_NONE && !r->far;
    return true;
}

/* The room for paths is made when the first one comes; without it they are not known. */
static void keep_told(struct ring_in *r, uint64_t n, const struct path_told *told)
{
    if (!r->told)
        r->told = pages_alloc(RING_SLOTS * sizeof *r->told);
    if (!r->told)
        return;
    struct ring_told *kept = &r->told[n % RING_SLOTS];
    kept->number = n;
    memcpy(&kept->told, told, path_told_bytes(told->items));
}

void ring_arrive(struct ring_in *r, const struct ring_slot *slot, const struct path_told *told)
{
    int32_t ahead = (int32_t)(slot->number - (uint32_t)r->newest);
    if (ahead <= 0) /* they come in order */
        return;
    struct ring_slot *slots = (struct ring_slot *)r->slots;
    uint64_t n = r->newest + (uint32_t)ahead;
    /* Those in between were not sent: nobody finds anything in them. */
    uint64_t first = n - r->newest > RING_SLOTS ? n - RING_SLOTS : r->newest + 1;
    for (uint64_t gap = first; gap < n; gap++)
        slots[ring_at(gap)] = (struct ring_slot){.number = (uint32_t)gap};
    slots[ring_at(n)] = *slot;
    r->newest = n;
    if (told)
        keep_told(r, n, told);
    struct ring_slot *last = &slots[ring_at(n - 1)];
    if (slot->statement == RING_VOID) {
        slots[ring_at(n)] = (struct ring_slot){.number = (uint32_t)n};
        if (last->key == slot->key && last->stream == slot->stream)
            *last = (struct ring_slot){.number = (uint32_t)(n - 1)};
    }
}

void ring_meet_path(struct ring_in *r, const struct header *h, int64_t at)
{
    if (r->far) {
        const struct ring_told *kept = r->told ? &r->told[h->number % RING_SLOTS] : NULL;
        carry_meet_told(kept && kept->number == h->number ? &kept->told : NULL, at);
        return;
    }
    if (!r->paths)
        r->paths = board_look(board_of(r->rank), BOARD_RING_PATHS, (uint64_t)r->me,
                              RING_SLOTS * sizeof *r->paths, &r->paths_seen);
    r->expect =
        carry_meet(r->rank, r->paths ? &r->paths[h->number % RING_SLOTS] : NULL, h->number, at);
}

void ring_fetch_path(const struct ring_in *r)
{
    __builtin_prefetch(&r->at->number);
    __builtin_prefetch(&r->paths[r->low % RING_SLOTS]);
    carry_fetch(r->expect);
}

/* On another node, so it may still be on its way. */
static enum ring_result take_far(struct ring_in *r, const struct wanted *w, struct header *h)
{
    enum ring_result result = RING_NONE;
    uint64_t since = clock_now();
    bool more = true, again = true;
    while (again) {
        again = more; /* what the last time brings is still looked at */
        for (int tries = 0; tries < TRIES && !search(r, w, h, &result); tries++)
            result = RING_NONE; /* what was overrun has been left behind */
        if (result != RING_NONE)
            break;
        more = more && ring_carrier->fetch(r->patience, since);
    }
    if (result == RING_FOUND)
        r->patience = RING_PATIENCE;
    else if (result == RING_NONE && r->patience)
        r->patience--;
    return result == RING_NONE ? missed(r) : result;
}

enum ring_result ring_take_slow(struct ring_in *r, uint32_t key, enum ring_order order,
                                uint32_t stream, uint64_t bytes, struct header *h)
{
    const struct wanted w = {.key = key, .stream = stream, .order = order, .bytes = bytes};
    enum ring_result result = RING_LOST;
    bool done = false;
    if (!seen(r)) {
        r->partial = true;
        return RING_NONE;
    }
    if (r->far) {
        result = take_far(r, &w, h);
        done = true;
    }
    for (int tries = 0; !done && tries < TRIES; tries++)
        done = search(r, &w, h, &result);
    put_at(r);
    return done ? result : missed(r);
}

/* ---- midway ---- */

static void catch_up(struct ring_in *r)
{
    for (int tries = 0; tries < 2 * RING_SLOTS; tries++) {
        uint64_t n = r->newest + 1, newest;
        enum slot_state state = state_of(&r->slots[ring_at(n)], n, &newest);
        if (state == SLOT_NOT_YET)
            break;
        r->newest = state == SLOT_THERE ? n : newest - 1; /* that one may still be in the making */
    }
}

/* Goes back from the newest. */
struct looking_back {
    uint64_t n;      /* slot to be looked at next, */
    uint64_t end;    /* down to this one */
    uint64_t oldest; /* when the last one began that was looked at */
    bool lost;       /* there were older ones */
};

/* The next older header of the stream that has this key; its number there, 0: no more. */
static uint32_t look_back(struct ring_in *r, struct looking_back *l, uint32_t key, struct header *h,
                          uint32_t *size)
{
    while (l->n > l->end) {
        uint64_t n = l->n--, newest;
        const struct ring_slot *s = &r->slots[ring_at(n)];
        enum slot_state state = state_of(s, n, &newest);
        uint32_t stream = s->stream, has = s->key;
        if (state == SLOT_OVERRUN || (state == SLOT_THERE && !ring_copy(s, n, h, size))) {
            l->lost = true;
            l->n = l->end;
        } else if (state == SLOT_THERE) {
            l->oldest = (uint64_t)h->begin;
            if (has == key)
                return stream;
        }
    }
    return 0;
}

static struct looking_back look_from_newest(struct ring_in *r)
{
    catch_up(r);
    struct looking_back l = {.n = r->newest, .oldest = UINT64_MAX};
    l.lost = r->newest > RING_SLOTS;
    l.end = l.lost ? r->newest - RING_SLOTS : 0;
    return l;
}

int64_t ring_begun(struct ring_in *r, uint32_t key, uint64_t until)
{
    struct header h;
    uint32_t size, lowest = 0;
    if (!seen(r))
        return 0;
    struct looking_back l = look_from_newest(r);
    for (uint32_t stream; (stream = look_back(r, &l, key, &h, &size)); lowest = stream)
        if ((uint64_t)h.begin <= until)
            return stream;
    if (!l.lost)
        return 0;
    return lowest && l.oldest <= until ? (int64_t)lowest - 1
                                       : -1; /* what was overwritten began before */
}

enum ring_result ring_find(struct ring_in *r, uint32_t key, uint32_t stream, uint64_t bytes,
                           struct header *h)
{
    uint32_t size;
    bool later = false;
    if (!seen(r))
        return RING_NONE;
    struct looking_back l = look_from_newest(r);
    for (uint32_t number; (number = look_back(r, &l, key, h, &size)); later = true) {
        if (number == stream)
            return size == ring_size(bytes) ? RING_FOUND : RING_NONE;
        if ((int32_t)(number - stream) < 0)
            return later ? RING_LOST : RING_NONE;
    }
    return later || l.lost ? RING_LOST : RING_NONE;
}

bool ring_withdraw(struct ring_out *r)
{
    if (r->next < 2)
        return false;
    r->next--; /* the next header takes its place */
    struct ring_slot *s = &r->slots[ring_at(r->next)];
    __atomic_store_n(&s->number, (uint32_t)r->next ^ RING_MARK, __ATOMIC_RELEASE);
    return true;
}
