/* SPDX-License-Identifier: MIT */
#include "runtime/item.h"

#include "record/place.h"
#include "runtime/hot.h"
#include "runtime/options.h"
#include "runtime/path.h"
#include "runtime/probe.h"
#include "runtime/process.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { TOP_DEFAULT = 10 };

/* ---- the plan of the job ---- */

/* Another thread's message may bring a newer plan than the control word has told of so far. */
static void start_of(struct thread *t, uint32_t generation, int64_t at);

uint32_t item_open(const char *job_dir)
{
    struct process *p = &loupe_process;
    /* A forked child has its parent's. A path goes along messages, by their headers. */
    int dir = p->plan || !options_headers() ? -1 : place_open_dir(job_dir);
    if (dir >= 0) {
        p->plan = plan_open(dir);
        close(dir);
    }
    loupe_path_plan = start_of;
    return p->plan ? plan_control(__atomic_load_n(&p->plan->generation, __ATOMIC_ACQUIRE)) : 0;
}

void item_tell(struct record_control *control)
{
    const struct plan *plan = loupe_process.plan;
    uint32_t old = __atomic_load_n(&control->word, __ATOMIC_RELAXED), new;
    if (!plan)
        return;
    do
        new = (old & ~RECORD_CONTROL_PATH) |
              plan_control(__atomic_load_n(&plan->generation, __ATOMIC_ACQUIRE));
    while (new != old && !__atomic_compare_exchange_n(&control->word, &old, new, false,
                                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* All ranks may wish the same at the same moment: the first one's wish is enough. Who has not seen
 * the last change yet wishes for that one. */
void item_wish(enum item_wish wish, struct record_control *control)
{
    struct plan *shared = loupe_process.plan, plan;
    if (!shared || !plan_read(shared, &plan))
        return;
    uint32_t seen = __atomic_load_n(&control->word, __ATOMIC_RELAXED) & RECORD_CONTROL_PATH;
    bool done = wish == ITEM_RESET ? !plan.on || seen != plan_control(plan.generation)
                                   : plan.on == (wish == ITEM_ON);
    if (!done) {
        if (wish == ITEM_ON && !plan.items && !plan.top)
            plan.top = TOP_DEFAULT;
        plan.on = wish != ITEM_OFF;
        plan_change_from(shared, &plan, plan.generation);
    }
    item_tell(control);
}

/* ---- items of statements and regions ---- */

uint8_t item_of(const struct thread *t, const struct site *site)
{
    const struct record_statement *s = site->record;
    if (!t->plan || !t->plan->count)
        return RECORD_PATH_NO_ITEM;
    if (s->call == RECORD_CALL_REGION)
        return t->plan->searching ? RECORD_PATH_NO_ITEM
                                  : (uint8_t)plan_item(t->plan, plan_region(site->key));
    if (s->module == RECORD_NO_MODULE)
        return RECORD_PATH_NO_ITEM;
    return (uint8_t)plan_item(t->plan, plan_statement(module_hash(s->module), s->offset));
}

static void give_items(struct thread *t)
{
    t->others->item = RECORD_PATH_NO_ITEM;
    for (uint32_t i = 0; i <= t->slot_mask; i++)
        if (t->slots[i].key && t->slots[i].site != t->others)
            t->slots[i].site->item = item_of(t, t->slots[i].site);
    if (t->probes)
        probe_items(t->probes);
}

/* What is open is entered at the beginning of the path: regions and timed visits, the outermost
 * first. */
static void enter_open(struct thread *t, int64_t at)
{
    struct probe_thread *p = t->probes;
    struct probe_frame *f = p ? p->frames + 1 : NULL;
    for (uint32_t d = 0; d <= t->region_depth; d++) {
        bool region = d < t->region_depth;
        uint64_t begin = region ? t->block->frames[d].begin : UINT64_MAX;
        for (; f && f <= p->top && f->begin >> RECORD_TIME_SHIFT <= begin; f++)
            probe_items_again(p, f, at);
        if (region && t->region_site[d]->item != RECORD_PATH_NO_ITEM)
            path_enter(t, t->region_site[d]->item, at);
    }
}

static int64_t virtual_now(const struct thread *t)
{
    return (int64_t)clock_now() - ((*t->delay & t->taken) >> RECORD_TIME_SHIFT);
}

/* Reads the plan; false: it is the one that this thread has acted on. */
static bool read_plan(struct thread *t)
{
    const struct plan *shared = loupe_process.plan;
    uint32_t before = t->plan ? t->plan->generation : 0;
    if (!t->plan)
        t->plan = pages_alloc(sizeof *t->plan);
    if (!t->plan)
        return false;
    if (!plan_read(shared, t->plan)) /* nothing that can be relied on: nothing is computed */
        *t->plan = (struct plan){.generation = before};
    if (!t->plan->on)
        t->plan->count = t->plan->items = 0;
    return t->plan->generation != before;
}

static void start_at(struct thread *t, int64_t at)
{
    t->plan_started = true;
    path_start_at(t, t->plan, at);
    give_items(t);
    if (t->path)
        enter_open(t, at);
}

void item_obey(struct thread *t, uint32_t word)
{
    int saved = errno;
    t->plan_seen = word & RECORD_CONTROL_PATH;
    if (loupe_process.plan && (read_plan(t) || !t->plan_started) && t->plan)
        start_at(t, virtual_now(t));
    errno = saved;
}

static void start_of(struct thread *t, uint32_t generation, int64_t at)
{
    const struct plan *shared = loupe_process.plan;
    int saved = errno;
    uint32_t ours = shared ? __atomic_load_n(&shared->generation, __ATOMIC_ACQUIRE) : 0;
    bool anew = !generation; /* the rank's time begins here, whatever was before */
    if (!ours || ours < generation)
        return;
    if ((read_plan(t) || !t->plan_started || anew) && t->plan)
        start_at(t, at);
    errno = saved;
}
