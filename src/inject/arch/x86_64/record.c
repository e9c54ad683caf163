/* SPDX-License-Identifier: MIT */
/*
 * Probes of the runtime (record/dynamic.h). In the straight line an entry counts down the thread's
 * cell, and an exit compares the stack pointer with where the innermost timed visit began: no more
 * than a few instructions, one register and the flags. The slow paths are called aside and keep
 * everything but the flags.
 *
 * At entries and exits the stack pointer is where the procedure's return address stands. Where
 * flags or all registers are live, a register and the flags are saved below the red zone, in the
 * room that the slow paths leave for it (DYNAMIC_GAP).
 */
#include "inject/arch/x86_64/generate.h"
#include "record/dynamic.h"

#include <errno.h>

enum { RED_ZONE = 128, GENERAL = 0xffff & ~(1 << RSP) };
_Static_assert(DYNAMIC_GAP == RED_ZONE + 16, "a register and the flags");

static void save(struct generate *g, int reg)
{
    asm_lea(&g->a, RSP, RSP, -RED_ZONE);
    asm_push(&g->a, reg);
    asm_push_flags(&g->a);
}

static void restore(struct generate *g, int reg)
{
    asm_pop_flags(&g->a);
    asm_pop(&g->a, reg);
    asm_lea(&g->a, RSP, RSP, RED_ZONE);
}

/* Without cells (a thread that the runtime does not know, a process that it left) nothing counts.
 */
static void count_down(struct generate *g, struct record_slow *slow, int reg, struct label *over)
{
    struct assembly *a = &g->a;
    const struct emit_record *r = slow->record;
    asm_load_thread(a, reg, r->cells);
    asm_test(a, reg, reg);
    asm_jump_if(a, CC_E, over);
    asm_load(a, reg, reg, (int32_t)(8 * r->index));
    asm_test(a, reg, reg);
    asm_jump_if(a, CC_E, over);
    asm_alu_memory(a, ALU_SUB, false, false, reg, (int32_t)(4 * slow->site), 1);
    asm_jump_if(a, CC_S, &slow->from);
}

static void compare_top(struct generate *g, struct record_slow *slow, int reg)
{
    struct assembly *a = &g->a;
    int sp = slow->saved ? reg : RSP;
    if (slow->saved)
        asm_lea(a, reg, RSP, DYNAMIC_GAP);
    asm_compare_thread(a, slow->record->top, sp);
    asm_jump_if(a, CC_BE, &slow->from);
}

/* From which procedure it comes: the return address is where the stack pointer is. One register is
 * often all there is, so where the ranges begin stands behind the code. */
static void look_where_from(struct generate *g, struct record_slow *slow, int reg,
                            struct label *inside)
{
    struct assembly *a = &g->a;
    const struct emit_record *r = slow->record;
    for (uint32_t i = 0; i < r->range_count; i++) {
        asm_load(a, reg, RSP, slow->saved ? DYNAMIC_GAP : 0);
        asm_subtract_later(a, reg, &slow->starts[i]);
        asm_alu_constant(a, ALU_CMP, reg, (int32_t)r->ranges[i].bytes);
        asm_jump_if(a, CC_B, inside);
    }
}

static struct record_slow *new_slow(struct generate *g, const struct emit_record *record,
                                    uint32_t site, bool enter, bool saved)
{
    if (g->record_count == PIECES) {
        generate_fail(g, -ENOTSUP, "too many uses in one window");
        return NULL;
    }
    struct record_slow *slow = &g->records[g->record_count++];
    *slow = (struct record_slow){.record = record, .site = site, .enter = enter, .saved = saved};
    return slow;
}

void generate_record(struct generate *g, const struct emit_record *record, enum code_kind kind,
                     uint32_t live)
{
    struct label over = {0}, inside = {0};
    uint32_t dead = GENERAL & ~live;
    int reg = dead ? __builtin_ctz(dead) : RAX;
    bool enter = kind == CODE_ENTRY, saved = live & CODE_FLAGS || (enter && !dead);
    bool looks = enter && record->range_count;
    if (kind != CODE_ENTRY && kind != CODE_EXIT) {
        generate_fail(g, -ENOTSUP, "records are for entries and exits of procedures");
        return;
    }
    struct record_slow *slow = new_slow(g, record, record->site, enter, saved), *second = NULL;
    if (slow && looks)
        second = new_slow(g, record, record->inside, enter, saved);
    if (!slow || (looks && !second))
        return;
    if (saved)
        save(g, reg);
    if (looks)
        look_where_from(g, slow, reg, &inside);
    if (enter)
        count_down(g, slow, reg, &over);
    else
        compare_top(g, slow, reg);
    if (looks) {
        asm_jump(&g->a, &over);
        asm_land(&g->a, &inside);
        count_down(g, second, reg, &over);
    }
    asm_land(&g->a, &over);
    slow->back = asm_here(&g->a);
    if (second)
        second->back = slow->back;
    if (saved)
        restore(g, reg);
}

void generate_records(struct generate *g)
{
    struct assembly *a = &g->a;
    for (size_t i = 0; i < g->record_count; i++) {
        struct record_slow *slow = &g->records[i];
        const struct emit_record *r = slow->record;
        asm_land(a, &slow->from);
        if (!slow->saved)
            asm_lea(a, RSP, RSP, -DYNAMIC_GAP);
        asm_call_through(a, r->unit + (slow->enter ? offsetof(struct dynamic_unit, unit.enter)
                                                   : offsetof(struct dynamic_unit, unit.leave)));
        if (slow->enter)
            asm_number(a, (int32_t)(4 * slow->site));
        if (!slow->saved)
            asm_lea(a, RSP, RSP, DYNAMIC_GAP);
        asm_goto(a, slow->back);
        for (uint32_t k = 0; k < r->range_count; k++) {
            asm_land(a, &slow->starts[k]);
            asm_64(a, r->ranges[k].start);
        }
    }
    g->record_count = 0;
}
