/* SPDX-License-Identifier: MIT */
/* What happens to a path at each visit and each communication. Called from probes too: general
 * registers only, no calls but to its own kind. */
#include "runtime/path.h"

#include "runtime/path_cost.h"
#include "runtime/path_log.h"

static void change_innermost(struct path *p, uint32_t to, int64_t length)
{
    struct record_path *r = p->record;
    uint32_t from = p->depth ? p->stack[p->depth - 1].item : RECORD_PATH_NO_ITEM;
    if (from < RECORD_PATH_ITEMS)
        r->item[from].exclusive += length;
    if (to < RECORD_PATH_ITEMS)
        r->item[to].exclusive -= length;
    r->innermost = to;
}

void path_enter(struct thread *t, uint32_t item, int64_t at)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    if (item >= p->items)
        return;
    if (p->depth == PATH_DEPTH || p->deep) {
        p->deep++;
        return;
    }
    int64_t length = path_length(p, at);
    path_open(r);
    if (p->visits[item]++ == 0) {
        r->item[item].share -= length;
        r->active |= 1u << item;
    }
    change_innermost(p, item, length);
    path_close(r);
    p->stack[p->depth++] =
        (struct path_visit){.from = length, .item = item, .adoptions = p->adoptions};
    p->changed = true;
    p->last = at;
    if (UNLIKELY(path_log_on))
        path_log_line(t, "enter", item, at);
}

/* Another's path was taken over while it lasted: what it did before is not on the path. */
static void catch_up(const struct path *p, struct path_visit *v)
{
    if (LIKELY(v->adoptions == p->adoptions))
        return;
    v->from = p->adopted;
    v->inner = 0;
    v->adoptions = p->adoptions;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A visit that stands for others, or for none: what they had. */
static void weigh(struct path *p, const struct path_visit *v, const struct path_visit *outer,
                  int64_t more, int64_t all, int64_t own)
{
    struct record_path_item *item = p->record->item;
    item[v->item].exclusive += more * least(all - v->inner, own);
    if (p->visits[v->item] == 1)
        item[v->item].share += more * all;
    if (outer)
        item[outer->item].exclusive -= more * all;
}

/* The innermost visit ends. */
static void pop(struct path *p, int64_t length, uint32_t weight, int64_t time, int64_t own)
{
    struct record_path *r = p->record;
    struct path_visit *v = &p->stack[p->depth - 1], *outer = p->depth > 1 ? v - 1 : NULL;
    catch_up(p, v);
    int64_t all = length > v->from ? length - v->from : 0;
    if (weight != 1) {
        all = least(all, time);
        weigh(p, v, outer, (int64_t)weight - 1, all, own);
    }
    change_innermost(p, outer ? outer->item : RECORD_PATH_NO_ITEM, length);
    if (--p->visits[v->item] == 0) {
        r->item[v->item].share += length;
        r->active &= ~(1u << v->item);
    }
    p->depth--;
    if (outer) {
        catch_up(p, outer);
        outer->inner += (int64_t)weight * all;
    }
}

/* Visits inside it that were left in another way end with it. */
void path_leave(struct thread *t, uint32_t item, int64_t at, uint32_t weight, int64_t time,
                int64_t own)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    if (item >= p->items)
        return;
    if (p->deep) {
        p->deep--;
        return;
    }
    if (!p->visits[item])
        return;
    int64_t length = path_length(p, at);
    path_open(r);
    while (p->stack[p->depth - 1].item != item)
        pop(p, length, 1, 0, 0);
    pop(p, length, weight, time, own);
    path_close(r);
    p->changed = true;
    p->last = at;
    if (UNLIKELY(path_log_on))
        path_log_line(t, "leave", item, at);
}

/* ---- communications ---- */

static void leave_statement(struct thread *t, int64_t at)
{
    uint32_t item = t->path->statement;
    t->path->statement = RECORD_PATH_NO_ITEM;
    if (item != RECORD_PATH_NO_ITEM)
        path_leave(t, item, at, 1, 0, 0);
}

void path_wait(struct thread *t, uint32_t item, uint64_t begin, int64_t delay)
{
    struct path *p = t->path;
    uint64_t began = path_part_begin(p);
    int64_t at = (int64_t)begin - ((delay & t->taken) >> RECORD_TIME_SHIFT);
    if (UNLIKELY(p->statement != RECORD_PATH_NO_ITEM))
        leave_statement(t, at); /* the last one was left by longjmp */
    p->begin = p->last = at;
    p->record->waits = begin;
    if (item != RECORD_PATH_NO_ITEM) {
        p->statement = item;
        path_enter(t, item, at);
    }
    path_part_end(t, PATH_WAITING, began);
}

void path_go(struct thread *t, uint64_t ticks, uint64_t sync)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    uint64_t began = path_part_begin(p);
    sync = sync < ticks ? sync : ticks;
    path_open(r);
    r->offset += (int64_t)sync;
    r->mpi += (int64_t)(ticks - sync);
    r->waits = 0;
    path_close(r);
    p->last = p->begin + (int64_t)ticks;
    if (UNLIKELY(path_log_on))
        path_log_meet(t, p->begin, ticks, sync);
    leave_statement(t, p->last);
    path_part_end(t, PATH_GOING, began);
}

void path_lost(struct thread *t, uint64_t ticks)
{
    struct path *p = t->path;
    int64_t now = (int64_t)clock_now() - ((*t->delay & t->taken) >> RECORD_TIME_SHIFT);
    int64_t own = path_length(p, now) - p->floor;
    int64_t lost = least((int64_t)ticks, own);
    if (lost <= 0)
        return;
    path_open(p->record);
    p->record->offset += lost;
    path_close(p->record);
    if (UNLIKELY(path_log_on))
        path_log_line(t, "lost", lost, now);
}
