/* SPDX-License-Identifier: MIT */
/*
 * What stands in the code because of us, written down in the target's own memory before it is put
 * there. If we are killed, who attaches next finds it and takes it out. Nothing of it is believed:
 * bytes are restored from the file, and only where they are as the journal says that we made them.
 */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t MAGIC = 0x316c6e72756f6a6c; /* with the layout's number */

struct journal_entry {
    uint64_t address; /* 0: free */
    uint64_t back;
    uint8_t bytes;
    uint8_t stands[2];    /* as of struct target_patch */
    uint8_t there[2][32]; /* what is there, and what is about to be */
};
struct journal {
    uint64_t magic;
    uint32_t kept;  /* it was left in on purpose: for good, or by a process that comes back */
    uint32_t count; /* of entries that were ever used */
    struct journal_entry entries[];
};

static size_t room_for(size_t bytes)
{
    return (bytes - sizeof(struct journal)) / sizeof(struct journal_entry);
}

/* Writing */

static void begin(struct target *t, uint8_t *local, size_t bytes)
{
    t->journal = (struct journal *)(void *)local;
    t->journal_room = room_for(bytes);
    t->journal_used = 0; /* what stands there may not be believed */
    t->journal->magic = MAGIC;
    *VEC_PUSH(t->journals, t->journal_count, t->journals_room) = t->journal;
}

static struct journal_entry *take(struct target *t)
{
    if (t->journal_free_count)
        return t->journal_free[--t->journal_free_count];
    if (!t->journal && t->calls)
        begin(t, t->calls->local + ARENA_CALLS_BYTES, t->calls->bytes - ARENA_CALLS_BYTES);
    if (t->journal && t->journal_used == t->journal_room) {
        size_t bytes = t->journal_room * 4 * sizeof(struct journal_entry);
        struct arena *a = arena_make(t, ARENA_JOURNAL, bytes & -(size_t)4096, 0, 0);
        if (a)
            begin(t, a->local, a->bytes);
    }
    if (!t->journal || t->journal_used == t->journal_room)
        return NULL; /* what cannot be written down stays when we are killed */
    struct journal_entry *e = &t->journal->entries[t->journal_used++];
    t->journal->count = (uint32_t)t->journal_used;
    return e;
}

struct journal_entry *journal_note(struct target *t, struct journal_entry *e,
                                   const struct target_patch *p)
{
    e = e ? e : take(t);
    if (!e)
        return NULL;
    e->bytes = p->bytes;
    e->back = p->back;
    memcpy(e->there[0], p->from, p->bytes);
    memcpy(e->there[1], p->to, p->bytes);
    e->stands[0] = p->stood;
    e->stands[1] = p->stands;
    __atomic_store_n(&e->address, p->address, __ATOMIC_RELEASE);
    return e;
}

void journal_forget(struct target *t, struct journal_entry *e)
{
    if (!e)
        return;
    e->address = 0;
    *VEC_PUSH(t->journal_free, t->journal_free_count, t->journal_free_room) = e;
}

void journal_keep(struct target *t, uint32_t kept)
{
    for (size_t i = 0; i < t->journal_count; i++)
        t->journals[i]->kept = kept;
}

void journal_keep_ours(struct target *t)
{
    pid_t self = getpid();
    journal_keep(t, self > KEPT_FOR_GOOD ? (uint32_t)self : 0);
}

void journal_drop(struct target *t)
{
    free(t->journals);
    free(t->journal_free);
}

/* Reading another's */

struct restoring {
    struct target *target;
    struct target_patch *patches;
    size_t count, room;
    struct target_patch *others; /* what stands there and is somebody's */
    size_t other_count, other_room;
};

static bool from_file(struct target *t, const struct map_entry *m, uint64_t address, uint8_t *into,
                      size_t bytes)
{
    for (size_t i = 0; i < t->module_count; i++) {
        if (address < t->modules[i].start || address >= t->modules[i].end)
            continue;
        int fd = open(t->modules[i].open, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : pread(fd, into, bytes, (off_t)(m->offset + address - m->start));
        if (fd >= 0)
            close(fd);
        return got == (ssize_t)bytes;
    }
    return false;
}

static const struct map_entry *code_at(const struct maps *maps, uint64_t address, size_t bytes)
{
    const struct map_entry *m = address ? maps_at(maps, address) : NULL;
    return m && address + bytes <= m->end && m->inode && m->perms[2] == 'x' && m->perms[3] == 'p'
               ? m
               : NULL;
}

static void restore(struct restoring *r, const struct maps *maps, const struct journal_entry *e,
                    bool somebodys)
{
    struct target_patch p = {.address = e->address, .bytes = e->bytes, .back = e->back};
    const struct map_entry *m = code_at(maps, e->address, e->bytes);
    if (!m || !e->bytes || e->bytes > sizeof p.from || (e->back && !code_at(maps, e->back, 1)) ||
        mem_read(r->target, p.address, p.from, p.bytes) ||
        !from_file(r->target, m, p.address, p.to, p.bytes) || memcmp(p.from, p.to, p.bytes) == 0)
        return;
    for (int i = 0; i < 2; i++) {
        if (memcmp(p.from, e->there[i], p.bytes) != 0)
            continue;
        p.stood = e->stands[i] <= e->bytes ? e->stands[i] : 0;
        if (somebodys)
            *VEC_PUSH(r->others, r->other_count, r->other_room) = p;
        else
            *VEC_PUSH(r->patches, r->count, r->room) = p;
        return;
    }
}

/* Whoever has the number of one that is gone keeps it until he ends; that harms nobody. */
static bool somebodys(uint32_t kept)
{
    if (kept <= KEPT_FOR_GOOD)
        return kept;
    return (pid_t)kept != getpid() && (kill((pid_t)kept, 0) == 0 || errno == EPERM);
}

static void read_journal(struct restoring *r, const struct maps *maps, uint64_t at, size_t bytes)
{
    struct journal head;
    if (bytes < sizeof head || mem_read(r->target, at, &head, sizeof head) || head.magic != MAGIC ||
        head.count > room_for(bytes))
        return;
    struct journal_entry *all = xcalloc(head.count + 1, sizeof *all);
    if (mem_read(r->target, at + sizeof head, all, head.count * sizeof *all) == 0)
        for (uint32_t i = 0; i < head.count; i++)
            restore(r, maps, &all[i], somebodys(head.kept));
    free(all);
}

static int by_address(const void *a, const void *b)
{
    const struct target_patch *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool overlap(const struct target_patch *a, const struct target_patch *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static bool is_others(const struct restoring *r, const struct target_patch *p, size_t *first)
{
    while (*first < r->other_count && r->others[*first].address + sizeof p->to <= p->address)
        ++*first;
    for (size_t i = *first; i < r->other_count && r->others[i].address < p->address + p->bytes; i++)
        if (overlap(p, &r->others[i]))
            return true;
    return false;
}

/* A relay that goes out leads back to it: the short jump that stands there is no other's, though
 * another has had the same. */
static bool has_relay(const struct restoring *r, const bool *others, const struct target_patch *p)
{
    for (size_t i = 0; i < r->count; i++)
        if (!others[i] && r->patches[i].back && r->patches[i].back - p->address < p->bytes)
            return true;
    return false;
}

/* Short jumps are the same whoever made them: several journals may have them, also of those who are
 * long gone and whose probes were taken out by another. What somebody has put there since is his.
 */
static void leave_others(struct restoring *r)
{
    bool *others = xcalloc(r->count + 1, sizeof *others);
    size_t kept = 0, first = 0;
    if (r->other_count)
        qsort(r->others, r->other_count, sizeof *r->others, by_address);
    for (size_t i = 0; i < r->count; i++)
        others[i] = is_others(r, &r->patches[i], &first);
    for (size_t i = 0; i < r->count; i++)
        others[i] = others[i] && !has_relay(r, others, &r->patches[i]);
    for (size_t i = 0; i < r->count; i++)
        if (!others[i])
            r->patches[kept++] = r->patches[i];
    r->count = kept;
    free(others);
}

static void once_each(struct restoring *r)
{
    size_t kept = 0;
    if (r->count)
        qsort(r->patches, r->count, sizeof *r->patches, by_address);
    leave_others(r);
    for (size_t i = 0; i < r->count; i++) {
        const struct target_patch *last = kept ? &r->patches[kept - 1] : NULL;
        if (!last || r->patches[i].address >= last->address + last->bytes)
            r->patches[kept++] = r->patches[i];
    }
    r->count = kept;
}

/* What is to be taken out of one. */
static int look_for(struct restoring *r)
{
    struct target *t = r->target;
    struct maps maps = {0};
    size_t modules;
    if (t->change_count)
        return -EBUSY;
    target_modules(t, &modules);
    int e = maps_read(t, &maps);
    for (size_t i = 0; i < maps.count && e == 0; i++) {
        const struct map_entry *m = &maps.entries[i];
        const char *path = maps_path(&maps, m);
        size_t bytes = m->end - m->start;
        if (strncmp(path, "/memfd:" ARENA_CALLS_NAME " ", sizeof "/memfd:" ARENA_CALLS_NAME) == 0 &&
            bytes > ARENA_CALLS_BYTES)
            read_journal(r, &maps, m->start + ARENA_CALLS_BYTES, bytes - ARENA_CALLS_BYTES);
        else if (strncmp(path, "/memfd:" ARENA_JOURNAL_NAME " ",
                         sizeof "/memfd:" ARENA_JOURNAL_NAME) == 0)
            read_journal(r, &maps, m->start, bytes);
    }
    maps_free(&maps);
    once_each(r);
    return e;
}

int targets_restore(struct target *const *targets, size_t count, const struct target_also *also)
{
    struct restoring *all = xcalloc(count + 1, sizeof *all);
    struct target_changes *changes = xcalloc(count + 1, sizeof *changes);
    size_t changed = 0, places = 0;
    int e = 0;
    for (size_t i = 0; i < count && e == 0; i++) {
        all[i].target = targets[i];
        e = look_for(&all[i]);
        if (all[i].count || also)
            changes[changed++] = (struct target_changes){targets[i], all[i].patches, all[i].count};
        places += all[i].count;
    }
    if (e == 0 && changed)
        e = patches_restore(changes, changed, also);
    for (size_t i = 0; i < count; i++) {
        free(all[i].patches);
        free(all[i].others);
    }
    free(all);
    free(changes);
    return e < 0 ? e : (int)places;
}

int target_restore(struct target *t)
{
    return targets_restore(&t, 1, NULL);
}
