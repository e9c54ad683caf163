/* SPDX-License-Identifier: MIT */
/*
 * The probes of a block, as readers see them: a record and its cell make a count, strata and open
 * frames a time. The program counts cells down while we look, which is no harm: what was added to a
 * cell changes together with the cell within an odd section of its record's version.
 */
#include "base/alloc.h"
#include "record/visit.h"
#include <loupe-probe.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void probes_begin(struct visit *v)
{
    const struct chunk_list *list = &v->lists[RECORD_KIND_UNITS];
    uint32_t per = visit_per_chunk[RECORD_KIND_UNITS];
    v->unit_count = visit_records(list, RECORD_KIND_UNITS);
    v->units = xcalloc(v->unit_count + 1, sizeof *v->units);
    if (v->unit_count > RECORD_UNITS_MAX) {
        v->reader->damaged = true;
        v->unit_count = 0;
    }
    for (size_t i = 0; i < v->unit_count; i++) {
        struct record_unit *u = &v->units[i];
        if (i % per >= list->refs[i / per].used)
            continue;
        segment_copy(u, visit_record(list->refs[i / per].chunk, sizeof *u, (uint32_t)(i % per)),
                     sizeof *u);
        if (u->sites > RECORD_SITES_MAX ||
            (u->module != RECORD_NO_MODULE && u->module >= v->modules)) {
            v->reader->damaged = true;
            u->sites = 0; /* no site is below */
        }
    }
}

static void find_cells_in(struct visit *v, const struct chunk_ref *ref, const int32_t **cells)
{
    const char *at = (const char *)(ref->chunk + 1), *end = at + ref->used;
    while ((size_t)(end - at) >= sizeof(struct record_cells)) {
        const struct record_cells *c = (const void *)at;
        uint32_t unit = segment_load32(&c->unit), sites = segment_load32(&c->sites);
        size_t bytes = (sizeof *c + (size_t)sites * sizeof *c->cells + 7) & ~(size_t)7;
        /* What is published is complete, so its unit was there before. */
        if (unit >= v->unit_count || sites != v->units[unit].sites || !sites ||
            bytes > (size_t)(end - at) || cells[unit]) {
            v->reader->damaged = true;
            return;
        }
        cells[unit] = c->cells;
        at += bytes;
    }
}

/* One try to copy a record and its cell; false: it changed meanwhile. */
static bool try_probe(const struct visit *v, const struct record_probe *live,
                      const int32_t *const *cells, struct record_probe *copy, uint64_t *executions)
{
    uint32_t version = segment_load32(&live->version);
    segment_copy(copy, live, sizeof *copy);
    *executions = copy->count;
    if (!(copy->state & RECORD_PROBE_CALLER) && copy->unit < v->unit_count && cells[copy->unit] &&
        copy->site < v->units[copy->unit].sites) {
        const int32_t *cell = &cells[copy->unit][copy->site];
        *executions = copy->armed - (uint64_t)(int64_t)__atomic_load_n(cell, __ATOMIC_ACQUIRE);
    }
    return !(version & 1) && segment_load32(&live->version) == version;
}

static bool valid(const struct visit *v, const struct record_probe *r)
{
    if (r->unit >= v->unit_count || r->site >= v->units[r->unit].sites || r->kind == 0 ||
        r->kind >= LOUPE_SITE_KINDS || !r->stratum_size)
        return false;
    if (!(r->state & RECORD_PROBE_CALLER))
        return r->caller_module == RECORD_NO_MODULE;
    return r->caller_module < v->modules || r->caller_module == RECORD_CALLER_UNKNOWN;
}

/* Timed visits of a record that go on, and how long in all, each with its weight. */
struct open {
    double ticks;
    uint64_t count;
    double weight; /* of the heaviest */
};

/* As add_open_frames in visit.c: a frame counts if it reads the same twice with the depth above it
 * in between. */
static struct open open_frames(const struct visit *v, const struct block *b, uint32_t probe)
{
    struct open open = {0};
    if (!b->frames.count || !b->frames.refs[0].used)
        return open;
    const struct record_probe_frames *f = (const void *)(b->frames.refs[0].chunk + 1);
    for (uint32_t i = 0; i < RECORD_PROBE_FRAMES && i < segment_load32(&f->depth); i++) {
        const struct record_probe_frame *at = &f->frames[i];
        uint64_t begin = segment_load64(&at->begin);
        uint64_t delay = visit_delay(v, b->thread);
        uint32_t weight = segment_load32(&at->weight);
        if (segment_load32(&at->probe) != probe || segment_load32(&f->depth) <= i ||
            segment_load64(&at->begin) != begin || segment_load32(&at->probe) != probe ||
            segment_load32(&f->depth) <= i)
            continue;
        uint64_t now = v->now - delay; /* virtual, as the begin */
        open.count++;
        open.weight = weight > open.weight ? weight : open.weight;
        if ((int64_t)(now - begin) > (int64_t)v->margin)
            open.ticks += (double)(now - begin - v->margin) * weight;
    }
    return open;
}

static double ticks_of(int64_t time)
{
    return (double)time / (1 << RECORD_TIME_SHIFT);
}

/* The visits of the stratum in progress have the mean of those of them that were timed; until one
 * was, that of the stratum before. */
static double time_in_progress(const struct record_probe *r, uint64_t executions)
{
    if (r->stratum_size == 1)
        return ticks_of(r->stratum_time);
    double visits = executions > r->stratum_begin ? (double)(executions - r->stratum_begin) : 0;
    double mean =
        r->stratum_timed ? ticks_of(r->stratum_time) / r->stratum_timed : ticks_of(r->mean);
    return mean * visits;
}

/* In ticks: v->margin is a microsecond. */
#define NANOSECOND(v) ((double)(v)->margin / 1000)

/* How well the cost of so many timed visits is known: `variance` of other reasons is added. */
static double cost_error(const struct visit *v, const struct record_probe *r, double visits,
                         double variance)
{
    const double two_sided_95 = 1.96;
    double cost = ticks_of((int64_t)r->cost) / 4 * visits; /* only calibrated: half or more so */
    if (r->pairs)
        cost = ticks_of(r->cost_spread) / sqrt(r->pairs) * visits;
    /* What of its cost is hidden behind the program is known to about a nanosecond a visit. */
    double hidden = NANOSECOND(v) * visits;
    return sqrt(two_sided_95 * two_sided_95 * (variance + cost * cost) + hidden * hidden);
}

static double error_of(const struct visit *v, const struct record_probe *r, uint64_t estimated)
{
    if (!estimated)
        return 0;
    if (r->strata < RECORD_STRATA_MIN)
        return NAN;
    double variance = ((double)r->squares[1] * 0x1p64 + (double)r->squares[0]) / 256;
    double visits = (double)estimated + (double)r->timed;
    double error = cost_error(v, r, visits, variance);
    /* What of it lies between the readings of the clock is known less well, by as much again. */
    double between = NANOSECOND(v) * visits;
    return sqrt(error * error + 3 * between * between);
}

static void give_probe(struct visit *v, struct block *b, uint32_t index,
                       const struct record_probe *r, uint64_t executions)
{
    uint64_t until = r->state & RECORD_PROBE_HELD ? r->held : executions;
    struct record_probe_reading p = {.module = v->units[r->unit].module,
                                     .unit = v->units[r->unit].id,
                                     .site = r->site,
                                     .kind = r->kind,
                                     .caller_module = r->caller_module,
                                     .caller_offset = r->caller_offset,
                                     .count = until > r->before ? until - r->before : 0};
    /* Counting costs up to a nanosecond, and how much of it is hidden behind the program is not
     * known. Records by caller count nothing themselves. */
    p.cost_error = r->state & RECORD_PROBE_CALLER ? 0 : NANOSECOND(v) * (double)p.count;
    struct open open = open_frames(v, b, index);
    uint64_t timed = r->timed + r->stratum_timed;
    if (r->state & RECORD_PROBE_TIMED && (timed || open.count)) {
        p.timed = timed + open.count;
        p.time = ticks_of(r->time) + time_in_progress(r, until);
        /* What goes on is among the visits of its stratum, with their mean. */
        double counted = r->stratum_size > 1 ? open.weight * ticks_of(r->mean) : 0;
        p.time += open.ticks > counted ? open.ticks - counted : 0;
        if (r->state & RECORD_PROBE_SAMPLED && p.count > p.timed)
            p.estimated = p.count - p.timed;
        p.error = error_of(v, r, p.estimated);
        p.cost_error += cost_error(v, r, (double)timed, 0);
        p.min = timed ? (double)r->min : 0;
        p.max = (double)r->max;
    }
    if (p.count || p.timed)
        v->to->probe(v->to->data, b->index, &p);
}

static void give_chunk(struct visit *v, struct block *b, const struct chunk_ref *ref,
                       uint32_t first, const int32_t *const *cells)
{
    for (uint32_t i = 0; i < ref->used; i++) {
        struct record_probe copy;
        uint64_t executions;
        const struct record_probe *live = visit_record(ref->chunk, sizeof copy, i);
        for (int tries = 0; !try_probe(v, live, cells, &copy, &executions); tries++)
            if (!visit_patience(v, tries)) {
                v->torn++;
                break;
            }
        if (visit_void(v, b))
            return;
        if (!valid(v, &copy))
            v->reader->damaged = true;
        else if (copy.state & RECORD_PROBE_CALLER || cells[copy.unit])
            give_probe(v, b, first + i, &copy, executions);
        /* else its cells are younger than this pass, and so is it */
    }
}

void probes_give(struct visit *v, struct block *b)
{
    if (visit_records(&b->probes, RECORD_KIND_PROBES) >
        RECORD_PROBES_MAX + visit_per_chunk[RECORD_KIND_PROBES]) {
        v->reader->damaged = true;
        return;
    }
    const int32_t **cells = xcalloc(v->unit_count + 1, sizeof(*cells));
    for (size_t i = 0; i < b->cells.count; i++)
        find_cells_in(v, &b->cells.refs[i], cells);
    for (size_t i = 0; i < b->probes.count; i++)
        give_chunk(v, b, &b->probes.refs[i], (uint32_t)i * visit_per_chunk[RECORD_KIND_PROBES],
                   cells);
    free(cells);
}
