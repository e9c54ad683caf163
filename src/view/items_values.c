/* SPDX-License-Identifier: MIT */
/*
 * What the records say of items, process by process:
 *
 *   call        count and time of what was called from this statement; between procedures of a
 *               group only the count, for the time is in that of the call that led into the group
 *   procedure   count of its entries; the time of all calls of it from outside its group. Entries
 *               that no call statement accounts for are those of unknown callers
 *   self        the time less that of everything that stands directly in it. It may be below 0
 *               within its error, and stays so: clipped, the sums would not be right
 *   mpi, sync   what is in it and in what it calls: items_waits.c
 */
#include "view/items_account.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

static void add_time(struct run_value *to, const struct run_value *from)
{
    to->time += from->time;
    to->min = fmin(to->min, from->min);
    to->max = fmax(to->max, from->max);
    to->error = hypot(to->error, from->error);
    to->estimated += from->estimated;
}

static void clear_time(struct run_value *v)
{
    v->time = v->self = v->max = v->error = v->self_error = 0;
    v->min = INFINITY;
    v->estimated = 0;
}

static void add_sizes(struct run_value *to, const struct run_value *from)
{
    to->bytes += from->bytes;
    for (int i = 0; i < RECORD_SIZE_BUCKETS; i++)
        to->sizes[i] += from->sizes[i];
}

/* `v` belongs to something that stands directly in the item. */
static void add_part(struct accounting *a, uint32_t item, const struct run_value *v)
{
    if (item == GRAPH_NONE)
        return;
    struct account *account = &a->accounts[item];
    account->parts += v->time;
    account->parts_error = hypot(account->parts_error, v->error);
    add_sizes(&account->v, v);
}

static void take_raw(struct accounting *a, const struct run_value *value)
{
    const struct raw *raw = &a->items->raw[value->node];
    if (raw->loop != GRAPH_NONE)
        a->accounts[raw->loop].v.iterations += value->count;
    if (raw->item == GRAPH_NONE)
        return;
    struct run_value *v = &a->accounts[raw->item].v;
    uint32_t unknown = a->items->list[raw->item].unknown;
    switch (raw->role) {
    case RAW_APART:
        add_part(a, raw->item, value);
        a->accounts[raw->item].mpi += value->mpi;
        a->accounts[raw->item].sync += value->sync;
        a->accounts[raw->item].outside += value->outside;
        break;
    case RAW_LEFT_OUT:
    case RAW_CALL: break;
    case RAW_ITEM: run_value_merge(v, value); break;
    case RAW_SOLE:
        run_value_merge(v, value);
        if (a->items->list[raw->item].callee != GRAPH_NONE)
            a->accounts[a->items->list[raw->item].callee].v.count += value->count;
        break;
    case RAW_TIME: add_time(v, value); break;
    case RAW_INSIDE:
        v->count += value->count;
        a->accounts[raw->item].inside += value->count;
        break;
    case RAW_ENTRIES:
        v->count += value->count;
        if (unknown != GRAPH_NONE)
            add_time(&a->accounts[unknown].v, value);
        break;
    }
}

static bool is_unknown(const struct item *item)
{
    return item->kind == GRAPH_CALL && item->node == GRAPH_NONE;
}

static bool is_inserted(const struct accounting *a, uint32_t item)
{
    const struct item *list = a->items->list;
    return item != GRAPH_NONE && list[item].kind == GRAPH_PROCEDURE &&
           list[item].node != GRAPH_NONE &&
           a->items->program.nodes[list[item].node].flags & UNIT_INSERTED;
}

/*
 * All entries of a procedure whose probe was inserted have a return address. Where only a sample
 * was looked at, how many came from each is an estimate, and those since the last sample are
 * missing: they are divided as the others were, the rest goes to who has most.
 */
static void share_entries(struct accounting *a)
{
    const struct item *list = a->items->list;
    struct share {
        uint64_t entries, known, given;
        uint32_t most;
    } *shares = xcalloc(2 * a->items->count + 2, sizeof *shares);
    for (uint32_t i = 0; i < a->items->count; i++) {
        const struct account *account = &a->accounts[i];
        shares[2 * i].entries = account->v.count - account->inside;
        shares[2 * i + 1].entries = account->inside;
        if (!account->inside) /* where they are not told apart */
            shares[2 * i + 1].most = GRAPH_NONE;
    }
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < a->items->count; i++) {
            if (list[i].kind != GRAPH_CALL || !is_inserted(a, list[i].callee))
                continue;
            uint32_t which = 2 * list[i].callee;
            which += list[i].inside && shares[which + 1].most != GRAPH_NONE;
            struct share *s = &shares[which];
            uint64_t *count = &a->accounts[i].v.count;
            if (pass == 0) {
                s->known += *count;
                s->most = !s->most || *count > a->accounts[s->most].v.count ? i : s->most;
                continue;
            }
            if (s->known && s->known != s->entries)
                *count = (uint64_t)((double)*count / (double)s->known * (double)s->entries);
            s->given += *count;
        }
    for (uint32_t i = 0; i < 2 * a->items->count; i++)
        if (shares[i].most && shares[i].most != GRAPH_NONE && shares[i].entries > shares[i].given)
            a->accounts[shares[i].most].v.count += shares[i].entries - shares[i].given;
    free(shares);
}

/* Who called whom how often: what remains of the entries came from unknown callers, what remains of
 * a pointer's count went to procedures without probes. */
static void count_calls(struct accounting *a)
{
    const struct item *list = a->items->list;
    share_entries(a);
    for (size_t i = 0; i < a->items->count; i++) {
        uint64_t count = a->accounts[i].v.count;
        if (list[i].kind != GRAPH_CALL || is_unknown(&list[i]) || list[i].callee == GRAPH_NONE)
            continue;
        a->accounts[list[i].callee].calls += count;
        if (list[i].statement != GRAPH_NONE &&
            a->items->program.nodes[list[i].node].flags & UNIT_POINTER) {
            uint64_t *through = &a->accounts[list[i].statement].v.count;
            *through -= count < *through ? count : *through;
        }
    }
    for (size_t i = 0; i < a->items->count; i++) {
        struct account *account = &a->accounts[i];
        if (list[i].kind != GRAPH_PROCEDURE || list[i].node == GRAPH_NONE)
            continue;
        if (!list[i].probe)
            account->v.count = account->calls;
        else if (account->v.count > account->calls)
            a->accounts[list[i].unknown].v.count = account->v.count - account->calls;
    }
}

/* The time of procedures and groups, from the calls that lead to them. */
static void time_procedures(struct accounting *a)
{
    const struct item *list = a->items->list;
    for (size_t i = 0; i < a->items->count; i++) {
        struct run_value *v = &a->accounts[i].v;
        if (list[i].kind != GRAPH_CALL || list[i].callee == GRAPH_NONE)
            continue;
        if (list[i].inside) {
            clear_time(v);
            continue;
        }
        struct account *callee = &a->accounts[list[i].callee];
        callee->untimed |= v->count && isinf(v->min);
        add_time(&callee->v, v);
        uint32_t group = list[list[i].callee].group;
        if (group != GRAPH_NONE) {
            a->accounts[group].v.count += v->count;
            add_time(&a->accounts[group].v, v);
        }
    }
}

/* Executed, and none of it timed: a loop around a recursive call, calls that are only counted. One
 * that still goes on has a time and no least one. */
static bool is_untimed(const struct run_value *v)
{
    return isinf(v->min) && v->time == 0;
}

/* Nothing times it: what is in it is all that is known. */
static void sum_of_parts(struct account *account)
{
    clear_time(&account->v);
    account->v.time = account->parts;
    account->v.error = account->parts_error;
    account->summed = true;
}

static void less_parts(struct account *account)
{
    account->v.self = account->v.time - account->parts;
    account->v.self_error = hypot(account->v.error, account->parts_error);
}

static void finish_procedure(struct accounting *a, uint32_t number)
{
    const struct item *item = &a->items->list[number];
    struct account *account = &a->accounts[number];
    bool unknown = !item->probe && (account->untimed || !account->calls);
    if (item->group == GRAPH_NONE && (unknown || is_untimed(&account->v)))
        sum_of_parts(account);
    else if (item->group == GRAPH_NONE)
        less_parts(account);
    if (item->group == GRAPH_NONE || item->group == number)
        return;
    /* One of a group: its part of the time inside cannot be told from the others'. */
    struct account *group = &a->accounts[item->group];
    group->parts += account->parts;
    group->parts_error = hypot(group->parts_error, account->parts_error);
    add_sizes(&group->v, &account->v);
}

/* From the inside out: an item stands behind the one that it is in. */
static void finish(struct accounting *a)
{
    const struct item *list = a->items->list;
    for (size_t i = a->items->count; i-- > 0;) {
        struct account *account = &a->accounts[i];
        struct run_value *v = &account->v;
        switch (list[i].kind) {
        case GRAPH_LOOP:
            if (list[i].probe && !is_untimed(v))
                less_parts(account);
            else
                sum_of_parts(account);
            break;
        case GRAPH_CALL:
            v->self = list[i].callee == GRAPH_NONE ? v->time : 0;
            v->self_error = list[i].callee == GRAPH_NONE ? v->error : 0;
            break;
        case GRAPH_PROCEDURE:
            if (list[i].group != i)
                finish_procedure(a, (uint32_t)i);
            break;
        default: break;
        }
        if (list[i].kind != GRAPH_PROCEDURE)
            add_part(a, list[i].parent, v);
    }
    for (size_t i = 0; i < a->items->count; i++)
        if (list[i].group == i)
            less_parts(&a->accounts[i]);
}

/* The run's values by process: `order` gets their numbers, `first` where each process begins. */
static void by_rank(const struct run *run, size_t *order, size_t *first)
{
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].rank < run->rank_count)
            first[run->values[i].rank + 1]++;
    for (size_t r = 0; r < run->rank_count; r++)
        first[r + 1] += first[r];
    size_t *next = xcalloc(run->rank_count + 1, sizeof *next);
    for (size_t i = 0; i < run->value_count; i++) {
        uint32_t rank = run->values[i].rank;
        if (rank < run->rank_count)
            order[first[rank] + next[rank]++] = i;
    }
    free(next);
}

static bool is_empty(const struct run_value *v)
{
    return !v->count && v->time == 0 && !v->iterations && !v->bytes;
}

size_t items_values(struct items *items, const struct run *run, struct graph *graph,
                    struct run_value **values)
{
    struct accounting a = {.items = items, .run = run};
    size_t count = 0, room = 0;
    size_t *order = xcalloc(run->value_count + 1, sizeof *order);
    size_t *first = xcalloc(run->rank_count + 2, sizeof *first);
    *values = NULL;
    a.accounts = xcalloc(items->count + 1, sizeof *a.accounts);
    a.order = items_order(items);
    by_rank(run, order, first);
    for (size_t rank = 0; rank < run->rank_count; rank++) {
        for (size_t i = 0; i < items->count; i++)
            a.accounts[i] = (struct account){.v = {.min = INFINITY}};
        for (size_t i = first[rank]; i < first[rank + 1]; i++)
            if (run->values[order[i]].node < run->graph.count)
                take_raw(&a, &run->values[order[i]]);
        count_calls(&a);
        time_procedures(&a);
        finish(&a);
        items_waits(&a);
        for (uint32_t i = 0; i < items->count; i++) {
            struct run_value *v = &a.accounts[i].v;
            if (is_empty(v))
                continue;
            v->node = items_node(items, run, graph, i);
            v->rank = (uint32_t)rank;
            *VEC_PUSH(*values, count, room) = *v;
        }
    }
    free(order);
    free(first);
    free(a.accounts);
    free(a.order);
    return count;
}
