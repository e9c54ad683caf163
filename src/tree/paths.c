/* SPDX-License-Identifier: MIT */
#include "tree/paths.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void paths_add(struct paths *paths, const struct record_path_reading *r, uint32_t rank,
               double tick_s, uint64_t origin)
{
    struct paths_sample *s = VEC_PUSH(paths->pending, paths->pending_count, paths->pending_room);
    *s = (struct paths_sample){.generation = r->generation,
                               .rank = rank,
                               .items = r->items,
                               .since_s = NAN,
                               .length_s = (double)r->length * tick_s,
                               .mpi_s = (double)r->mpi * tick_s,
                               .cpu_s = (double)r->spent * tick_s,
                               .bucket_s = (double)r->bucket * tick_s};
    if (r->began && origin)
        s->since_s = r->began > origin ? (double)(r->began - origin) * tick_s : 0;
    for (uint32_t i = 0; i < r->items; i++) {
        const struct record_path_item *item = &r->item[i];
        s->item[i].share_s = (double)item->share * tick_s;
        s->item[i].exclusive_s = (double)item->exclusive * tick_s;
        s->item[i].zeroed_s = (double)(r->length - item->share + item->excess) * tick_s;
        s->item[i].cpu_s = (double)r->item_spent[i] * tick_s;
    }
    memcpy(s->strip, r->strip, sizeof s->strip);
}

/* The longest path gives everything but the zeroed lengths: which path is the longest without an
 * item differs from item to item, and it may end in another thread. What was spent is spent by all.
 */
static void merge(struct paths_sample *into, const struct paths_sample *from)
{
    struct paths_sample was = *into;
    if (from->length_s > into->length_s)
        *into = *from;
    uint32_t items = was.items < from->items ? was.items : from->items;
    into->cpu_s = was.cpu_s + from->cpu_s;
    for (uint32_t i = 0; i < items; i++) {
        into->item[i].zeroed_s = fmax(was.item[i].zeroed_s, from->item[i].zeroed_s);
        into->item[i].cpu_s = was.item[i].cpu_s + from->item[i].cpu_s;
    }
    into->since_s = fmin(was.since_s, from->since_s); /* which passes over NAN */
}

static void keep(struct paths *paths, const struct paths_sample *s)
{
    size_t at = 0;
    while (at < paths->count && paths->best[at].generation > s->generation)
        at++;
    if (at < paths->count && paths->best[at].generation == s->generation) {
        merge(&paths->best[at], s);
        return;
    }
    if (at == PATHS_GENERATIONS)
        return;
    size_t move = (paths->count < PATHS_GENERATIONS ? paths->count : PATHS_GENERATIONS - 1) - at;
    memmove(&paths->best[at + 1], &paths->best[at], move * sizeof *paths->best);
    paths->best[at] = *s;
    paths->count += paths->count < PATHS_GENERATIONS;
}

void paths_end_process(struct paths *paths, bool worth)
{
    for (size_t i = 0; worth && i < paths->pending_count; i++)
        keep(paths, &paths->pending[i]);
    paths->pending_count = 0;
}

void paths_free(struct paths *paths)
{
    free(paths->pending);
    *paths = (struct paths){0};
}

static void set_strip(struct run_path *path, const struct paths_sample *s)
{
    path->strip_s = s->bucket_s;
    for (int i = 0; i < RECORD_PATH_STRIP; i++) {
        bool reached = s->strip[i] && i * s->bucket_s < s->length_s;
        path->strip[i] = reached ? (int32_t)s->strip[i] - 1 : -1;
    }
}

static void add_items(struct run_path *path, const struct paths_sample *s, const struct plan *plan)
{
    double covered = 0;
    for (uint32_t i = 0; i < s->items && i < plan->items; i++) {
        struct run_path_item *item = VEC_PUSH(path->items, path->item_count, path->item_room);
        item->number = i;
        item->share_s = s->item[i].share_s;
        item->exclusive_s = s->item[i].exclusive_s;
        item->zeroed_s = fmin(s->item[i].zeroed_s, s->length_s);
        item->cpu_s = s->item[i].cpu_s;
        if (plan->names[i][0])
            item->name = xstrdup(plan->names[i]);
        for (char *c = item->name; c && *c; c++)
            *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
        covered += item->exclusive_s;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct plan_range *r = &plan->ranges[i];
        *VEC_PUSH(path->ranges, path->range_count, path->range_room) =
            (struct run_path_range){r->from, r->to, r->item};
    }
    path->covered = s->length_s > 0 ? fmin(covered / s->length_s, 1) : 0;
}

void paths_finish(struct paths *paths, const struct plan *plan, struct run *run)
{
    struct run_path *path = &run->path;
    const struct paths_sample *s = NULL;
    for (size_t i = paths->count; plan && i-- > 0;)
        if (paths->best[i].generation <= plan->generation)
            s = &paths->best[i];
    if (!s)
        return;
    path->known = true;
    path->on = plan->on;
    path->generation = s->generation;
    path->since_s = s->since_s;
    path->length_s = s->length_s;
    path->mpi_s = s->mpi_s;
    path->rank = s->rank;
    path->cpu_s = s->cpu_s;
    set_strip(path, s);
    /* Switching it off is a generation too, of which nobody has a path. */
    bool same =
        s->generation == plan->generation || (!plan->on && s->generation + 1 == plan->generation);
    if (!same) {
        path->searching = plan->searching; /* its ranks have not come to the next items yet */
        return;
    }
    path->searching = plan->on && plan->searching;
    path->top = plan->top;
    path->complete = plan->complete && !plan->searching;
    add_items(path, s, plan);
    run_path_sort(path);
}
