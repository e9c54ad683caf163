/* SPDX-License-Identifier: MIT */
/* Slots of several processes, changed in one stop. */
#include "inject/attach_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { OTHER_WORDS = 2 }; /* of a process that are changed with its slots */

uint64_t attach_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int process_seize(struct process *p)
{
    struct target_error why;
    struct attach_block b;
    int err = target_attach(p->pid, &p->target, &why);
    if (!err && (target_read(p->target, p->block_remote, &b, sizeof b) || b.magic != ATTACH_MAGIC ||
                 b.header != p->header)) {
        process_let_go(p); /* another one that has got its number */
        err = -ESRCH;
    }
    if (err)
        p->target = NULL;
    if (err == -ESRCH)
        p->ended = true;
    return err;
}

void process_let_go(struct process *p)
{
    target_leave(p->target); /* probes are taken out by us, or when we are dead by anyone */
    p->target = NULL;
    p->block = NULL;
}

bool process_lives(struct process *p)
{
    if (!p->ended && p->target && !target_lives(p->target))
        p->ended = true;
    return !p->ended;
}

void slot_changes_begin(struct slot_changes *c, struct attach *a)
{
    *c = (struct slot_changes){.words = xcalloc(a->count, sizeof *c->words),
                               .slots = xcalloc(a->count, sizeof *c->slots),
                               .count = a->count};
    for (size_t i = 0; i < a->count; i++) {
        struct process *p = &a->processes[i];
        c->words[i].target = process_lives(p) ? p->target : NULL;
        c->words[i].words = xcalloc(p->slot_count + OTHER_WORDS, sizeof *c->words[i].words);
        c->slots[i] = xcalloc(p->slot_count + OTHER_WORDS, sizeof **c->slots);
    }
}

void slot_changes_add(struct slot_changes *c, size_t process, uint32_t slot, uint64_t address,
                      uint64_t from, uint64_t to)
{
    struct target_words *w = &c->words[process];
    c->slots[process][w->count] = slot;
    w->words[w->count++] = (struct target_word){.address = address, .from = from, .to = to};
}

void slot_changes_made(struct slot_changes *c, struct attach *a, bool left)
{
    for (size_t i = 0; i < c->count; i++) {
        struct process *p = &a->processes[i];
        for (size_t k = 0; k < c->words[i].count; k++) {
            const struct target_word *w = &c->words[i].words[k];
            if (w->done && c->slots[i][k] != UINT32_MAX)
                p->slots[c->slots[i][k]].now = w->to;
        }
        if (left && p->target)
            process_let_go(p);
    }
}

int slot_changes_make(struct slot_changes *c, struct attach *a, void (*last)(void *), void *data,
                      bool leave, struct target_pause *pause)
{
    int err = targets_write(c->words, c->count, last, data, leave, pause);
    slot_changes_made(c, a, !err && leave);
    return err;
}

void slot_changes_free(struct slot_changes *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->words[i].words);
        free(c->slots[i]);
    }
    free(c->words);
    free(c->slots);
}
