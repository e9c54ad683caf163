/* SPDX-License-Identifier: MIT */
/*
 * What a timed visit costs, measured at the start on a unit of our own, that no thread counts in.
 * Out-of-order execution hides part of it in real programs; sites that matter find out their own
 * cost in place (probe_sample.h).
 */
#include "runtime/probe.h"

#include "runtime/clock.h"
#include "runtime/hot.h"
#include "runtime/process.h"

#include <cpuid.h>

struct probe_costs probe_costs;
bool loupe_probe_xsave;

enum { LOOP, CALL, ENTRY, SITES, BATCHES = 8, VISITS = 128, NUMBER = RECORD_UNITS_MAX - 1 };

static struct loupe_unit unit = {.visit = (void *)loupe_probe_visit,
                                 .enter = (void *)loupe_probe_enter,
                                 .leave = (void *)loupe_probe_leave,
                                 .number = NUMBER};

/* All that a run needs, in pages that are given back. */
struct trial {
    struct probe_thread probes;
    struct record_thread block;
    struct record_probe records[SITES];
    struct probe_site sites[SITES];
    struct probe_site *by_number[SITES];
    struct probe_cells cells;
    int32_t cell[SITES];
    struct probe_group group;
    struct probe_place entry;
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
                     : "i"(&unit.enter), "i"(4 * (site)), "D"(0)                                   \
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

static void set_up(struct trial *t)
{
    static const uint8_t kinds[SITES] = {LOUPE_SITE_LOOP, LOUPE_SITE_CALL, LOUPE_SITE_PROCEDURE};
    t->probes.active = t->active;
    t->probes.control = *loupe_control;
    t->probes.block = &t->block;
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
                                          .phase = PROBE_BLOCK,
                                          .left = UINT32_MAX,
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
    return r->stratum_timed && r->stratum_time > 0
               ? (uint64_t)r->stratum_time / (uint64_t)r->stratum_timed
               : 0;
}

static void measure(struct trial *t)
{
    uint64_t counted = UINT64_MAX, timed = UINT64_MAX, marked = UINT64_MAX, ticks;
    for (int i = 0; i < BATCHES; i++) {
        t->cell[LOOP] = 2 * VISITS;
        ticks = count_batch(t->cell);
        counted = ticks < counted ? ticks : counted;
        t->cell[LOOP] = t->cell[CALL] = t->cell[ENTRY] = 0;
        ticks = count_batch(t->cell);
        timed = ticks < timed ? ticks : timed;
        ticks = call_batch(t->cell);
        marked = ticks < marked ? ticks : marked;
        if (i == 0) /* the first was cold */
            for (int k = 0; k < SITES; k++)
                t->records[k].stratum_time = t->records[k].stratum_timed = 0;
    }
    probe_costs.timed = per_visit(timed > counted ? timed - counted : 0);
    probe_costs.marked = per_visit(marked > 2 * counted ? marked - 2 * counted : 0);
    probe_costs.slow =
        probe_costs.marked > probe_costs.timed ? probe_costs.marked - probe_costs.timed : 0;
    probe_costs.timed_inside = mean_inside(&t->records[LOOP]);
    probe_costs.marked_inside = mean_inside(&t->records[CALL]);
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
    if (probe_costs.timed)
        return;
    struct probe_thread *own = loupe_probes;
    struct trial *t = pages_alloc(sizeof *t);
    if (!t)
        return;
    set_up(t);
    loupe_probes = &t->probes;
    measure(t);
    loupe_probes = own;
    pages_free(t, sizeof *t);
    if (!probe_costs.timed)
        probe_costs.timed = 1;
}
