/* SPDX-License-Identifier: MIT */
/* What slow paths cannot do themselves, on the stack and under the lock of probe_hot.c: the first
 * visit of a site by a thread, a new caller, resets. */
#include "runtime/probe.h"

#include "record/dynamic.h"
#include "runtime/clock.h"
#include "runtime/hot.h"
#include "runtime/options.h"
#include "runtime/process.h"

#include <errno.h>
#include <string.h>

/* ---- the thread ---- */

void probe_frames_set_up(struct probe_thread *p, struct record_probe_frames *mirror)
{
    p->mirror = mirror ? mirror : &p->unseen;
    for (uint32_t i = 1; i <= PROBE_FRAMES; i++)
        p->frames[i].mirror =
            i <= RECORD_PROBE_FRAMES ? &p->mirror->frames[i - 1] : &p->unseen.frames[0];
    uint64_t cookie = clock_now() << 16; /* of no other thread, and each frame has its own */
    for (uint32_t i = 0; i <= PROBE_FRAMES; i++, cookie += PROBE_COOKIE_FRAME) {
        p->frames[i].depth = i;
        p->frames[i].cookie = cookie;
    }
    static struct probe_site nothing = {.dynamic = true};
    p->frames[0].sp = UINTPTR_MAX;
    p->frames[0].opened = &nothing; /* what looks for an inserted one ends here */
    p->top = p->frames;
}

static struct probe_thread *new_probes(struct thread *t)
{
    struct record_writer *w = &loupe_process.writer;
    probe_calibrate();
    probe_costs.calibrated_only = options_calibrated();
    struct probe_thread *p = pages_alloc(sizeof *p);
    if (!p)
        return NULL;
    p->active = pages_alloc(RECORD_UNITS_MAX * sizeof(*p->active));
    p->owned = pages_alloc(RECORD_UNITS_MAX * sizeof(*p->owned));
    if (!p->active || !p->owned) {
        pages_free(p->active, RECORD_UNITS_MAX * sizeof(*p->active));
        pages_free(p->owned, RECORD_UNITS_MAX * sizeof(*p->owned));
        pages_free(p, sizeof *p);
        return NULL;
    }
    struct record_chunk *chunk = record_writer_chunk(w, RECORD_KIND_FRAMES, t->block_index);
    probe_frames_set_up(p, chunk ? (struct record_probe_frames *)(chunk + 1) : NULL);
    if (chunk)
        __atomic_store_n(&chunk->used, 1, __ATOMIC_RELEASE);
    p->thread = t;
    p->block = t->block;
    p->taken = t->taken;
    p->late = loupe_process.extra ? INT64_MIN : (int64_t)PROBE_LATE << RECORD_TIME_SHIFT;
    p->delay = *t->delay;
    p->window_spent = p->delay - t->apart;
    t->delay = &p->delay;
    /* Frames of this thread are not mistaken for those of the process it was forked from. */
    p->window_began = clock_now() << RECORD_TIME_SHIFT;
    p->random = clock_now() ^ (uint64_t)(uintptr_t)p;
    p->pressure = 256;
    p->control = t->control;
    return p;
}

static struct probe_thread *this_thread(void)
{
    struct thread *t = loupe_tls.self;
    if (t && thread_leave_old()) {
        probe_point(thread_pointer(), true);
        t = NULL;
    }
    if (!t) {
        t = !loupe_process.hold && process_open() ? thread_acquire() : NULL;
        if (!t)
            return NULL;
    }
    if (!t->probes)
        t->probes = new_probes(t);
    thread_watch(t);
    loupe_probes = t->probes;
    if (loupe_probes)
        thread_control(t);
    return loupe_probes;
}

/* ---- cells ---- */

/* Small units share a chunk; a large one has a run of its own. */
static struct record_cells *new_cells(struct probe_thread *p, const struct probe_unit *u)
{
    struct record_writer *w = &loupe_process.writer;
    size_t bytes = (sizeof(struct record_cells) + u->sites * sizeof(int32_t) + 7) & ~(size_t)7;
    struct record_chunk *chunk = p->cells;
    uint32_t used = chunk ? p->cells_used : 0;
    if (!chunk || used + bytes > RECORD_CHUNK_ROOM) {
        size_t count = (bytes + sizeof *chunk + RECORD_CHUNK - 1) / RECORD_CHUNK;
        chunk = record_writer_run(w, RECORD_KIND_CELLS, p->thread->block_index, (uint32_t)count);
        if (!chunk)
            return NULL;
        used = 0;
        if (count == 1)
            p->cells = chunk;
    }
    struct record_cells *cells = (struct record_cells *)((char *)(chunk + 1) + used);
    cells->unit = u->record;
    cells->sites = u->sites;
    __atomic_store_n(&chunk->used, used + (uint32_t)bytes, __ATOMIC_RELEASE);
    if (chunk == p->cells)
        p->cells_used = used + (uint32_t)bytes;
    return cells;
}

static struct probe_cells *own_cells(struct probe_thread *p, uint32_t number)
{
    struct probe_unit *u = &probe_units[number];
    if (p->owned[number])
        return p->owned[number];
    struct probe_cells *c = arena_alloc(sizeof *c);
    size_t bytes = u->sites * sizeof(*c->sites);
    struct probe_site **sites = bytes > 2048 ? pages_alloc(bytes) : arena_alloc(bytes);
    struct record_cells *cells = c && sites && probe_unit_say(u) ? new_cells(p, u) : NULL;
    if (!cells) {
        record_trouble(loupe_process.writer.header, RECORD_TROUBLE_CELLS);
        return NULL;
    }
    memset(sites, 0, bytes);
    *c = (struct probe_cells){cells->cells, sites, u->sites};
    p->owned[number] = c;
    return c;
}

/* The table of a module that is this thread's own, in place of the starter's. */
static void **own_table(struct probe_unit *u, void **at)
{
    struct probe_thread *p = loupe_probes;
    void **from = probe_starter(u);
    if (*at != from || !from || !p)
        return *at;
    struct probe_table *t = p->tables;
    while (t && t->offset != u->offset)
        t = t->next;
    if (!t && (t = arena_alloc(sizeof *t))) {
        *t = (struct probe_table){.offset = u->offset, .next = p->tables};
        t->table = pages_alloc(PROBE_MODULE_UNITS * sizeof(*t->table));
        p->tables = t;
    }
    void **table = t ? t->table : NULL;
    for (uint32_t i = 1; table && i < PROBE_MODULE_UNITS && (from[i] || table[i]); i++)
        table[i] = from[i];
    __atomic_store_n(at, (void *)table, __ATOMIC_RELEASE);
    return table;
}

/* From now on the thread's probes of the unit go there; NULL: nowhere. */
static void point_to(struct probe_unit *u, int32_t *cells)
{
    void **at = (void **)(thread_pointer() + u->offset);
    if (u->flags & LOUPE_UNIT_MODULE) {
        at = own_table(u, at);
        at = at ? &at[u->index] : NULL;
    }
    if (at)
        __atomic_store_n(at, (void *)cells, __ATOMIC_RELEASE);
}

/* ---- records ---- */

static struct record_probe *new_record(struct probe_thread *p, const struct probe_site *s,
                                       const struct record_probe *like, uint32_t *index)
{
    struct record_probe *r = NULL;
    if (p->probe_count < RECORD_PROBES_MAX)
        r = record_cursor_next(&loupe_process.writer, &p->probes, RECORD_KIND_PROBES,
                               p->thread->block_index, sizeof *r);
    if (!r) {
        record_trouble(loupe_process.writer.header, RECORD_TROUBLE_PROBES);
        return NULL;
    }
    *r = *like;
    r->kind = s->dynamic && s->recursive      ? LOUPE_SITE_RECURSIVE
              : s->kind == LOUPE_SITE_COUNTED ? LOUPE_SITE_PROCEDURE
                                              : s->kind;
    r->min = UINT64_MAX;
    r->stratum_size = 1;
    record_cursor_publish(&p->probes);
    *index = p->probe_count++;
    return r;
}

static bool is_timed(const struct probe_site *s)
{
    return s->kind == LOUPE_SITE_LOOP || s->kind == LOUPE_SITE_STATEMENT ||
           s->kind == LOUPE_SITE_CALL || s->kind == LOUPE_SITE_SOLE;
}

static struct probe_site *new_site(struct probe_thread *p, struct probe_cells *c, uint32_t number,
                                   uint32_t site)
{
    const struct probe_unit *u = &probe_units[number];
    uint64_t entry = u->unit->table[site];
    struct probe_site *s = arena_alloc(sizeof *s);
    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    s->cell = &c->cells[site];
    s->kind = (uint8_t)(entry >> 56);
    s->recursive = s->kind == LOUPE_SITE_RECURSIVE;
    if (s->recursive) /* in all else a procedure */
        s->kind = LOUPE_SITE_PROCEDURE;
    s->group = probe_group(entry & ((1ull << 56) - 1));
    s->own = s->kind == LOUPE_SITE_SOLE;
    s->dynamic = u->flags & DYNAMIC_UNIT;
    s->size = 1;
    struct record_probe like = {.unit = u->record,
                                .site = site,
                                .state = (is_timed(s) ? RECORD_PROBE_TIMED : 0) |
                                         (p->off ? RECORD_PROBE_HELD : 0),
                                .caller_module = RECORD_NO_MODULE};
    s->record = new_record(p, s, &like, &s->index);
    if (!s->record) /* counted by nobody: let it not come here at each visit */
        return NULL;
    bool marked = s->kind == LOUPE_SITE_CALL ||
                  (s->group && s->group->procedures && s->kind == LOUPE_SITE_STATEMENT);
    s->way = marked                            ? PROBE_MARKED
             : s->dynamic                      ? PROBE_DYNAMIC
             : s->kind == LOUPE_SITE_PROCEDURE ? PROBE_UNKNOWN
                                               : PROBE_OWN;
    s->calibrated = &probe_costs.plain[s->way];
    s->cost = s->own_cost = s->warm_cost = s->record->cost = s->calibrated->all;
    s->inside = s->calibrated->inside;
    s->weight = 1;
    s->next_size = 1;
    s->reckon.item = s->reckon.call_item = s->reckon.outer = RECORD_PATH_NO_ITEM;
    probe_item(p, s, u->id, site);
    c->sites[site] = s;
    return s;
}

static void *find_site(struct loupe_unit *unit, uint32_t site)
{
    struct probe_thread *p = loupe_probes;
    if (!p || p->thread->control_at != loupe_control)
        p = this_thread();
    uint32_t number = unit->number;
    if (!number || number >= probe_unit_count || probe_units[number].unit != unit ||
        site >= probe_units[number].sites)
        return NULL;
    struct probe_unit *u = &probe_units[number];
    if (!p) {
        if (loupe_process.impossible)
            point_to(u, NULL);
        return NULL;
    }
    struct probe_cells *c = own_cells(p, number);
    bool first = !p->active[number];
    if (first) {
        point_to(u, c ? c->cells : NULL);
        p->active[number] = c;
    }
    if (!c)
        return NULL;
    struct probe_site *s = c->sites[site] ? c->sites[site] : new_site(p, c, number, site);
    if (!s)
        c->cells[site] += 1 << 30;
    else if (first && --*(volatile int32_t *)s->cell >= 0)
        s = NULL; /* this visit has counted down the starter; now it is counted */
    return s;
}

void *probe_rare_site(void *unit, uintptr_t site)
{
    int saved = errno;
    void *s = find_site(unit, (uint32_t)site);
    if (s) {
        clock_measure(loupe_process.writer.header);
        probe_calibrate(); /* the moment is as good as any */
    }
    errno = saved;
    return s;
}

void *probe_rare_caller(void *site, uintptr_t address)
{
    int saved = errno;
    struct probe_site *s = site;
    struct probe_thread *p = loupe_probes;
    bool others = s->caller_count >= PROBE_CALLERS;
    struct probe_caller *c = arena_alloc(sizeof *c), **last = &s->callers;
    uintptr_t bias = 0;
    struct record_probe like = {.unit = s->record->unit,
                                .site = s->record->site,
                                .state = RECORD_PROBE_TIMED | RECORD_PROBE_CALLER,
                                .caller_module = RECORD_CALLER_UNKNOWN};
    if (!others)
        like.caller_module = module_at(address, &bias);
    if (like.caller_module == RECORD_NO_MODULE)
        like.caller_module = RECORD_CALLER_UNKNOWN;
    if (like.caller_module != RECORD_CALLER_UNKNOWN)
        like.caller_offset = address - bias;
    struct record_probe *r = c ? new_record(p, s, &like, &c->index) : NULL;
    if (r) {
        c->address = others ? 0 : address;
        c->record = r;
        c->next = NULL;
        while (*last)
            last = &(*last)->next;
        *last = c;
        s->caller_count++;
    }
    errno = saved;
    return r ? c : NULL;
}

/* ---- control ---- */

static void each_site(struct probe_thread *p, void (*act)(struct probe_site *s))
{
    for (uint32_t i = 1; i < probe_unit_count; i++)
        for (uint32_t k = 0; p->owned[i] && k < p->owned[i]->count; k++)
            if (p->owned[i]->sites[k])
                act(p->owned[i]->sites[k]);
}

static void new_stratum(struct probe_site *s)
{
    s->serial++;
    s->missed = 0;
    if (s->phase == PROBE_BLOCK) /* what was timed of the block is forgotten */
        s->cut = RECORD_BLOCK - s->left;
    else if (s->phase > PROBE_BLOCK)
        s->cut = RECORD_BLOCK;
    s->last_known = false;
    s->record->stratum_begin = probe_executions(s);
    s->record->stratum_time = 0;
    s->record->stratum_timed = 0;
}

static void clear_record(struct record_probe *r)
{
    r->count = r->timed = 0;
    r->time = r->mean = 0;
    r->min = UINT64_MAX;
    r->max = 0;
    r->squares[0] = r->squares[1] = 0;
    r->strata = 0;
    r->state &= ~(uint32_t)RECORD_PROBE_SAMPLED;
}

static void reset_site(struct probe_site *s)
{
    struct record_probe *r = s->record;
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    clear_record(r);
    r->before = r->held = probe_executions(s);
    new_stratum(s);
    if (s->size > 1)
        r->state |= RECORD_PROBE_SAMPLED;
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
    for (struct probe_caller *c = s->callers; c; c = c->next)
        clear_record(c->record);
}

void probe_reset(struct probe_thread *p)
{
    probe_loud(p);
    each_site(p, reset_site);
    int64_t delay = p->delay & p->taken;
    for (struct probe_frame *f = p->frames + 1; f <= p->top; f++) {
        f->begin = (clock_now() << RECORD_TIME_SHIFT) - (uint64_t)delay;
        f->mirror->begin = clock_now() - (uint64_t)(delay >> RECORD_TIME_SHIFT);
        f->serial = f->site->serial;
    }
}

static void move_site(struct probe_site *s, uint64_t moved, uint64_t taken)
{
    s->decided -= moved;
    s->block_began -= moved;
    s->block_ended -= moved;
    s->settled -= moved;
    s->block_delay += (int64_t)moved;
    s->reckon.at -= (int64_t)(moved & taken);
    s->reckon.stepped -= (int64_t)moved;
}

void probe_delay_moved(struct probe_thread *p, int64_t moved)
{
    if (!moved)
        return;
    uint64_t seen = (uint64_t)(moved & p->taken);
    for (struct probe_frame *f = p->frames + 1; f <= p->top; f++) {
        f->begin -= seen;
        f->mirror->begin -= (uint64_t)((int64_t)seen >> RECORD_TIME_SHIFT);
    }
    if (p->interrupted)
        p->interrupted -= seen;
    for (uint32_t i = 1; i < probe_unit_count; i++)
        for (uint32_t k = 0; p->owned[i] && k < p->owned[i]->count; k++)
            if (p->owned[i]->sites[k])
                move_site(p->owned[i]->sites[k], (uint64_t)moved, (uint64_t)p->taken);
}

static void switch_off(struct probe_site *s)
{
    struct record_probe *r = s->record;
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    r->held = probe_executions(s);
    r->state |= RECORD_PROBE_HELD;
    s->missed += s->left; /* of a block that is timed: the rest of it is not */
    s->left = s->link_left = 0;
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
}

static void switch_on(struct probe_site *s)
{
    struct record_probe *r = s->record;
    __atomic_store_n(&r->version, r->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (r->state & RECORD_PROBE_HELD) {
        uint64_t unseen = probe_executions(s) - r->held;
        r->before += unseen;
        r->stratum_begin += unseen;
        s->reckon.visits += unseen;
    }
    r->state &= ~(uint32_t)RECORD_PROBE_HELD;
    __atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
}

void probe_switch(struct probe_thread *p, bool off)
{
    if (off == p->off)
        return;
    if (off)
        probe_close_all(p);
    each_site(p, off ? switch_off : switch_on);
    p->off = off;
}

void *probe_rare_control(void *thread, uintptr_t unused)
{
    struct probe_thread *p = thread;
    int saved = errno;
    (void)unused;
    memset(p->seen, 0, sizeof p->seen);
    memset(p->direct, 0, sizeof p->direct);
    thread_control(p->thread);
    errno = saved;
    return NULL;
}

/* ---- fork ---- */

void probe_forget_all(void)
{
    loupe_probes = NULL;
    probe_lock = 0;
    probe_units_forget();
    probe_living_forget();
    probe_point(thread_pointer(), true);
}
