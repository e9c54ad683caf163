/* SPDX-License-Identifier: MIT */
/* Code for the sites of a change, and the patches that lead to it. */
#include "inject/session_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 256 * 1024, REGION_MAX = 32 };
#define TRY_DATA (UINT64_C(1) << 46) /* stands for data that are not there yet */

static void as_before(const struct place *old, const struct place *place, uint8_t *now)
{
    for (uint8_t k = 0; k < old->bytes; k++)
        if (old->window + k - place->window < place->bytes)
            now[old->window + k - place->window] = old->original[k];
}

/* The instructions as they are in the file, and in the process too. */
static const char *read_place(const struct change *c, const struct loaded *l, struct place *place)
{
    uint8_t now[32];
    if (!loaded_bytes(l, place->window - l->bias, place->original, place->bytes))
        return "its bytes cannot be read from the file";
    if (target_read(c->process->target, place->window, now, place->bytes) < 0)
        return "its bytes cannot be read";
    for (size_t i = 0; i < c->dropped_count; i++) {
        as_before(&c->dropped[i]->at, place, now);
        as_before(&c->dropped[i]->relay, place, now);
    }
    if (memcmp(now, place->original, place->bytes) != 0)
        return "its code was changed: by a debugger's breakpoint, or by another loupe";
    return NULL;
}

static const char *read_original(const struct change *c, struct site *site)
{
    const char *why = read_place(c, site->loaded, &site->at);
    return why || !site->relay.bytes ? why : read_place(c, site->loaded, &site->relay);
}

static bool has_thread_pointer(const struct process *p)
{
    const struct loaded *program = p->loaded_count ? p->loaded[0] : NULL;
    return p->loaded_count > 1 || !program || !program->analysis || program->analysis->threads;
}

struct made {
    struct emit_point points[EMIT_POINTS];
    struct emit_use *uses;
    size_t count;
};

/* The uses, point by point: they stand in that order. */
static int collect(const struct change *c, const struct site *site, uint64_t tick_scale,
                   struct made *m)
{
    const struct emit_point common = {.bias = site->loaded->bias,
                                      .data = c->process->remote_data ? c->process->remote_data
                                                                      : TRY_DATA,
                                      .common = site->loaded->common,
                                      .tick_scale = tick_scale,
                                      .shared = !has_thread_pointer(c->process),
                                      .no_system_calls = c->process->confined};
    m->count = 0;
    m->uses = xcalloc(site->use_count, sizeof *m->uses);
    for (size_t i = 0; i < site->use_count; i++) {
        const struct site_use *u = &site->uses[i];
        m->uses[i].actions = u->actions;
        m->uses[i].first_variable = u->first_variable;
        m->uses[i].record = u->record.unit ? &u->record : NULL;
        if (i > 0 && u->point == site->uses[i - 1].point) {
            m->points[m->count - 1].use_count++;
            continue;
        }
        if (m->count == EMIT_POINTS)
            return -E2BIG;
        struct emit_point *p = &m->points[m->count++];
        *p = common;
        p->point = u->point;
        p->window = site->at.original + (u->point->window + p->bias - site->at.window);
        p->relay = site->relay.bytes ? site->relay.original : NULL;
        p->uses = &m->uses[i];
        p->use_count = 1;
    }
    return 0;
}

static int emit_site(const struct change *c, const struct site *site, uint64_t tick_scale,
                     uint64_t at, uint8_t *code, struct emit_result *result)
{
    struct made m;
    memset(result, 0, sizeof *result);
    int err = collect(c, site, tick_scale, &m);
    if (err < 0)
        snprintf(result->why, sizeof result->why, "too many points stand side by side here");
    else if (m.count == 1)
        err = emit_point(&m.points[0], at, code, SCRATCH_BYTES, result);
    else
        err = emit_points(m.points, m.count, at, code, SCRATCH_BYTES, result);
    free(m.uses);
    return err;
}

/* Where it stands decides how long it is: tried near the module's end, then made where there was
 * room. */
static int make_code(const struct change *c, struct site *site, uint64_t tick_scale, bool only_try,
                     uint8_t *scratch, struct emit_result *result)
{
    const struct loaded *l = site->loaded;
    uint64_t guess = (l->end + 4095) & ~UINT64_C(4095);
    int err = emit_site(c, site, tick_scale, guess, scratch, result);
    site->code_bytes = result->bytes;
    for (int attempt = 0; err == 0 && !only_try && attempt < 3; attempt++) {
        size_t room = (result->bytes + 15) & ~(size_t)15;
        uint64_t remote = 0;
        uint8_t *code = target_code(c->process->target, l->start, l->end, room, &remote);
        if (!code) {
            snprintf(result->why, sizeof result->why, "there is no room within 2 GiB for its code");
            return -ENOSPC;
        }
        err = emit_site(c, site, tick_scale, remote, scratch, result);
        if (err == 0 && result->bytes <= room) {
            memcpy(code, scratch, result->bytes);
            site->code = remote;
            site->code_bytes = result->bytes;
            site->code_room = room;
            return 0;
        }
        target_code_free(c->process->target, remote, room);
    }
    return err;
}

/* What the module's points share; without it they have copies of their own. */
static void make_common(const struct change *c, struct loaded *l, uint8_t *scratch)
{
    struct emit_point p = {.data = c->process->remote_data,
                           .shared = !has_thread_pointer(c->process),
                           .no_system_calls = c->process->confined};
    size_t bytes = 0;
    uint64_t remote = 0;
    if (emit_common(&p, (l->end + 4095) & ~UINT64_C(4095), scratch, SCRATCH_BYTES, &bytes) < 0)
        return;
    size_t room = (bytes + 63) & ~(size_t)63;
    uint8_t *code = target_code(c->process->target, l->start, l->end, room, &remote);
    if (!code)
        return;
    if (emit_common(&p, remote, scratch, room, &bytes) == 0) {
        memcpy(code, scratch, bytes);
        l->common = remote;
    }
}

static void refuse_site(const struct site *site, struct wanted_list *wanted, uint32_t handle,
                        const char *why)
{
    for (size_t i = 0; i < site->use_count; i++)
        for (size_t k = 0; site->uses[i].handle == handle && k < wanted->count; k++)
            if (wanted->list[k].point == site->uses[i].point &&
                wanted->list[k].loaded == site->loaded)
                wanted_refuse(wanted, &wanted->list[k], why);
}

static bool within(const struct place *place, uint64_t window, uint8_t bytes)
{
    return window >= place->window && window + bytes <= place->window + place->bytes;
}

static void fill(struct place *place, uint64_t window, uint8_t bytes, const uint8_t *jump,
                 const uint64_t *moved)
{
    size_t offset = (size_t)(window - place->window);
    memcpy(place->inserted, place->original, place->bytes);
    memset(place->moved, 0, sizeof place->moved);
    memcpy(place->inserted + offset, jump, bytes);
    memcpy(place->moved + offset, moved, bytes * sizeof *moved);
}

static int generate_site(struct change *c, struct site *site, struct wanted_list *wanted,
                         uint32_t handle, uint64_t tick_scale, bool only_try, uint8_t *scratch,
                         struct session_error *error)
{
    struct emit_result result;
    const char *why = read_original(c, site);
    int err = why ? -EBUSY : 0;
    if (!why) {
        err = make_code(c, site, tick_scale, only_try, scratch, &result);
        why = err < 0 ? (*result.why ? result.why : strerror(-err)) : NULL;
    }
    if (!why && !within(&site->at, result.window, result.window_bytes)) {
        why = "its window is not where it should be";
        err = -EINVAL;
    }
    if (why) {
        if (!wanted)
            return session_fail(error, err, "cannot be changed at %#llx: %s",
                                (unsigned long long)site->at.window, why);
        refuse_site(site, wanted, handle, why);
        return -EAGAIN;
    }
    fill(&site->at, result.window, result.window_bytes, result.jump, result.moved);
    if (site->relay.bytes) {
        fill(&site->relay, result.relay, result.relay_bytes, result.relay_jump, result.relay_moved);
        site->relay.stands = (uint8_t)(result.relay_stands + 1);
    }
    return 0;
}

/* Places of before and after, by address: what overlaps becomes one patch. */
struct piece {
    const struct place *place;
    uint64_t back; /* from a relay to where the short jump stands */
    bool after;
};

static int by_window(const void *a, const void *b)
{
    const struct place *x = ((const struct piece *)a)->place, *y = ((const struct piece *)b)->place;
    return x->window < y->window ? -1 : x->window > y->window;
}

static void overlay(uint8_t *bytes, uint64_t start, const struct place *place, const uint8_t *with)
{
    memcpy(bytes + (place->window - start), with, place->bytes);
}

/* Bytes behind a jump stay as they were, so who comes back from code of before finds them. */
static int add_patch(struct change *c, const struct piece *pieces, size_t count, uint64_t end)
{
    uint64_t start = pieces[0].place->window;
    if (end - start > REGION_MAX)
        return -E2BIG;
    struct target_patch *p = VEC_PUSH(c->patches, c->patch_count, c->patch_room);
    p->address = start;
    p->bytes = (uint8_t)(end - start);
    for (size_t i = 0; i < count; i++) {
        overlay(p->from, start, pieces[i].place, pieces[i].place->original);
        overlay(p->to, start, pieces[i].place, pieces[i].place->original);
    }
    for (size_t i = 0; i < count; i++) {
        const struct place *s = pieces[i].place;
        overlay(pieces[i].after ? p->to : p->from, start, s, s->inserted);
        for (uint8_t k = 0; pieces[i].after && k < s->bytes; k++)
            p->moved[s->window - start + k] = s->moved[k];
        if (!s->stands)
            continue;
        *(pieces[i].after ? &p->stands : &p->stood) = (uint8_t)(s->window - start + s->stands);
        p->back = pieces[i].back;
    }
    return 0;
}

static size_t add_pieces(struct piece *pieces, const struct site *site, bool after)
{
    size_t count = 0;
    pieces[count++] = (struct piece){.place = &site->at, .after = after};
    if (site->relay.bytes)
        pieces[count++] =
            (struct piece){.place = &site->relay, .after = after, .back = site->at.window};
    return count;
}

static int make_patches(struct change *c)
{
    struct piece *pieces = xcalloc(2 * (c->made_count + c->dropped_count) + 1, sizeof *pieces);
    size_t count = 0;
    int err = 0;
    for (size_t i = 0; i < c->made_count; i++)
        count += add_pieces(&pieces[count], c->made[i], true);
    for (size_t i = 0; i < c->dropped_count; i++)
        if (!c->dropped[i]->loaded->gone)
            count += add_pieces(&pieces[count], c->dropped[i], false);
    qsort(pieces, count, sizeof *pieces, by_window);
    for (size_t i = 0, next; i < count && err == 0; i = next) {
        uint64_t end = pieces[i].place->window + pieces[i].place->bytes;
        for (next = i + 1; next < count && pieces[next].place->window < end; next++)
            if (pieces[next].place->window + pieces[next].place->bytes > end)
                end = pieces[next].place->window + pieces[next].place->bytes;
        err = add_patch(c, &pieces[i], next - i, end);
    }
    free(pieces);
    return err;
}

/* What `wanted` shows of how it was done. */
static int by_wanted_point(const void *a, const void *b)
{
    const struct wanted *x = *(struct wanted *const *)a, *y = *(struct wanted *const *)b;
    if (x->point != y->point)
        return x->point < y->point ? -1 : 1;
    return x->loaded < y->loaded ? -1 : x->loaded > y->loaded;
}

static void note_made(const struct change *c, struct wanted_list *wanted)
{
    struct wanted **sorted = xcalloc(wanted->count + 1, sizeof *sorted);
    for (size_t i = 0; i < wanted->count; i++)
        sorted[i] = &wanted->list[i];
    qsort(sorted, wanted->count, sizeof *sorted, by_wanted_point);
    for (size_t i = 0; i < c->made_count; i++) {
        const struct site *s = c->made[i];
        for (size_t k = 0; k < s->use_count; k++) {
            struct wanted key = {.point = s->uses[k].point, .loaded = s->loaded}, *at = &key;
            struct wanted **w =
                bsearch(&at, sorted, wanted->count, sizeof *sorted, by_wanted_point);
            while (w && w > sorted && by_wanted_point(w - 1, &at) == 0)
                w--;
            for (; w && w < sorted + wanted->count && by_wanted_point(w, &at) == 0; w++) {
                (*w)->code_bytes = s->code_bytes;
                (*w)->relay = s->relay.bytes != 0;
            }
        }
    }
    free(sorted);
}

int change_generate(struct change *c, struct wanted_list *wanted, uint32_t handle,
                    uint64_t tick_scale, bool only_try, struct session_error *error)
{
    uint8_t *scratch = xcalloc(1, SCRATCH_BYTES);
    int err = 0;
    for (size_t i = 0; i < c->made_count; i++) {
        if (!only_try && !c->made[i]->loaded->common)
            make_common(c, c->made[i]->loaded, scratch);
        int one =
            generate_site(c, c->made[i], wanted, handle, tick_scale, only_try, scratch, error);
        err = one < 0 && err == 0 ? one : err;
        if (err < 0 && err != -EAGAIN)
            break;
    }
    free(scratch);
    if (err == 0 && wanted)
        note_made(c, wanted);
    return err < 0 || only_try ? err : make_patches(c);
}

static void applied(struct change *c)
{
    struct process *p = c->process;
    for (size_t i = 0; i < c->dropped_count; i++) {
        target_code_free(p->target, c->dropped[i]->code, c->dropped[i]->code_room);
        free(c->dropped[i]->uses);
        free(c->dropped[i]);
    }
    free(p->sites);
    p->sites = c->sites;
    p->site_count = c->site_count;
    c->sites = NULL;
    c->made_count = 0;
}

/* Those that have ended have nothing left to be changed; were there any that were not known? */
static bool some_ended(struct change *changes, size_t count)
{
    bool some = false;
    for (size_t i = 0; i < count; i++) {
        struct process *p = changes[i].process;
        if (!p->gone && !target_lives(p->target))
            some = p->gone = true;
    }
    return some;
}

int changes_apply(struct change *changes, size_t count, const struct target_also *also,
                  struct target_pause *pause, struct session_error *error)
{
    struct target_changes *all = xcalloc(count + 1, sizeof *all);
    struct target_pause unasked = {0};
    int err;
    pause = pause ? pause : &unasked;
    do {
        size_t living = 0;
        for (size_t i = 0; i < count; i++)
            if ((changes[i].patch_count || also->act) && !changes[i].process->gone)
                all[living++] = (struct target_changes){changes[i].process->target,
                                                        changes[i].patches, changes[i].patch_count};
        *pause = (struct target_pause){0};
        err = living ? targets_patch_also(all, living, also, pause) : 0;
    } while (err < 0 && some_ended(changes, count));
    free(all);
    if (err < 0)
        return session_fail(error, err, "the code could not be changed: %s",
                            err == -ESTALE ? "someone else has changed it meanwhile"
                                           : strerror(-err));
    for (size_t i = 0; i < count; i++)
        applied(&changes[i]);
    return 0;
}
