/* SPDX-License-Identifier: MIT */
#include "inject/attach_parts.h"

#include "base/alloc.h"
#include "binary/dynamic.h"
#include "inject/arch/x86_64/loader.h"
#include "record/layout.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM_FOR_MORE = 256 }; /* slots of libraries that come later */

/* ---- opening ---- */

static int refuse(const struct process *p, struct attach_error *error)
{
    int pid = (int)p->pid;
    switch (p->kind) {
    case ATTACH_POSSIBLE: break;
    case ATTACH_PRELOADED:
        snprintf(error->message, sizeof error->message,
                 "process %d has been monitored since its start; look at it with: loupe top %d",
                 pid, pid);
        return -EALREADY;
    case ATTACH_FOREIGN:
        snprintf(error->message, sizeof error->message,
                 "process %d has the library of another build of loupe in it; use that one", pid);
        return -EALREADY;
    case ATTACH_STATIC:
        snprintf(error->message, sizeof error->message,
                 "process %d has MPI linked into the program itself (static): its calls cannot be "
                 "redirected. loupe probe %d counts and times its procedures",
                 pid, pid);
        return -ENOTSUP;
    case ATTACH_NO_MPI:
        snprintf(error->message, sizeof error->message,
                 "process %d uses no MPI library; loupe probe %d counts and times its procedures",
                 pid, pid);
        return -ENOTSUP;
    }
    if (p->open && p->symbol && p->error_text)
        return 0;
    snprintf(error->message, sizeof error->message,
             "process %d has a C library without dlopen (before glibc 2.34 and without libdl): "
             "nothing can be loaded into it; start it with loupe run",
             pid);
    return -ENOTSUP;
}

static int open_one(struct attach *a, struct process *p, struct attach_error *error)
{
    struct target_error why;
    int err = target_attach(p->pid, &p->target, &why);
    if (err) {
        snprintf(error->message, sizeof error->message, "%s", why.message);
        return err;
    }
    err = process_look(&a->files, p);
    if (err) {
        snprintf(error->message, sizeof error->message, "process %d cannot be looked at: %s",
                 (int)p->pid, strerror(-err));
        return err;
    }
    process_kind(&a->files, p);
    return refuse(p, error);
}

/* The targets of those that live; how many. */
static size_t living_targets(struct attach *a, struct target **list)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        if (a->processes[i].target && process_lives(&a->processes[i]))
            list[count++] = a->processes[i].target;
    return count;
}

/* How many still have probes. */
static int take_out_singly(struct attach *a)
{
    int lost = 0;
    for (size_t i = 0; i < a->count; i++) {
        struct process *p = &a->processes[i];
        lost += p->target && process_lives(p) && target_restore(p->target) < 0 && process_lives(p);
    }
    return lost;
}

int attach_open(const pid_t *pids, size_t count, const char *library,
                const struct attach_going *going, struct attach **attach,
                struct attach_error *error)
{
    struct attach *a = xcalloc(1, sizeof *a);
    a->processes = xcalloc(count, sizeof *a->processes);
    *attach = a;
    int err = files_open(&a->files, library);
    if (err)
        snprintf(error->message, sizeof error->message, "%s cannot be read: %s", library,
                 strerror(-err));
    for (size_t i = 0; i < count && !err; i++) {
        a->processes[a->count++] = (struct process){.pid = pids[i]};
        err = going ? going->on(going->data, pids[i]) : 0;
        if (!err)
            err = open_one(a, &a->processes[i], error);
    }
    struct target **targets = xcalloc(count + 1, sizeof(struct target *));
    /* One that was killed may have left probes; and a process may end meanwhile. */
    if (!err && targets_restore(targets, living_targets(a, targets), NULL) < 0)
        take_out_singly(a);
    free(targets);
    return err;
}

void attach_free(struct attach *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->count; i++) {
        if (a->processes[i].target)
            process_let_go(&a->processes[i]);
        free(a->processes[i].slots);
    }
    files_free(&a->files);
    free(a->processes);
    free(a);
}

/* ---- loading ---- */

static void put_text(char *to, size_t room, const char *text)
{
    snprintf(to, room, "%s", text ? text : "");
}

static bool fits(const struct attach_place *place)
{
    return strlen(place->library) < ATTACH_PATH && strlen(place->job_dir) < ATTACH_TEXT &&
           (!place->spill_dir || strlen(place->spill_dir) < ATTACH_TEXT) &&
           strlen(place->options) < ATTACH_TEXT;
}

static void tell_slots(struct process *p)
{
    size_t count = p->slot_count < p->block_room ? p->slot_count : p->block_room;
    for (size_t i = p->block->slot_count; i < count; i++)
        p->block->slots[i] = (struct attach_slot){p->slots[i].address, p->slots[i].original};
    p->block->slot_count = (uint32_t)count;
}

static int place_loader(struct process *p, const struct attach_place *place)
{
    p->block_room = p->slot_count + ROOM_FOR_MORE;
    size_t bytes = sizeof *p->block + p->block_room * sizeof *p->block->slots;
    p->block = target_data(p->target, bytes, &p->block_remote);
    uint8_t *code =
        p->block ? target_code(p->target, 0, 0, loader_bytes(p->slot_count), &p->code) : NULL;
    if (!code)
        return target_lives(p->target) ? -ENOMEM : -ESRCH;
    struct attach_block *b = p->block;
    *b = (struct attach_block){.magic = ATTACH_MAGIC,
                               .version = ATTACH_VERSION,
                               .open = p->open,
                               .symbol = p->symbol,
                               .error_text = p->error_text,
                               .entry = ATTACH_ENTRY};
    put_text(b->library, sizeof b->library, place->library);
    put_text(b->job_dir, sizeof b->job_dir, place->job_dir);
    put_text(b->spill_dir, sizeof b->spill_dir, place->spill_dir);
    put_text(b->options, sizeof b->options, place->options);
    tell_slots(p);
    loader_write(code, p->code, p->block_remote, p->slot_count);
    return 0;
}

static int place_loaders(struct attach *a, const struct attach_place *place,
                         struct attach_error *error)
{
    for (size_t i = 0; i < a->count; i++) {
        struct process *p = &a->processes[i];
        int err = place_loader(p, place);
        if (err) {
            snprintf(error->message, sizeof error->message,
                     "process %d: no memory for the loader: %s", (int)p->pid, strerror(-err));
            return err;
        }
    }
    return 0;
}

static int lead_to_loaders(struct attach *a, struct attach_error *error)
{
    struct slot_changes c;
    slot_changes_begin(&c, a);
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->processes[i].slot_count; k++) {
            const struct slot *s = &a->processes[i].slots[k];
            if (!a->files.symbols[s->symbol].at_last)
                slot_changes_add(&c, i, (uint32_t)k, s->address, s->seen,
                                 loader_stub(a->processes[i].code, k));
        }
    int err = slot_changes_make(&c, a, NULL, NULL, false, NULL);
    slot_changes_free(&c);
    if (err)
        snprintf(error->message, sizeof error->message,
                 "the processes cannot be stopped for a moment: %s", strerror(-err));
    return err;
}

int attach_begin(struct attach *a, const struct attach_place *place, struct attach_error *error)
{
    if (!fits(place)) {
        snprintf(error->message, sizeof error->message,
                 "the path of the library or of the job's directory is too long: %s, %s",
                 place->library, place->job_dir);
        return -ENAMETOOLONG;
    }
    struct target **targets = xcalloc(a->count + 1, sizeof(struct target *));
    size_t count = living_targets(a, targets);
    targets_hold(targets, count);
    int err = place_loaders(a, place, error);
    if (!err)
        err = lead_to_loaders(a, error);
    targets_go(targets, count);
    free(targets);
    return err;
}

int attach_waiting(struct attach *a, pid_t *one, struct attach_error *error)
{
    int waiting = 0;
    for (size_t i = 0; i < a->count; i++) {
        struct process *p = &a->processes[i];
        if (!process_lives(p))
            continue;
        uint32_t state = __atomic_load_n(&p->block->state, __ATOMIC_ACQUIRE);
        if (state == ATTACH_FAILED) {
            p->block->error[ATTACH_TEXT - 1] = 0;
            snprintf(error->message, sizeof error->message, "process %d: %s", (int)p->pid,
                     p->block->error);
            return -EIO;
        }
        if (state != ATTACH_LOADED) {
            *one = p->pid;
            waiting++;
        }
    }
    return waiting;
}

size_t attach_living(struct attach *a)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        count += process_lives(&a->processes[i]);
    return count;
}

/* ---- redirecting ---- */

static uint64_t ticks_now(uint32_t clock)
{
    return clock == RECORD_CLOCK_TSC ? __builtin_ia32_rdtsc() : attach_now_ns();
}

/* The rank's time begins when its calls are seen, and all ranks' together: just before they go on,
 * so that nothing of the stop is in it. */
void redirecting_set_moments(void *data)
{
    const struct redirecting *r = data;
    for (size_t i = 0; i < r->moment_count; i++)
        r->moments[i]->to = ticks_now(r->clocks[i]);
}

static void add_moment(struct redirecting *r, size_t i, uint64_t address, uint64_t from,
                       uint32_t clock)
{
    slot_changes_add(&r->changes, i, UINT32_MAX, address, from, 0);
    struct target_words *w = &r->changes.words[i];
    struct target_word *word = &w->words[w->count - 1];
    word->late = true;
    r->clocks[r->moment_count] = clock;
    r->moments[r->moment_count++] = word;
}

static void add_beginning(struct redirecting *r, size_t i)
{
    const struct process *p = &r->attach->processes[i];
    struct record_header h;
    if (!p->header || target_read(p->target, p->header, &h, sizeof h))
        return;
    add_moment(r, i, p->header + offsetof(struct record_header, mpi_init_begin), h.mpi_init_begin,
               h.clock);
    add_moment(r, i, p->header + offsetof(struct record_header, mpi_init_end), h.mpi_init_end,
               h.clock);
}

static int look_once_more(struct attach *a, struct process *p)
{
    int err = process_look(&a->files, p);
    if (!err && process_lives(p)) {
        tell_slots(p);
        p->header = p->block->header;
        p->mapped = process_mapped(p);
    }
    return err == -ESRCH ? 0 : err;
}

int redirecting_begin(struct redirecting *r, struct attach *a)
{
    int err = 0;
    for (size_t i = 0; i < a->count && !err; i++)
        if (process_lives(&a->processes[i]))
            err = look_once_more(a, &a->processes[i]);
    *r = (struct redirecting){.attach = a,
                              .moments = xcalloc(2 * a->count, sizeof *r->moments),
                              .clocks = xcalloc(2 * a->count, sizeof *r->clocks)};
    slot_changes_begin(&r->changes, a);
    for (size_t i = 0; i < a->count && !err; i++) {
        struct process *p = &a->processes[i];
        for (size_t k = 0; process_lives(p) && k < p->slot_count; k++)
            slot_changes_add(&r->changes, i, (uint32_t)k, p->slots[k].address, p->slots[k].seen,
                             p->ours + a->files.symbols[p->slots[k].symbol].address);
        if (process_lives(p))
            add_beginning(r, i);
    }
    return err;
}

void redirecting_free(struct redirecting *r)
{
    if (r->attach)
        slot_changes_free(&r->changes);
    free(r->moments);
    free(r->clocks);
}

static int redirect_alone(struct attach *a, struct target_pause *pause, struct attach_error *error)
{
    struct redirecting r;
    target_hurry(true);
    int err = redirecting_begin(&r, a);
    if (!err)
        err = slot_changes_make(&r.changes, a, redirecting_set_moments, &r, true, pause);
    target_hurry(false);
    redirecting_free(&r);
    if (err)
        snprintf(error->message, sizeof error->message,
                 "the processes cannot be stopped for a moment: %s", strerror(-err));
    return err;
}

int attach_redirect(struct attach *a, const struct attach_wish *wish, struct target_pause *pause,
                    struct attach_error *error)
{
    bool gave_up = false;
    if (!wish)
        return redirect_alone(a, pause, error);
    int err = redirect_with_records(a, wish, error, &gave_up);
    if (!err)
        *pause = wish->result->pause;
    if (err && !gave_up) {
        wish->failed(wish->data, error->message);
        err = redirect_alone(a, pause, error);
    }
    return err;
}

/* ---- restoring ---- */

static bool seize_again(struct process *p)
{
    enum { ATTEMPTS = 20, NAP_US = 50 * 1000 }; /* somebody else may be looking at it */
    for (int i = 0; !p->target && !p->ended && i < ATTEMPTS; i++)
        if (process_seize(p) && !p->ended)
            usleep(NAP_US);
    return p->target;
}

struct restoring {
    struct attach *attach;
    struct slot_changes changes;
};

/* What is measured ends here: the stop that follows is not in it, nor what comes then. If the
 * measurement was off, it has ended before. */
static void add_ends(void *data)
{
    struct restoring *r = data;
    for (size_t i = 0; i < r->attach->count; i++) {
        const struct process *p = &r->attach->processes[i];
        struct record_header h;
        if (p->header && p->target && !target_read(p->target, p->header, &h, sizeof h))
            slot_changes_add(&r->changes, i, UINT32_MAX,
                             p->header + offsetof(struct record_header, off_since), 0,
                             ticks_now(h.clock));
    }
}

static void write_back(void *data)
{
    const struct restoring *r = data;
    targets_write_stopped(r->changes.words, r->changes.count, NULL, NULL);
}

/* Probes and slots in one stop. */
static int restore_code(struct restoring *r)
{
    struct target **targets = xcalloc(r->attach->count + 1, sizeof(struct target *));
    const struct target_also also = {add_ends, write_back, r, .leave = true};
    int err = targets_restore(targets, living_targets(r->attach, targets), &also);
    if (err >= 0)
        slot_changes_made(&r->changes, r->attach, true);
    free(targets);
    return err < 0 ? err : 0;
}

static void slots_back(struct restoring *r)
{
    struct attach *a = r->attach;
    slot_changes_begin(&r->changes, a);
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->processes[i].slot_count; k++) {
            const struct slot *s = &a->processes[i].slots[k];
            if (s->now)
                slot_changes_add(&r->changes, i, (uint32_t)k, s->address, s->now, s->original);
        }
}

int attach_restore(struct attach *a)
{
    struct restoring r = {.attach = a};
    int lost = 0, err = -EAGAIN;
    target_hurry(true);
    for (size_t i = 0; i < a->count; i++)
        lost += !a->processes[i].ended && !seize_again(&a->processes[i]) && !a->processes[i].ended;
    slots_back(&r);
    if (a->probes)
        err = restore_code(&r);
    if (err && a->probes) { /* one has ended meanwhile, say */
        slot_changes_free(&r.changes);
        slots_back(&r);
        lost += take_out_singly(a);
    }
    if (err) {
        add_ends(&r);
        if (slot_changes_make(&r.changes, a, NULL, NULL, true, NULL))
            lost = (int)attach_living(a);
    }
    slot_changes_free(&r.changes);
    for (size_t i = 0; i < a->count; i++)
        if (a->processes[i].target)
            process_let_go(&a->processes[i]);
    target_hurry(false);
    return lost;
}
