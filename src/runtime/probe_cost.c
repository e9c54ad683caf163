/* SPDX-License-Identifier: MIT */
/*
 * What a timed visit costs, measured at the start and now and then on a unit of our own, that no
 * thread counts in. Out-of-order execution hides part of it in real programs; sites that matter
 * find out their own cost in place (probe_sample.h).
 */
#include "runtime/probe.h"

#include "record/dynamic.h"
#include "runtime/clock.h"
#include "runtime/hot.h"
#include "runtime/process.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>

struct probe_costs probe_costs;
bool loupe_probe_xsave;

enum { SOMEWHERE = 2, GAP = DYNAMIC_GAP }; /* a return address; below it in the stack */
enum {
    LOOP,
    CALL,
    ENTRY,
    SITES,
    BATCHES = 8,
    BATCHES_LATER = 3,
    VISITS = 128,
    CHAIN = 12,
    NUMBER = RECORD_UNITS_MAX - 1
};

static struct loupe_unit unit = {.visit = (void *)loupe_probe_visit,
                                 .enter = (void *)loupe_probe_enter,
                                 .leave = (void *)loupe_probe_leave,
                                 .number = NUMBER};
static struct loupe_unit inserted = {.enter = (void *)loupe_probe_enter_dynamic,
                                     .leave = (void *)loupe_probe_leave_dynamic,
                                     .number = NUMBER};

/* All that a run needs, in pages that are given back. */
struct trial {
    int batches; /* of each kind */
    struct probe_thread probes;
    struct record_thread block;
    struct record_probe records[SITES];
    struct probe_site sites[SITES];
    struct probe_site *by_number[SITES];
    struct probe_cells cells;
    int32_t cell[SITES];
    struct probe_group group;
    struct probe_place entry;
    struct probe_caller caller;
    struct record_probe caller_record;
    struct probe_cells *active[RECORD_UNITS_MAX];
};

/* As the macros of loupe-probe.h. */
#define COUNT(site) (--cells[site] < 0)
#define VISIT(site)                                                                                \
    __asm__ volatile("call *%c0(%%rip)\n\tnopl %c1(%%rax)"                                         \
                     :                                                                             \
                     : "i"(&unit.visit), "i"(4 * (site))                                           \
                     : "cc", "memory")
#define ENTER(site)                                                                                \
    __asm__ volatile("call *%c1(%%rip)\n\tnopl %c2(%%rax)"                                         \
                     : "=a"(frame)                                                                 \
                     : "i"(&unit.enter), "i"(4 * (site)), "D"(SOMEWHERE)                           \
                     : "cc", "memory")
#define LEAVE()                                                                                    \
    __asm__ volatile("call *%c1(%%rip)" : : "D"(frame), "i"(&unit.leave) : "cc", "memory")

static uint64_t count_batch(volatile int32_t *cells)
{
    uint64_t begin = clock_now();
    for (int i = 0; i < VISITS; i++) {
        void *frame = NULL;
        if (COUNT(LOOP))
            ENTER(LOOP);
        if (frame)
            LEAVE();
    }
    return clock_now() - begin;
}

/* Visits with something in them: a chain of multiplications, that each wait for the one before. */
static uint64_t work_batch(volatile int32_t *cells)
{
    uint64_t x = 1, begin = clock_now();
    for (int i = 0; i < VISITS; i++) {
        void *frame = NULL;
        if (COUNT(LOOP))
            ENTER(LOOP);
        for (int k = 0; k < CHAIN; k++)
            __asm__ volatile("imul %0,%0" : "+r"(x));
        if (frame)
            LEAVE();
    }
    return clock_now() - begin;
}

static uint64_t call_batch(volatile int32_t *cells)
{
    uint64_t begin = clock_now();
    for (int i = 0; i < VISITS; i++) {
        void *frame = NULL;
        if (COUNT(CALL))
            VISIT(CALL);
        if (COUNT(ENTRY))
            ENTER(ENTRY);
        if (frame)
            LEAVE();
    }
    return clock_now() - begin;
}

static uint64_t entry_batch(volatile int32_t *cells)
{
    uint64_t begin = clock_now();
    for (int i = 0; i < VISITS; i++) {
        void *frame = NULL;
        if (COUNT(ENTRY))
            ENTER(ENTRY);
        if (frame)
            LEAVE();
    }
    return clock_now() - begin;
}

/* As inserted code does it (inject/arch), with a return address of ours. */
static uint64_t dynamic_batch(volatile int32_t *cells)
{
    uint64_t begin = clock_now();
    for (int i = 0; i < VISITS; i++)
        __asm__ volatile("push %4\n\t"
                         "decl %c3(%0)\n\t"
                         "jns 1f\n\t"
                         "lea -%c5(%%rsp),%%rsp\n\t"
                         "call *%c1(%%rip)\n\t"
                         "nopl %c3(%%rax)\n\t"
                         "lea %c5(%%rsp),%%rsp\n"
                         "1:\tcmp %%rsp,%6\n\t"
                         "ja 2f\n\t"
                         "lea -%c5(%%rsp),%%rsp\n\t"
                         "call *%c2(%%rip)\n\t"
                         "lea %c5(%%rsp),%%rsp\n"
                         "2:\tlea 8(%%rsp),%%rsp"
                         :
                         : "r"(cells), "i"(&inserted.enter), "i"(&inserted.leave), "i"(4 * ENTRY),
                           "i"(SOMEWHERE), "i"(GAP), "m"(loupe_dynamic_top)
                         : "cc", "memory");
    return clock_now() - begin;
}

static void set_up(struct trial *t, bool fenced)
{
    static const uint8_t kinds[SITES] = {LOUPE_SITE_LOOP, LOUPE_SITE_CALL, LOUPE_SITE_PROCEDURE};
    t->probes.active = t->active;
    t->probes.control = loupe_control->word;
    t->probes.trial = true;
    t->probes.block = &t->block;
    t->probes.taken = -1;
    t->probes.late = INT64_MAX;
    probe_frames_set_up(&t->probes, NULL);
    t->group.procedures = &t->entry;
    t->entry = (struct probe_place){NUMBER, ENTRY, NULL};
    t->cells = (struct probe_cells){t->cell, t->by_number, SITES};
    t->active[NUMBER] = &t->cells;
    for (int i = 0; i < SITES; i++) {
        t->by_number[i] = &t->sites[i];
        t->sites[i] = (struct probe_site){.cell = &t->cell[i],
                                          .record = &t->records[i],
                                          .group = i == LOOP ? NULL : &t->group,
                                          .kind = kinds[i],
                                          .item = RECORD_PATH_NO_ITEM,
                                          .call_item = RECORD_PATH_NO_ITEM,
                                          .phase = PROBE_BLOCK,
                                          .left = 1 << 20,
                                          .may_link = true,
                                          .calibrated = &probe_costs.plain[PROBE_OWN],
                                          .weight = 1,
                                          .fenced = fenced,
                                          .size = 1};
    }
}

/* 1/256 ticks per visit. */
static uint64_t per_visit(uint64_t ticks)
{
    return (ticks << RECORD_TIME_SHIFT) / VISITS;
}

static uint64_t mean_inside(const struct record_probe *r)
{
    int64_t time = r->stratum_time + r->time;
    uint64_t visits = r->stratum_timed + r->timed;
    return visits && time > 0 ? (uint64_t)time / visits : 0;
}

/* The least of many batches; `inside` is of that one. */
struct least {
    uint64_t ticks, inside;
};

static void try_batch(struct trial *t, uint64_t (*batch)(volatile int32_t *cells), int32_t cells,
                      struct record_probe *r, struct least *least)
{
    r->stratum_time = r->stratum_timed = 0;
    r->time = (int64_t)(r->timed = 0);
    for (int i = 0; i < SITES; i++)
        t->cell[i] = cells;
    t->sites[CALL].is_linked = false;
    t->sites[ENTRY].linked[0] = NULL;
    uint64_t ticks = batch(t->cell);
    if (ticks < least->ticks)
        *least = (struct least){ticks, mean_inside(r)};
}

/* Batches of the same code, first with visits that are only counted, then timed. */
static struct probe_cost measure(struct trial *t, uint64_t (*batch)(volatile int32_t *cells),
                                 struct record_probe *record)
{
    struct least counted = {UINT64_MAX, 0}, timed = counted;
    for (int i = 0; i < t->batches; i++) {
        try_batch(t, batch, 2 * VISITS, record, &counted);
        try_batch(t, batch, 0, record, &timed);
    }
    return (struct probe_cost){per_visit(clock_since(counted.ticks, timed.ticks)), timed.inside};
}

/* What the work itself takes, the batches that only count tell. */
static void measure_hidden(struct trial *t)
{
    struct least alone = {UINT64_MAX, 0}, empty = alone, worked = alone, timed = alone;
    struct record_probe *r = &t->records[LOOP];
    for (int i = 0; i < t->batches; i++) {
        try_batch(t, count_batch, 2 * VISITS, r, &empty);
        try_batch(t, work_batch, 2 * VISITS, r, &worked);
        try_batch(t, count_batch, 0, r, &alone);
        try_batch(t, work_batch, 0, r, &timed);
    }
    static uint64_t least;
    if (least && timed.ticks >= least)
        return;
    least = timed.ticks;
    uint64_t work = per_visit(clock_since(empty.ticks, worked.ticks));
    uint64_t hidden = clock_since(timed.inside, alone.inside + work), most = alone.inside / 4;
    __atomic_store_n(&probe_costs.work, work, __ATOMIC_RELAXED);
    __atomic_store_n(&probe_costs.hidden, hidden > most ? most : hidden, __ATOMIC_RELAXED);
}

/* The machine may have been slow just then: the least of all times it was tried. */
static void keep(struct probe_cost *cost, struct probe_cost now)
{
    if (!cost->all || now.all < cost->all)
        *cost = now;
}

static void measure_all(struct trial *t, struct probe_cost *costs, bool fenced)
{
    set_up(t, fenced);
    keep(&costs[PROBE_OWN], measure(t, count_batch, &t->records[LOOP]));
    keep(&costs[PROBE_LINKED], measure(t, call_batch, &t->records[CALL]));
    t->sites[CALL].may_link = false;
    keep(&costs[PROBE_MARKED], measure(t, call_batch, &t->records[CALL]));
    t->probes.direct[SOMEWHERE / 2] = 0; /* from now on it is unknown who calls from there */
    t->caller = (struct probe_caller){.address = SOMEWHERE, .record = &t->caller_record};
    t->sites[ENTRY].callers = &t->caller;
    t->group.calls = NULL;
    keep(&costs[PROBE_UNKNOWN], measure(t, entry_batch, &t->caller_record));
    memset(t->probes.seen, 0, sizeof t->probes.seen);
    t->sites[ENTRY].dynamic = true;
    keep(&costs[PROBE_DYNAMIC], measure(t, dynamic_batch, &t->caller_record));
    t->sites[ENTRY].dynamic = false;
}

static bool has_xsave(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}

void probe_cost_start(void)
{
    loupe_probe_xsave = has_xsave();
}

void probe_calibrate(void)
{
    enum { TIMES = 12, APART = 1 << 24 }; /* ticks, twice as many each time */
    static int times;
    uint64_t now = clock_now();
    if (now < probe_costs.again)
        return;
    struct probe_thread *own = loupe_probes;
    uintptr_t top = loupe_dynamic_top;
    struct trial *t = pages_alloc(sizeof *t);
    probe_costs.again = now + APART; /* if there is no memory */
    if (!t)
        return;
    t->batches = times ? BATCHES_LATER : BATCHES;
    loupe_probes = &t->probes;
    loupe_dynamic_top = UINTPTR_MAX;
    measure_all(t, probe_costs.plain, false);
    measure_all(t, probe_costs.fenced, true);
    measure_hidden(t);
    loupe_probes = own;
    loupe_dynamic_top = top;
    uint64_t marked = probe_costs.plain[PROBE_MARKED].all, alone = probe_costs.plain[PROBE_OWN].all;
    probe_costs.slow = marked > alone ? marked - alone : 0;
    pages_free(t, sizeof *t);
    probe_costs.again = ++times < TIMES ? now + ((uint64_t)APART << times) : UINT64_MAX;
}

void *probe_rare_calibrate(void *unused, uintptr_t unused_too)
{
    (void)unused;
    (void)unused_too;
    int saved = errno;
    probe_calibrate();
    errno = saved;
    return NULL;
}
