/* SPDX-License-Identifier: MIT */
/* Libraries that a process loads while it is measured. */
#include "inject/attach_parts.h"

#include "inject/target_parts.h"
#include "record/layout.h"

#include <errno.h>
#include <stddef.h>

/* The process is stopped once more, now in the time that is measured: its threads are told. */
struct holding {
    uint64_t began;
    struct target_word *held;
};

static void set_held(void *data)
{
    const struct holding *h = data;
    uint64_t ns = attach_now_ns() - h->began, low = UINT32_MAX;
    if (h->held) /* the budget stands in the lower half */
        h->held->to = (h->held->from & low) | ((h->held->from >> 32) + ns) << 32;
}

static void add_holding(struct slot_changes *c, struct attach *a, size_t i, struct holding *h)
{
    struct process *p = &a->processes[i];
    uint64_t words[2], at = p->header + offsetof(struct record_header, control);
    if (!p->header || target_read(p->target, at, words, sizeof words))
        return;
    slot_changes_add(c, i, UINT32_MAX, at, words[0], words[0] + (1ull << 32)); /* the epoch */
    slot_changes_add(c, i, UINT32_MAX, at + sizeof words[0], words[1], words[1]);
    for (size_t k = 1; k <= 2; k++)
        c->words[i].words[c->words[i].count - k].late = true;
    h->held = &c->words[i].words[c->words[i].count - 1];
}

/* Where another loupe would look for it, if we are killed; before any of them is changed. */
static void tell_more(struct process *p, size_t from)
{
    const uint64_t at = p->block_remote + offsetof(struct attach_block, slots);
    uint32_t count = (uint32_t)(p->slot_count < p->block_room ? p->slot_count : p->block_room);
    for (size_t i = from; i < count; i++) {
        struct attach_slot s = {p->slots[i].address, p->slots[i].original};
        mem_write(p->target->mem, at + i * sizeof s, &s, sizeof s);
    }
    mem_write(p->target->mem, p->block_remote + offsetof(struct attach_block, slot_count), &count,
              sizeof count);
}

/* How many slots; -EAGAIN: it cannot be had just now. */
static int redirect_more(struct attach *a, size_t i)
{
    struct process *p = &a->processes[i];
    size_t from = p->slot_count;
    struct slot_changes c;
    int found = 0;
    if (process_seize(p))
        return -EAGAIN;
    if (process_look(&a->files, p) == 0 && p->slot_count > from) {
        struct holding h = {0};
        tell_more(p, from);
        slot_changes_begin(&c, a);
        for (size_t k = from; k < p->slot_count && k < p->block_room; k++)
            slot_changes_add(&c, i, (uint32_t)k, p->slots[k].address, p->slots[k].seen,
                             p->ours + a->files.symbols[p->slots[k].symbol].address);
        add_holding(&c, a, i, &h);
        h.began = attach_now_ns();
        if (slot_changes_make(&c, a, set_held, &h, true, NULL) == 0)
            found = (int)(p->slot_count - from);
        slot_changes_free(&c);
    }
    if (p->target)
        process_let_go(p);
    return found;
}

/* A look stops the process for a moment. One that loads and unloads things all the time which have
 * no slots is looked at less and less. */
static int look_again(struct attach *a, size_t i)
{
    enum { RAREST = 128 };
    struct process *p = &a->processes[i];
    uint64_t mapped = p->ended ? 0 : process_mapped(p);
    if (!mapped || mapped == p->mapped || ++p->looks % (p->pause ? p->pause : 1))
        return 0;
    target_hurry(true);
    int found = redirect_more(a, i);
    target_hurry(false);
    if (found >= 0)
        p->mapped = process_mapped(p);
    if (found > 0)
        p->pause = 0;
    else if (p->pause < RAREST)
        p->pause = p->pause ? 2 * p->pause : 1;
    return found > 0 ? found : 0;
}

int attach_again(struct attach *a)
{
    int found = 0;
    for (size_t i = 0; i < a->count; i++)
        found += look_again(a, i);
    return found;
}
