/* SPDX-License-Identifier: MIT */
/*
 * Changing code that is there. All that can be done while the target runs is done before the stop:
 * what is mapped is looked at, the new pages are made, and the kernel is brought to give the target
 * its own copies of them (by writing one byte as it is). In the stop the pages are compared, the
 * threads moved, and neighbouring pages written at once.
 */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Neighbouring pages. */
struct run {
    uint64_t start;
    size_t bytes;
    uint8_t *before, *after, *now;
};
struct plan {
    struct target *target;
    struct target_patch *patches; /* sorted */
    struct journal_entry **noted; /* of each */
    size_t patch_count;
    struct run *runs;
    size_t count, room;
};
struct patching {
    struct plan *plans;
    struct target **targets; /* the same */
    size_t target_count;
    struct target_pause pause;
    struct target_also also;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What stands there now because of us */

static size_t change_after(const struct target *t, uint64_t address)
{
    size_t low = 0, high = t->change_count; /* the first that ends behind it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->changes[middle].address + t->changes[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One of ours that is only partly the same window would be torn. */
static bool tears(const struct target *t, const struct target_patch *p)
{
    size_t i = change_after(t, p->address);
    const struct change *c = i < t->change_count ? &t->changes[i] : NULL;
    return c && c->address < p->address + p->bytes &&
           (c->address != p->address || c->bytes != p->bytes);
}

static void record(struct target *t, const struct target_patch *p, struct journal_entry *noted)
{
    size_t i = change_after(t, p->address);
    struct change *c = i < t->change_count ? &t->changes[i] : NULL;
    if (!c || c->address != p->address) {
        VEC_PUSH(t->changes, t->change_count, t->change_room);
        c = &t->changes[i];
        memmove(c + 1, c, (t->change_count - 1 - i) * sizeof *c);
        *c = (struct change){.address = p->address, .bytes = p->bytes};
        memcpy(c->before, p->from, p->bytes);
    }
    memcpy(c->now, p->to, p->bytes);
    c->stands = p->stands;
    c->back = p->back;
    c->noted = noted;
    if (memcmp(c->now, c->before, c->bytes) == 0) {
        journal_forget(t, noted);
        t->change_count--;
        memmove(c, c + 1, (t->change_count - (size_t)(c - t->changes)) * sizeof *c);
    }
}

/* Before the stop */

/* If we are killed from here on, who comes next knows what is ours. */
static void note_all(struct plan *plan)
{
    struct target *t = plan->target;
    plan->noted = xcalloc(plan->patch_count + 1, sizeof(struct journal_entry *));
    for (size_t i = 0; i < plan->patch_count; i++) {
        const struct target_patch *p = &plan->patches[i];
        size_t k = change_after(t, p->address);
        bool known = k < t->change_count && t->changes[k].address == p->address;
        plan->noted[i] = journal_note(t, known ? t->changes[k].noted : NULL, p);
    }
}

/* It came to nothing: what was there is there. */
static void unnote_all(struct plan *plan)
{
    struct target *t = plan->target;
    for (size_t i = 0; i < plan->patch_count && plan->noted; i++) {
        size_t k = change_after(t, plan->patches[i].address);
        if (k == t->change_count || t->changes[k].address != plan->patches[i].address)
            journal_forget(t, plan->noted[i]);
    }
}

static const struct module_identity *identity(const struct target *t, uint64_t address)
{
    for (size_t i = 0; i < t->module_count; i++)
        if (address >= t->identities[i].start && address < t->identities[i].end)
            return &t->identities[i];
    return NULL;
}

/* It is the code of a file, the same as when the caller asked for the modules. */
static bool same_mapping(const struct target *t, const struct maps *maps,
                         const struct target_patch *p)
{
    const struct map_entry *e = maps_at(maps, p->address);
    const struct module_identity *m = identity(t, p->address);
    return e && p->address + p->bytes <= e->end && e->inode && e->perms[2] == 'x' &&
           e->perms[3] == 'p' && (!m || (m->inode == e->inode && m->device == e->device));
}

static struct run *run_for(struct plan *plan, uint64_t page)
{
    struct run *r = plan->count ? &plan->runs[plan->count - 1] : NULL;
    if (r && page < r->start + r->bytes)
        return r;
    if (!r || page != r->start + r->bytes) {
        r = VEC_PUSH(plan->runs, plan->count, plan->room);
        r->start = page;
    }
    r->bytes += PAGE;
    return r;
}

static int fill_run(struct target *t, struct run *r)
{
    r->before = xcalloc(3, r->bytes);
    r->after = r->before + r->bytes;
    r->now = r->after + r->bytes;
    if (mem_read(t, r->start, r->before, r->bytes))
        return -ESTALE;
    memcpy(r->after, r->before, r->bytes);
    for (size_t at = 0; at < r->bytes; at += PAGE)
        if (mem_write(t->mem, r->start + at, r->before + at, 1))
            return -ESTALE;
    return 0;
}

static int plan_make(struct plan *plan)
{
    struct target *t = plan->target;
    const struct target_patch *patches = plan->patches;
    size_t count = plan->patch_count;
    struct maps maps = {0};
    int e = t->dead ? -ESRCH : maps_read(t, &maps);
    for (size_t i = 0; i < count && e == 0; i++) {
        const struct target_patch *p = &patches[i];
        if (!same_mapping(t, &maps, p))
            e = -ESTALE;
        else if (tears(t, p))
            e = -EBUSY;
        for (uint64_t page = p->address & -(uint64_t)PAGE; page < p->address + p->bytes;
             page += PAGE)
            run_for(plan, page);
    }
    maps_free(&maps);
    for (size_t i = 0; i < plan->count && e == 0; i++)
        e = fill_run(t, &plan->runs[i]);
    size_t k = 0;
    for (size_t i = 0; i < count && e == 0; i++) {
        const struct target_patch *p = &patches[i];
        while (p->address >= plan->runs[k].start + plan->runs[k].bytes)
            k++;
        size_t at = p->address - plan->runs[k].start;
        if (memcmp(plan->runs[k].before + at, p->from, p->bytes) != 0)
            e = -ESTALE;
        memcpy(plan->runs[k].after + at, p->to, p->bytes);
    }
    return e;
}

static void plan_drop(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->runs[i].before);
    free(plan->runs);
    free(plan->patches);
    free(plan->noted);
}

/* In it */

static int check_runs(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct run *r = &plan->runs[i];
        if (mem_read(plan->target, r->start, r->now, r->bytes) ||
            memcmp(r->now, r->before, r->bytes) != 0)
            return -ESTALE;
    }
    return 0;
}

static int write_runs(const struct plan *plan)
{
    int e = 0;
    size_t i = 0;
    for (; i < plan->count && e == 0; i++)
        e = mem_write(plan->target->mem, plan->runs[i].start, plan->runs[i].after,
                      plan->runs[i].bytes);
    while (e && i-- > 0)
        mem_write(plan->target->mem, plan->runs[i].start, plan->runs[i].before,
                  plan->runs[i].bytes);
    return e;
}

static void unwrite_runs(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        mem_write(plan->target->mem, plan->runs[i].start, plan->runs[i].before,
                  plan->runs[i].bytes);
}

static int patch_stopped(struct patching *p)
{
    int e = 0;
    for (size_t i = 0; i < p->target_count && e == 0; i++)
        e = p->targets[i]->dead ? -ESRCH : check_runs(&p->plans[i]);
    for (size_t i = 0; i < p->target_count && e == 0; i++)
        e = threads_move(p->targets[i], p->plans[i].patches, p->plans[i].patch_count);
    size_t written = 0;
    for (; written < p->target_count && e == 0; written++)
        e = write_runs(&p->plans[written]);
    while (e && written-- > 0)
        unwrite_runs(&p->plans[written]);
    return e;
}

static int patch(void *argument)
{
    struct patching *p = argument;
    uint64_t begin = now_ns();
    if (p->also.before)
        p->also.before(p->also.data);
    int e = threads_stop(p->targets, p->target_count);
    if (e)
        return e;
    uint64_t stopped = now_ns();
    for (size_t i = 0; i < p->target_count; i++)
        pthread_mutex_lock(&p->targets[i]->lock);
    e = patch_stopped(p);
    for (size_t i = 0; i < p->target_count; i++) {
        if (e == 0)
            arenas_reuse(p->targets[i]);
        pthread_mutex_unlock(&p->targets[i]->lock);
    }
    if (p->also.act && e == 0)
        p->also.act(p->also.data);
    p->pause = (struct target_pause){stopped - begin, now_ns() - stopped};
    for (size_t i = 0; i < p->target_count && p->also.leave && e == 0; i++) {
        p->targets[i]->leaving = true;
        threads_let_go(p->targets[i]);
    }
    if (!p->also.leave || e)
        threads_resume(p->targets, p->target_count);
    return e;
}

/* For tests: what must go wrong. */
static int patch_naive(struct target *t, const struct target_patch *patches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mem_write(t->mem, patches[i].address, patches[i].to, patches[i].bytes))
            return -EFAULT;
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct target_patch *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static struct target_patch *sorted(const struct target_patch *patches, size_t count)
{
    struct target_patch *copy = xcalloc(count ? count : 1, sizeof *copy);
    memcpy(copy, patches, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_address);
    for (size_t i = 0; i < count; i++)
        if (!copy[i].bytes || copy[i].bytes > sizeof copy[i].to ||
            (i && copy[i - 1].address + copy[i - 1].bytes > copy[i].address)) {
            free(copy);
            return NULL;
        }
    return copy;
}

static int make_plans(struct patching *p, const struct target_changes *changes)
{
    int e = 0;
    for (size_t i = 0; i < p->target_count && e == 0; i++) {
        struct plan *plan = &p->plans[i];
        p->targets[i] = plan->target = changes[i].target;
        plan->patches = sorted(changes[i].patches, changes[i].count);
        plan->patch_count = changes[i].count;
        e = plan->patches ? plan_make(plan) : -EINVAL;
        if (e == 0)
            note_all(plan);
    }
    return e;
}

static int patch_all(const struct target_changes *changes, size_t count,
                     const struct target_also *also, struct target_pause *pause)
{
    struct patching p = {.plans = xcalloc(count, sizeof *p.plans),
                         .targets = xcalloc(count, sizeof *p.targets),
                         .target_count = count,
                         .also = also ? *also : (struct target_also){0}};
    int e = make_plans(&p, changes);
    if (e == 0 && p.targets[0]->naive)
        e = patch_naive(p.targets[0], p.plans[0].patches, p.plans[0].patch_count);
    else if (e == 0)
        e = tracer_do(patch, &p);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; e == 0 && k < p.plans[i].patch_count; k++)
            record(p.targets[i], &p.plans[i].patches[k], p.plans[i].noted[k]);
        if (e)
            unnote_all(&p.plans[i]);
        plan_drop(&p.plans[i]);
    }
    if (pause)
        *pause = p.pause;
    free(p.plans);
    free(p.targets);
    return e;
}

int targets_patch(const struct target_changes *changes, size_t count, struct target_pause *pause)
{
    return count ? patch_all(changes, count, NULL, pause) : 0;
}

int targets_patch_also(const struct target_changes *changes, size_t count,
                       const struct target_also *also, struct target_pause *pause)
{
    return count ? patch_all(changes, count, also, pause) : -ESRCH;
}

int target_patch(struct target *t, const struct target_patch *patches, size_t count,
                 struct target_pause *pause)
{
    return patch_all(&(struct target_changes){t, patches, count}, 1, NULL, pause);
}

bool target_patch_fits(struct target *t, const struct target_patch *patch)
{
    struct maps maps = {0};
    uint8_t there[sizeof patch->from];
    bool fits = patch->bytes <= sizeof there && maps_read(t, &maps) == 0 &&
                same_mapping(t, &maps, patch) && !tears(t, patch) &&
                mem_read(t, patch->address, there, patch->bytes) == 0 &&
                memcmp(there, patch->from, patch->bytes) == 0;
    maps_free(&maps);
    return fits;
}

static size_t what_is_there(struct target *t, struct target_patch *back)
{
    size_t count = 0;
    for (size_t i = 0; i < t->change_count; i++) {
        const struct change *c = &t->changes[i];
        struct target_patch *p = &back[count];
        *p = (struct target_patch){
            .address = c->address, .bytes = c->bytes, .stood = c->stands, .back = c->back};
        memcpy(p->from, c->now, c->bytes);
        memcpy(p->to, c->before, c->bytes);
        count += target_patch_fits(t, p); /* else the library went away with it */
    }
    return count;
}

int patches_restore(const struct target_changes *changes, size_t count,
                    const struct target_also *also)
{
    int e = patch_all(changes, count, also, NULL);
    for (size_t k = 0; k < count; k++) {
        struct target *t = changes[k].target;
        for (size_t i = 0; i < t->change_count; i++)
            journal_forget(t, t->changes[i].noted);
        t->change_count = 0;
    }
    return e;
}

/* Takes out what is still there, and lets go of the threads in the same stop. */
int patches_leave(struct target *t, bool keep)
{
    enum { ATTEMPTS = 5 }; /* a library may go away between the look and the stop */
    const struct target_also leave = {.leave = true};
    struct target_patch *back = xcalloc(t->change_count + 1, sizeof *back);
    int e = -EAGAIN;
    for (int i = 0; i < ATTEMPTS && e && e != -ESRCH; i++)
        e = patch_all(&(struct target_changes){t, back, keep ? 0 : what_is_there(t, back)}, 1,
                      &leave, NULL);
    free(back);
    return e;
}
