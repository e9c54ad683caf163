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
    asm_alu_memory(a, ALU_SUB, false, false, reg, (int32_t)(4 * r->site), 1);
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

void generate_record(struct generate *g, const struct emit_record *record, enum code_kind kind,
                     uint32_t live)
{
    struct label over = {0};
    uint32_t dead = GENERAL & ~live;
    if (kind != CODE_ENTRY && kind != CODE_EXIT) {
        generate_fail(g, -ENOTSUP, "records are for entries and exits of procedures");
        return;
    }
    if (g->record_count == PIECES) {
        generate_fail(g, -ENOTSUP, "too many uses in one window");
        return;
    }
    struct record_slow *slow = &g->records[g->record_count++];
    int reg = dead ? __builtin_ctz(dead) : RAX;
    *slow = (struct record_slow){.record = record, .enter = kind == CODE_ENTRY};
    slow->saved = live & CODE_FLAGS || (slow->enter && !dead);
    if (slow->saved)
        save(g, reg);
    if (slow->enter)
        count_down(g, slow, reg, &over);
    else
        compare_top(g, slow, reg);
    asm_land(&g->a, &over);
    slow->back = asm_here(&g->a);
    if (slow->saved)
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
            asm_number(a, (int32_t)(4 * r->site));
        if (!slow->saved)
            asm_lea(a, RSP, RSP, DYNAMIC_GAP);
        asm_goto(a, slow->back);
    }
    g->record_count = 0;
}
