/* SPDX-License-Identifier: MIT */
/*
 * How much of an item's time is spent in MPI, and how much of that with waiting: communications are
 * summed up from the inside out, through calls too. What a procedure has there is known over all
 * its callers; each gets the part of it that its time is of the procedure's.
 */
#include "view/items_account.h"

#include "base/alloc.h"

#include <stdlib.h>

/* What a call leads to; GRAPH_NONE: nothing that is here, or back into the circle it stands in. */
static uint32_t target_of(const struct items *items, const struct item *item)
{
    if (item->kind != GRAPH_CALL || item->callee == GRAPH_NONE || item->inside)
        return GRAPH_NONE;
    uint32_t group = items->list[item->callee].group;
    return group != GRAPH_NONE ? group : item->callee;
}

/* What an item is a direct part of: a procedure of its group, everything else of what it stands
 * in. */
static uint32_t whole_of(const struct items *items, uint32_t number)
{
    const struct item *item = &items->list[number];
    if (item->kind != GRAPH_PROCEDURE)
        return item->parent;
    return item->group != number ? item->group : GRAPH_NONE;
}

struct ordering {
    uint32_t *order;
    size_t count;
    uint32_t *pending; /* what has to stand before an item and does not yet */
    uint32_t *first;   /* of the calls that lead to an item, */
    uint32_t *next;    /* and the next of those */
};

static void settled(struct ordering *o, uint32_t item)
{
    if (item != GRAPH_NONE && --o->pending[item] == 0)
        o->order[o->count++] = item;
}

static void append_circles(struct ordering *o, size_t count)
{
    for (size_t i = count; i-- > 0;) /* there are none, unless tables are not what they should be */
        if (o->pending[i])
            o->order[o->count++] = (uint32_t)i;
}

uint32_t *items_order(const struct items *items)
{
    size_t count = items->count;
    struct ordering o = {.order = xcalloc(count + 1, sizeof *o.order),
                         .pending = xcalloc(count + 1, sizeof *o.pending),
                         .first = xcalloc(count + 1, sizeof *o.first),
                         .next = xcalloc(count + 1, sizeof *o.next)};
    for (size_t i = 0; i < count; i++)
        o.first[i] = GRAPH_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t whole = whole_of(items, i), target = target_of(items, &items->list[i]);
        if (whole != GRAPH_NONE)
            o.pending[whole]++;
        if (target == GRAPH_NONE)
            continue;
        o.pending[i]++;
        o.next[i] = o.first[target];
        o.first[target] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!o.pending[i])
            o.order[o.count++] = i;
    for (size_t at = 0; at < o.count; at++) {
        uint32_t item = o.order[at];
        settled(&o, whole_of(items, item));
        for (uint32_t call = o.first[item]; call != GRAPH_NONE; call = o.next[call])
            settled(&o, call);
    }
    append_circles(&o, count);
    free(o.pending);
    free(o.first);
    free(o.next);
    return o.order;
}

/* A call's part of what is in the procedure: by time, or by number where not all were timed. */
static double part_of(const struct account *call, const struct account *callee)
{
    if (callee->untimed || callee->summed || callee->v.time <= 0)
        return callee->calls ? (double)call->v.count / (double)callee->calls : 0;
    return call->v.time / callee->v.time;
}

static void take_part(struct account *to, const struct account *from, double part)
{
    to->mpi += part * from->mpi;
    to->sync += part * from->sync;
    to->outside += part * from->outside;
}

/* What has no time has no part of it that is known; a sum of parts can have no more than they. */
static void put_down(struct account *account)
{
    struct run_value *v = &account->v;
    double part = v->time == 0 ? 0 : 1;
    if (account->summed && account->mpi > v->time && account->mpi > 0)
        part = v->time / account->mpi;
    v->mpi = part * account->mpi;
    v->sync = part * account->sync;
    v->outside = part * account->outside;
}

void items_waits(struct accounting *a)
{
    const struct items *items = a->items;
    for (size_t at = 0; at < items->count; at++) {
        uint32_t i = a->order[at];
        struct account *account = &a->accounts[i];
        const struct item *item = &items->list[i];
        uint32_t target = target_of(items, item), whole = whole_of(items, i);
        if (item->kind == GRAPH_COMMUNICATION) {
            account->mpi = account->v.mpi;
            account->sync = account->v.sync;
            account->outside = account->v.outside;
        } else {
            if (target != GRAPH_NONE)
                take_part(account, &a->accounts[target], part_of(account, &a->accounts[target]));
            put_down(account);
        }
        if (whole != GRAPH_NONE)
            take_part(&a->accounts[whole], account, 1);
    }
    /* One of a group has the part of it that the calls of it have. */
    for (size_t i = 0; i < items->count; i++) {
        uint32_t group = items->list[i].group;
        if (items->list[i].kind != GRAPH_PROCEDURE || group == GRAPH_NONE || group == i)
            continue;
        struct account *member = &a->accounts[i], *all = &a->accounts[group];
        double part = all->v.time > 0 ? member->v.time / all->v.time : 0;
        member->v.mpi = part * all->v.mpi;
        member->v.sync = part * all->v.sync;
        member->v.outside = part * all->v.outside;
    }
}
