/* SPDX-License-Identifier: MIT */
#include "cli/critical.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/control.h"
#include "cli/critical_names.h"
#include "cli/settings.h"
#include "record/place.h"
#include "search/path.h"
#include "tree/members.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct critical {
    const struct job *job;
    struct plan *plan; /* shared */
    char *program;     /* whose tables are read when they are needed; NULL: they were */
    struct names names;
    uint32_t told; /* generation that the processes know of */
    double due;
    struct path_search search;
    bool searches; /* it has begun */
    bool sole;     /* on no other node is anybody who would */
    int meagre;    /* intervals in which too little happened */
    double look; /* seconds until named statements that did not turn up yet are looked for again */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the plan ---- */

static int by_from(const void *pa, const void *pb)
{
    const struct plan_range *a = pa, *b = pb;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* What two items have in common is the first one's. */
static void add_range(struct plan *plan, uint64_t key, uint32_t item)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->ranges[i].from == key)
            return;
    if (plan->count < PLAN_RANGES)
        plan->ranges[plan->count++] = (struct plan_range){key, key, item, 0};
}

static struct plan named_plan(const struct names *names)
{
    struct plan plan = {.on = 1, .items = (uint32_t)names->wanted_count};
    for (uint32_t i = 0; i < plan.items; i++) {
        const struct wanted *w = &names->wanted[i];
        memcpy(plan.names[i], w->label, PLAN_NAME);
        for (size_t k = 0; k < w->count; k++)
            add_range(&plan, w->keys[k], i);
    }
    if (plan.count)
        qsort(plan.ranges, plan.count, sizeof *plan.ranges, by_from);
    return plan;
}

/* What a bucket holds, for who looks while the search goes on. */
static void name_bucket(const struct names *names, struct path_search_range r, char *name)
{
    size_t count = 0;
    const struct named_key *first = NULL;
    for (size_t i = 0; i < names->key_count; i++)
        if (names->keys[i].key >= r.from && names->keys[i].key <= r.to && !count++)
            first = &names->keys[i];
    if (count == 1)
        memcpy(name, first->label, PLAN_NAME);
    else
        snprintf(name, PLAN_NAME, "%zu candidates", count);
}

/* What was found, each with all of its keys. Two ways into one circle are one item. */
static void put_found(const struct critical *c, struct plan *plan)
{
    const struct path_search *s = &c->search;
    for (uint32_t i = 0; i < s->count; i++) {
        struct wanted all = {0};
        bool new = true;
        for (uint32_t k = 0; k < plan->count; k++)
            new &= plan->ranges[k].from != s->ranges[i].from;
        if (!new)
            continue;
        names_expand(&c->names, s->ranges[i].from, &all);
        memcpy(plan->names[plan->items], all.label, PLAN_NAME);
        for (size_t k = 0; k < all.count; k++)
            add_range(plan, all.keys[k], plan->items);
        plan->items++;
        free(all.keys);
    }
    if (plan->count)
        qsort(plan->ranges, plan->count, sizeof *plan->ranges, by_from);
}

static struct plan searched_plan(const struct critical *c, uint32_t top)
{
    const struct path_search *s = &c->search;
    struct plan plan = {.on = 1, .top = top};
    plan.searching = !s->done;
    plan.complete = s->done && !s->blind;
    plan.covered = (uint32_t)lround(s->covered * 10000);
    if (s->done) {
        put_found(c, &plan);
        return plan;
    }
    plan.items = plan.count = s->count;
    for (uint32_t i = 0; i < s->count; i++) {
        plan.ranges[i] = (struct plan_range){s->ranges[i].from, s->ranges[i].to, i, 0};
        name_bucket(&c->names, s->ranges[i], plan.names[i]);
    }
    return plan;
}

/* Processes that begin from now on see the plan; those that run see their control word. */
static uint32_t change(struct critical *c, const struct plan *to, uint32_t from)
{
    uint32_t generation = plan_change_from(c->plan, to, from);
    if (generation) {
        control_tell(c->job, generation);
        c->told = generation;
    }
    return generation;
}

/* ---- the search ---- */

struct longest {
    uint32_t generation;
    struct record_path_reading path; /* length 0: none */
};

static void take_longest(void *data, uint32_t block, const struct record_path_reading *path)
{
    struct longest *l = data;
    (void)block;
    if (path->generation == l->generation && path->length > l->path.length)
        l->path = *path;
}

/* Where ranks are on several nodes, one of those who look after them searches, and the plan goes to
 * the others with the program's messages: the one that has rank 0. Programs without MPI have one
 * node. */
static bool is_first(const struct members *members)
{
    bool alone = members->count > 0, first = false;
    for (size_t i = 0; i < members->count; i++) {
        const struct record_header *h = record_header(members->list[i].reader);
        if (h->mpi_phase == RECORD_MPI_NONE || members->list[i].world)
            continue;
        if (h->mpi_phase < RECORD_MPI_INITIALIZED)
            return false;
        alone = false;
        first |= h->rank == 0;
    }
    return alone || first;
}

/* Whether the plan's items are the buckets of this search: another node may have changed it at the
 * same moment. */
static bool is_mine(const struct critical *c, const struct plan *plan)
{
    const struct path_search *s = &c->search;
    bool same = c->searches && plan->searching && plan->count == s->count;
    for (uint32_t i = 0; same && i < s->count; i++)
        same = plan->ranges[i].from == s->ranges[i].from && plan->ranges[i].to == s->ranges[i].to;
    return same;
}

static struct longest read_longest(const struct members *members, uint32_t generation)
{
    struct longest l = {.generation = generation};
    const struct record_visitor visitor = {.data = &l, .running = true, .path = take_longest};
    for (size_t i = 0; i < members->count; i++) {
        struct record_reader *r = members->list[i].reader;
        if (members->list[i].life != PROCESS_DEAD)
            record_visit(r, record_now(r), &visitor);
    }
    return l;
}

static uint64_t *list_keys(const struct names *names, size_t *count)
{
    uint64_t *keys = xcalloc(names->key_count + 1, sizeof *keys);
    for (size_t i = 0; i < names->key_count; i++)
        keys[i] = names->keys[i].key;
    *count = names->key_count;
    return keys;
}

/* Whether there are ranks on other nodes, whose statements are in no record here. */
static bool is_far(const struct members *members)
{
    int32_t here = 0, all = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct record_header *h = record_header(members->list[i].reader);
        if (h->mpi_phase == RECORD_MPI_NONE || members->list[i].world)
            continue;
        here++;
        all = h->size;
    }
    return here < all;
}

static void begin_search(struct critical *c, const struct plan *plan, const struct members *members)
{
    size_t count;
    names_look(&c->names, c->job);
    uint64_t *keys = list_keys(&c->names, &count);
    uint32_t top = plan->top < PATH_SEARCH_TOP_MAX ? plan->top : PATH_SEARCH_TOP_MAX;
    /* of what is inserted into libraries the tables say nothing */
    path_search_begin(&c->search, top, keys, count, is_far(members) || c->names.inserted);
    free(keys);
    struct plan next = searched_plan(c, top);
    c->searches = true;
    change(c, &next, plan->generation);
}

enum { PATIENCE = 5, MEETINGS = 8 }; /* intervals, and communications with others in one */

static void step_search(struct critical *c, const struct plan *plan, const struct members *members)
{
    struct longest l = read_longest(members, plan->generation);
    int64_t shares[PATH_SEARCH_RANGES] = {0};
    size_t count;
    if (l.path.length <= 0 || l.path.items < c->search.count)
        return; /* the generation has not come to all yet, or nothing was computed */
    if (l.path.met < MEETINGS && ++c->meagre < PATIENCE)
        return; /* a few steps of the program say little of the others */
    c->meagre = 0;
    for (uint32_t i = 0; i < c->search.count; i++)
        shares[i] = l.path.item[i].exclusive;
    names_look(&c->names, c->job); /* after the shares: who has one has a record */
    uint64_t *keys = list_keys(&c->names, &count);
    if (path_search_step(&c->search, l.path.length, shares, keys, count)) {
        struct plan next = searched_plan(c, plan->top);
        change(c, &next, plan->generation);
        log_verbose("critical path: step %u of the search, %u %s", c->search.steps, c->search.count,
                    c->search.done ? "items" : "buckets");
    }
    free(keys);
}

static void search(struct critical *c, const struct plan *plan)
{
    struct members members;
    bool over = plan->complete || (c->searches && c->search.done && !plan->searching);
    if (over || members_open(c->job, &members))
        return;
    if (is_mine(c, plan))
        step_search(c, plan, &members);
    else if (c->sole ? members.count > 0 : is_first(&members))
        begin_search(c, plan, &members);
    members_close(&members);
}

/* ---- ---- */

static void load_names(struct critical *c)
{
    if (c->program)
        names_load(&c->names, c->program);
    free(c->program);
    c->program = NULL;
}

/* A statement that was named has no item before it was executed: soon at first, then more seldom,
 * since each time all records are read. */
static void look_for_named(struct critical *c, const struct plan *plan)
{
    enum { LONGEST_S = 5 };
    if (names_look(&c->names, c->job)) {
        struct plan next = named_plan(&c->names);
        change(c, &next, plan->generation);
    }
    c->look = c->look * 1.5 < LONGEST_S ? c->look * 1.5 : LONGEST_S;
}

void critical_tick(void *data)
{
    struct critical *c = data;
    struct plan plan;
    if (!c || !c->plan)
        return;
    uint32_t generation = __atomic_load_n(&c->plan->generation, __ATOMIC_ACQUIRE);
    double now = now_s();
    if (generation != c->told) { /* by loupe ctl, or the program itself */
        control_tell(c->job, generation);
        c->told = generation;
        c->due = now + (c->names.wanted_count ? c->look : settings.path_interval);
    }
    if (!generation || now < c->due || !plan_read(c->plan, &plan) || !plan.on)
        return;
    c->due = now + settings.path_interval;
    if (!plan.top && !names_pending(&c->names))
        return;
    load_names(c);
    if (plan.top)
        search(c, &plan);
    else
        look_for_named(c, &plan);
    c->due = now_s() + (plan.top ? settings.path_interval : c->look);
}

static int first_plan(struct critical *c)
{
    int top = settings.top ? settings.top : PATH_SEARCH_TOP;
    load_names(c);
    if (!c->names.tables)
        log_warn("critical path: the program was not built with loupe cc, so only communication "
                 "statements (FILE:LINE) and regions can be items");
    int err = settings.items ? names_parse(&c->names, settings.items) : 0;
    if (err)
        return err;
    if (!settings.items && top > PATH_SEARCH_TOP_MAX) {
        log_warn("critical path: --top %d is more than the search can tell apart; it looks for %d",
                 top, PATH_SEARCH_TOP_MAX);
        top = PATH_SEARCH_TOP_MAX;
    }
    struct plan plan = {.on = 1, .top = (uint32_t)top};
    if (settings.items)
        plan = named_plan(&c->names);
    if (!c->plan || !(c->told = plan_change(c->plan, &plan)))
        log_warn("critical path: its plan in %s cannot be used; it is not computed", c->job->dir);
    return 0;
}

int critical_begin(struct critical **critical, const struct job *job, const char *program,
                   bool sole)
{
    struct critical *c = xcalloc(1, sizeof *c);
    int dir = place_open_dir(job->dir), err = 0;
    *critical = NULL;
    c->job = job;
    c->sole = sole;
    c->look = 2 * CRITICAL_TICK_MS / 1e3;
    c->program = program ? xstrdup(program) : NULL;
    if (dir >= 0) {
        c->plan = plan_open(dir);
        close(dir);
    }
    if (settings_critical_path())
        err = first_plan(c);
    if (err)
        critical_free(c);
    else
        *critical = c;
    return err;
}

void critical_free(struct critical *c)
{
    if (!c)
        return;
    plan_close(c->plan);
    names_free(&c->names);
    free(c->program);
    free(c);
}
