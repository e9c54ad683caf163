/* SPDX-License-Identifier: MIT */
/* What happens to a path at each visit and each communication. Called from probes too: general
 * registers only, no calls but to its own kind. */
#include "runtime/path.h"

#include "runtime/path_cost.h"
#include "runtime/path_log.h"
#include "runtime/probe.h"

static void change_innermost(struct path *p, uint32_t to, int64_t length)
{
    struct record_path *r = p->record;
    uint32_t from = path_innermost(p);
    int64_t spent = path_spent(p, length + r->offset);
    if (from < RECORD_PATH_ITEMS) {
        r->item[from].exclusive += length;
        p->exclusive[from] += spent;
    }
    if (to < RECORD_PATH_ITEMS) {
        r->item[to].exclusive -= length;
        p->exclusive[to] -= spent;
    }
    r->innermost = to;
}

static int64_t virtual_now(const struct thread *t)
{
    return (int64_t)clock_now() - ((*t->delay & t->taken) >> RECORD_TIME_SHIFT);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where items begin and end it is seen whether the processor was lost, if that is due: so that the
 * item loses it which was active. What passed between `at` and the look is none of its time: what
 * was lost then is as good as lost before, if it begins or ends so much later. */
static int64_t look(struct thread *t, int64_t at)
{
    const struct record_path *r = t->path->record;
    int64_t offset = r->offset, delay = (*t->delay & t->taken) >> RECORD_TIME_SHIFT;
    event_look(t);
    int64_t lost = r->offset - offset, gap = (int64_t)t->preempt.looked - delay - at;
    return lost > 0 && gap > 0 ? at + least(gap, lost) : at;
}

/* Returns the moment in place of `at`: later, if it was lost since the clock was read for that. */
static inline int64_t look_if_due(struct thread *t, int64_t at)
{
    if (UNLIKELY((uint64_t)(at + ((*t->delay & t->taken) >> RECORD_TIME_SHIFT)) >= t->look_at))
        return look(t, at);
    return at;
}

/* A path starts while we are at work, and what that took is charged when it is over: if the first
 * event comes before the start, the path starts there. */
static bool starts_before(struct path *p, int64_t at)
{
    struct record_path *r = p->record;
    if (p->last != p->start || r->met)
        return false;
    path_open(r);
    r->offset -= p->last - at;
    r->idle -= p->last - at;
    path_close(r);
    p->start = p->last = at;
    return true;
}

/* What visits cost is an estimate too: the time of one may come out below nothing. */
static inline int64_t not_back(struct path *p, int64_t at)
{
    return LIKELY(at >= p->last) || starts_before(p, at) ? at : p->last;
}

void path_enter(struct thread *t, uint32_t item, int64_t at)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    if (item >= p->items)
        return;
    at = not_back(p, look_if_due(t, at));
    if (p->depth == PATH_DEPTH || p->deep) {
        p->deep++;
        return;
    }
    int64_t length = path_length(p, at), spent = path_spent(p, at);
    path_open(r);
    if (p->visits[item]++ == 0) {
        r->item[item].share -= length;
        r->spent[item] -= spent;
        r->active |= 1u << item;
        p->touched |= 1u << item;
    }
    change_innermost(p, item, length);
    path_close(r);
    p->stack[p->depth++] = (struct path_visit){
        .from = length, .spent = spent, .item = item, .adoptions = p->adoptions};
    p->change++;
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
    int64_t spent = path_spent(p, length + r->offset);
    int64_t all = length > v->from ? length - v->from : 0;
    if (weight != 1) {
        all = least(all, time);
        weigh(p, v, outer, (int64_t)weight - 1, all, own);
        if (p->visits[v->item] == 1)
            r->spent[v->item] += ((int64_t)weight - 1) * least(spent - v->spent, time);
    }
    change_innermost(p, outer ? outer->item : RECORD_PATH_NO_ITEM, length);
    if (--p->visits[v->item] == 0) {
        r->item[v->item].share += length;
        r->spent[v->item] += spent;
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
    at = not_back(p, look_if_due(t, at));
    int64_t length = path_length(p, at);
    path_open(r);
    while (p->stack[p->depth - 1].item != item)
        pop(p, length, 1, 0, 0);
    pop(p, length, weight, time, own);
    path_close(r);
    p->change++;
    p->last = at;
    if (UNLIKELY(path_log_on))
        path_log_line(t, "leave", item, at);
}

void path_add(struct thread *t, uint32_t item, uint32_t outer, int64_t ticks, bool all)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    if (item >= p->items)
        return;
    path_open(r);
    if (all) {
        r->item[item].share += ticks;
        r->spent[item] += ticks;
    }
    r->item[item].exclusive += ticks;
    p->exclusive[item] += ticks;
    if (outer < p->items) {
        r->item[outer].exclusive -= ticks;
        p->exclusive[outer] -= ticks;
    }
    path_close(r);
    p->touched |= 1u << item;
    p->change++;
}

void path_move(struct thread *t, uint32_t from, uint32_t to, int64_t ticks)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    path_open(r);
    if (from < p->items) {
        r->item[from].exclusive -= ticks;
        p->exclusive[from] -= ticks;
    }
    if (to < p->items) {
        r->item[to].exclusive += ticks;
        p->exclusive[to] += ticks;
    }
    path_close(r);
    p->change++;
}

/* ---- communications ---- */

static void leave_statement(struct thread *t, int64_t at)
{
    uint32_t item = t->path->statement;
    t->path->statement = RECORD_PATH_NO_ITEM;
    if (item != RECORD_PATH_NO_ITEM)
        path_leave(t, item, at, 1, 0, 0);
}

/* What was charged is an estimate: of what is too much the thread is relieved. */
static int64_t relieve(struct thread *t, int64_t ticks)
{
    int64_t much = ticks * (1 << RECORD_TIME_SHIFT);
    event_spent(t, -much);
    return much;
}

int64_t path_wait(struct thread *t, uint32_t item, uint64_t begin, int64_t delay)
{
    struct path *p = t->path;
    uint64_t began = path_part_begin(p, PATH_WAITING);
    int64_t at = (int64_t)begin - ((delay & t->taken) >> RECORD_TIME_SHIFT);
    if (UNLIKELY(at < p->last) && !starts_before(p, at)) {
        delay -= relieve(t, p->last - at);
        at = p->last;
    }
    if (UNLIKELY(t->probes && t->probes->reckoned))
        probe_reckon(t->probes, at);
    if (UNLIKELY(p->statement != RECORD_PATH_NO_ITEM))
        leave_statement(t, at); /* the last one was left by longjmp */
    p->begin = p->last = at;
    p->record->waits = (uint64_t)at;
    if (item != RECORD_PATH_NO_ITEM) {
        p->statement = item;
        path_enter(t, item, at);
    }
    path_part_end(t, PATH_WAITING, began);
    return delay;
}

void path_go(struct thread *t, uint64_t ticks, uint64_t sync)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    uint64_t began = path_part_begin(p, PATH_GOING);
    if (UNLIKELY(__atomic_load_n(p->newest, __ATOMIC_RELAXED) != p->generation)) {
        path_turn(t);
        if (!t->path)
            return;
    }
    sync = sync < ticks ? sync : ticks;
    if (UNLIKELY(p->lost)) {
        sync += p->lost < ticks - sync ? p->lost : ticks - sync;
        p->lost = 0;
    }
    p->went = ticks - sync;
    path_open(r);
    r->offset += (int64_t)sync;
    r->idle += (int64_t)sync;
    r->mpi += (int64_t)(ticks - sync);
    r->waits = 0;
    path_close(r);
    p->last = p->begin + (int64_t)ticks;
    if (UNLIKELY(path_log_on))
        path_log_meet(t, p->begin, ticks, sync);
    leave_statement(t, p->last);
    path_part_end(t, PATH_GOING, began);
}

/* What was spent in an item when `spent` was in all. */
static struct path_spent spent_until(const struct path *p, uint32_t item, int64_t spent)
{
    struct path_spent s = {p->record->spent[item], p->exclusive[item]};
    s.all += p->record->active >> item & 1 ? spent : 0;
    s.exclusive += p->record->innermost == item ? spent : 0;
    return s;
}

/* Of what was lost, the part of one that had `had` of the time since the last look. */
static int64_t part_of(int64_t lost, int64_t had, int64_t time)
{
    enum { BITS = 16 }; /* no overflow: what is lost is less than a day */
    had = had < 0 ? 0 : least(had, time);
    while (time >> 30) {
        time >>= 1;
        had >>= 1;
    }
    return lost * ((had << BITS) / time) >> BITS;
}

/* Of the path, and of what the thread itself has spent: the path may have been another's then. */
struct loss {
    int64_t path, spent;
};

static struct loss least_loss(int64_t path, int64_t spent, int64_t ticks)
{
    return (struct loss){least(ticks, path > 0 ? path : 0), least(ticks, spent > 0 ? spent : 0)};
}

/* With the offset, what is active loses all of it: what others had of the time before comes back.
 */
static void lose_before(struct path *p, struct loss lost)
{
    struct record_path *r = p->record;
    int64_t spent = path_spent(p, p->last), time = spent - p->looked_spent;
    for (uint32_t i = 0; time > 0 && i < p->items; i++) {
        struct path_spent s = spent_until(p, i, spent), *before = &p->looked[i];
        int64_t all = s.all - before->all, own = s.exclusive - before->exclusive;
        bool active = r->active >> i & 1;
        r->item[i].share += (active ? lost.path : 0) - part_of(lost.path, all, time);
        r->item[i].exclusive += (r->innermost == i ? lost.path : 0) - part_of(lost.path, own, time);
        r->spent[i] += (active ? lost.spent : 0) - part_of(lost.spent, all, time);
    }
}

/* After `last`, as far as there was time, else before. */
static void lose(struct thread *t, struct loss lost, int64_t last, int64_t now)
{
    struct path *p = t->path;
    struct record_path *r = p->record;
    int64_t since = now > last ? now - last : 0;
    struct loss before = {lost.path - least(lost.path, since),
                          lost.spent - least(lost.spent, since)};
    path_open(r);
    if (before.spent > 0 || before.path > 0)
        lose_before(p, before);
    r->offset += lost.path;
    r->idle += lost.spent;
    path_close(r);
    if (UNLIKELY(path_log_on) && lost.path)
        path_log_lost(t, lost.path, last, p->looked_at);
}

void path_lost(struct thread *t, uint64_t ticks, uint64_t mpi)
{
    struct path *p = t->path;
    int64_t now = virtual_now(t);
    if (p->record->waits) {
        p->lost += mpi; /* for path_go */
        mpi = 0;
    }
    mpi = mpi < p->went ? mpi : p->went;
    int64_t path = path_length(p, now) - p->floor, spent = path_spent(p, now);
    struct loss lost = least_loss(path, spent, (int64_t)ticks);
    struct loss lost_mpi = least_loss(path - lost.path, spent - lost.spent, (int64_t)mpi);
    /* There is a look wherever the path goes on after so long as others keep a processor: so it was
     * lost since it last did. */
    if (lost.spent > 0)
        lose(t, lost, p->record->waits ? now : p->last, now);
    if (lost_mpi.spent > 0) {
        lose(t, lost_mpi, now, now);
        p->record->mpi -= lost_mpi.path;
        p->went -= mpi;
    }
    p->change++;
}

void path_looked(struct thread *t)
{
    struct path *p = t->path;
    p->looked_at = virtual_now(t);
    p->looked_spent = path_spent(p, p->looked_at);
    for (uint32_t i = 0; i < p->items; i++)
        p->looked[i] = spent_until(p, i, p->looked_spent);
}
