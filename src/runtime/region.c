/* SPDX-License-Identifier: MIT */
/* Regions that the program names itself: loupe_begin(name), loupe_end(name). */
#include "record/plan.h"
#include "runtime/hot.h"
#include "runtime/path.h"
#include "runtime/process.h"

/* As documented; the last frame of a block is not in use. */
enum { REGIONS_MAX = RECORD_FRAMES - 1 };

static struct site *region_site(struct thread *t, const char *name)
{
    uint64_t key = plan_name(name);
    for (uint32_t h = site_hash(t, key); t->slots[h].key; h = (h + 1) & t->slot_mask)
        if (t->slots[h].key == key)
            return t->slots[h].site;
    return site_add_region(t, key, name);
}

/* `began`: since when what this costs is to be accounted for; what is slow accounts for itself. */
static struct thread *enter(void *frame, uint64_t *began)
{
    struct thread *t = loupe_tls.self;
    if (!t || t->guard || t->control != control_load(t->control_at))
        t = event_begin_slow(frame);
    *began = t ? clock_now() : 0; /* else there may be no clock */
    if (t)
        guard_set(t, frame); /* a signal handler in here must leave the tables alone */
    return t;
}

static void count_unbalanced(void)
{
    struct record_header *h = loupe_process.writer.header;
    record_trouble(h, RECORD_TROUBLE_REGIONS);
    __atomic_fetch_add(&h->unbalanced_regions, 1, __ATOMIC_RELAXED);
}

/* The innermost open region with this key, counted from 1; 0: none. */
static uint32_t innermost(const struct thread *t, uint64_t key)
{
    uint32_t d = t->region_depth;
    while (d > 0 && t->region_site[d - 1]->key != key)
        d--;
    return d;
}

/* Without a frame; but a recursion's ends must find their own begins, not those further out. */
static void begin_too_deep(struct thread *t, const struct site *site)
{
    uint32_t d = innermost(t, site->key);
    count_unbalanced();
    if (d > 0)
        t->region_again[d - 1]++;
}

/* The calling thread, if it is only because measurement is off that nothing is recorded. */
static struct thread *switched_off(void)
{
    struct thread *t = loupe_tls.self;
    return t && t->off && !t->guard ? t : NULL;
}

/* Its end must not be taken for that of the one that was open before. */
static void begin_unseen(struct thread *t, const char *name)
{
    uint32_t d = innermost(t, plan_name(name));
    if (d > 0)
        t->region_again[d - 1]++;
}

/* Its time begins as late as can be, and all before is ours. */
static void open_region(struct thread *t, uint32_t d, struct site *site, uint64_t began)
{
    t->region_covered[d] = t->covered;
    t->region_site[d] = site;
    t->region_again[d] = 0;
    t->block->frames[d].statement = site->index;
    t->region_depth = d + 1;
    thread_watch(t);
    uint64_t now = clock_now(), took = clock_since(began, now);
    event_spent(t, (int64_t)(took << RECORD_TIME_SHIFT) + t->full_cost.inside);
    event_charged(t, took);
    if (took > PREEMPT_STRETCH)
        now = clock_now(); /* behind the look, which has charged for itself */
    t->region_begin[d] = now;
    t->region_delay[d] = *t->delay;
    t->block->delay = *t->delay >> RECORD_TIME_SHIFT;
    t->block->frames[d].begin = now - (uint64_t)((*t->delay & t->taken) >> RECORD_TIME_SHIFT);
    __atomic_store_n(&t->block->depth, d + 1, __ATOMIC_RELEASE);
    if (t->path && site->item != RECORD_PATH_NO_ITEM)
        path_enter(t, site->item, (int64_t)t->block->frames[d].begin);
}

EXPORT void loupe_runtime_begin(const char *name)
{
    uint64_t began;
    struct thread *t = enter(__builtin_frame_address(0), &began);
    if (!t && (t = switched_off()))
        begin_unseen(t, name ? name : "");
    if (!t || t->off)
        return;
    struct site *site = region_site(t, name ? name : "");
    uint32_t d = t->region_depth;
    if (d < REGIONS_MAX && site != t->others)
        open_region(t, d, site, began);
    else
        begin_too_deep(t, site);
    t->guard = 0;
}

/* A region inside itself counts its time once, at the outermost. */
static bool open_below(const struct thread *t, const struct site *site, uint32_t depth)
{
    for (uint32_t d = 0; d < depth; d++)
        if (t->region_site[d] == site)
            return true;
    return false;
}

static void close_region(struct thread *t, uint32_t d, uint64_t now)
{
    struct site *site = t->region_site[d];
    struct record_statement *s = site->record;
    statement_open(s);
    uint64_t real = clock_since(t->region_begin[d], now);
    int64_t time = (int64_t)(real << RECORD_TIME_SHIFT) - t->full_cost.rounded -
                   ((*t->delay - t->region_delay[d]) & t->taken);
    uint64_t ticks = time > 0 ? (uint64_t)time >> RECORD_TIME_SHIFT : 0;
    if (t->path && site->item != RECORD_PATH_NO_ITEM)
        path_leave(t, site->item, (int64_t)(t->block->frames[d].begin + ticks), 1, 0, 0);
    __atomic_store_n(&t->block->depth, d, __ATOMIC_RELAXED);
    uint64_t inside = t->covered - t->region_covered[d];
    uint64_t self = ticks > inside ? ticks - inside : 0;
    t->region_depth = d;
    thread_watch(t);
    t->covered = t->region_covered[d] + ticks;
    t->block->last = now;
    statement_add(s, ticks);
    s->self += self;
    if (open_below(t, site, d))
        s->time -= ticks;
    else
        s->real += real;
    statement_close(s);
}

/* Regions inside it that were left without an end (longjmp, early return) end here too. */
static void end_region(struct thread *t, const char *name, uint64_t now)
{
    uint32_t d = innermost(t, plan_name(name));
    if (d > 0 && t->region_again[d - 1]) {
        t->region_again[d - 1]--;
        return;
    }
    if (d == 0 && !t->off)
        count_unbalanced();
    while (d > 0 && t->region_depth >= d)
        close_region(t, t->region_depth - 1, now);
}

EXPORT void loupe_runtime_end(const char *name)
{
    uint64_t now;
    struct thread *t = enter(__builtin_frame_address(0), &now);
    if (t) {
        end_region(t, name ? name : "", now);
        event_spent_since(t, now);
        t->block->delay = *t->delay >> RECORD_TIME_SHIFT;
    } else if ((t = switched_off())) { /* it was open until then, or it would be for ever */
        end_region(t, name ? name : "", loupe_process.writer.header->off_since);
    }
    if (t)
        t->guard = 0;
}
