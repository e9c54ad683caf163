/* SPDX-License-Identifier: MIT */
/* Items of the critical path among probes. Runs where slow paths do what is rare, and in events. */
#include "runtime/probe.h"

#include "record/plan.h"
#include "runtime/clock.h"
#include "runtime/path.h"
#include "runtime/process.h"

static uint8_t item(const struct plan *plan, uint64_t key)
{
    return (uint8_t)plan_item(plan, key);
}

/* The next visits are timed, and tell how to go on. What was timed of the stratum stands for all of
 * its visits up to here. */
static void time_next(struct probe_site *s)
{
    struct record_probe *r = s->record;
    if (s->phase != PROBE_SETTLE && s->phase != PROBE_PAIR && s->phase != PROBE_BETWEEN)
        return; /* in a block that is timed; what comes behind it is decided then */
    s->phase = PROBE_BETWEEN;
    s->next_size = 1;
    s->drawn = s->rest = 0;
    int32_t more = *(volatile int32_t *)s->cell;
    if (s->owed) { /* comes here anyhow */
        s->owed = (uint32_t)(1 - more);
        return;
    }
    if (more <= 0)
        return;
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    r->armed -= (uint64_t)more;
    __atomic_fetch_sub(s->cell, more, __ATOMIC_RELAXED);
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
}

/*
 * A procedure is entered by frames that its calls decide on: so the calls are always timed, too.
 * Buckets of the search hold procedures alone, and follow the budget.
 */
void probe_item(const struct probe_thread *p, struct probe_site *s, uint64_t unit, uint32_t site)
{
    const struct plan *plan = p->thread->plan;
    bool named = plan && !plan->searching;
    s->item = s->call_item = RECORD_PATH_NO_ITEM;
    s->always = false;
    if (!plan || !plan->count)
        return;
    uint8_t group = s->group ? item(plan, plan_procedure(s->group->key)) : RECORD_PATH_NO_ITEM;
    uint8_t own = named ? item(plan, plan_site(unit, site)) : RECORD_PATH_NO_ITEM;
    /* A statement is entered where it is timed itself: what it calls has no probes. */
    bool called = s->kind == LOUPE_SITE_PROCEDURE || s->kind == LOUPE_SITE_SOLE ||
                  s->kind == LOUPE_SITE_STATEMENT;
    if (s->kind == LOUPE_SITE_LOOP)
        s->item = own;
    else if (called)
        s->item = group;
    if (s->kind != LOUPE_SITE_LOOP && s->kind != LOUPE_SITE_PROCEDURE)
        s->call_item = own;
    s->always = named && (own & group) != RECORD_PATH_NO_ITEM;
    if (s->always) {
        if (s->is_linked)
            probe_unlink(s);
        time_next(s);
    }
}

/* Plans change, and items with them: what was visited before is on no path of this one. */
static void reckon_anew(struct probe_thread *p, struct probe_site *s)
{
    s->reckon = (struct probe_reckon){
        .on = s->always && s->next_size > 1,
        .item = RECORD_PATH_NO_ITEM,
        .call_item = RECORD_PATH_NO_ITEM,
        .outer = RECORD_PATH_NO_ITEM,
        .visits = s->record->state & RECORD_PROBE_HELD ? s->record->held : probe_executions(s),
        .waited = p->thread->talked + (p->thread->path ? p->thread->path->waited : 0),
        .at = (int64_t)(clock_now() << RECORD_TIME_SHIFT) - (p->delay & p->taken),
        .mean = s->visit_last,
    };
    if (s->reckon.on) {
        s->reckon.listed = true;
        s->reckon.next = p->reckoned;
        p->reckoned = s;
    }
}

static void give_sites(struct probe_thread *p)
{
    p->reckoned = NULL;
    p->reckoned_items = 0;
    for (uint32_t i = 1; i < probe_unit_count; i++)
        for (uint32_t k = 0; p->owned[i] && k < p->owned[i]->count; k++)
            if (p->owned[i]->sites[k]) {
                probe_item(p, p->owned[i]->sites[k], probe_units[i].id, k);
                reckon_anew(p, p->owned[i]->sites[k]);
            }
}

void probe_items(struct probe_thread *p)
{
    /* As in a slow path: probes in handlers of signals only count meanwhile. */
    volatile uintptr_t here = (uintptr_t)__builtin_return_address(0);
    bool inside = p->inside;
    if (!inside) {
        p->inside_return = here;
        p->inside = (uintptr_t)&here; // cppcheck-suppress autoVariables ; not for longer than this
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    probe_loud(p);
    give_sites(p);
    for (struct probe_frame *f = p->frames + 1; f <= p->top; f++) {
        f->call_item = f->site->call_item;
        f->item = f->opened->item;
        f->item_weight = (f->call_item & f->item) != RECORD_PATH_NO_ITEM; /* for itself alone */
    }
    if (!inside) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        p->inside = 0;
    }
}

void probe_items_again(struct probe_thread *p, const struct probe_frame *f, int64_t at)
{
    if (f->item_weight && f->call_item != RECORD_PATH_NO_ITEM)
        path_enter(p->thread, f->call_item, at);
    if (f->item_weight && f->item != RECORD_PATH_NO_ITEM)
        path_enter(p->thread, f->item, at);
}
