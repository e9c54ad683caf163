/* SPDX-License-Identifier: MIT */
/* Paper 2's primitives. */
#include "inject/arch/x86_64/generate.h"

#include <errno.h>

enum {
    VERSION = offsetof(struct emit_timer, version),
    DEPTH = offsetof(struct emit_timer, depth),
    BEGIN = offsetof(struct emit_timer, begin),
    TOTAL = offsetof(struct emit_timer, total),
    STARTS = offsetof(struct emit_timer, starts),
    CLOCK = offsetof(struct emit_timer, clock)
};

static void counter(struct generate *g, const struct spec_action *action)
{
    struct assembly *a = &g->a;
    int32_t offset = generate_variable(g, action->variable);
    int base = g->piece.block, op = action->primitive == SPEC_ADD_COUNTER ? ALU_ADD : ALU_SUB;
    const struct spec_expression *value = action->value;
    if (value->term == SPEC_CONSTANT && value->value == (int32_t)value->value) {
        if (action->primitive == SPEC_SET_COUNTER)
            asm_store_constant(a, base, offset, (int32_t)value->value);
        else
            asm_alu_memory(a, op, g->piece.locked, true, base, offset, (int32_t)value->value);
        return;
    }
    int reg = generate_take(g);
    if (reg < 0)
        return;
    generate_value(g, value, reg);
    if (action->primitive == SPEC_SET_COUNTER)
        asm_store(a, base, offset, reg);
    else
        asm_alu_store(a, op, g->piece.locked, base, offset, reg);
    generate_give(g, reg);
}

/*
 * The version of a timer in the shared block is its lock. Who cannot get it gives up after a while
 * and goes on behind the primitive: its holder may be a thread that this very code interrupted in a
 * signal handler. What is lost then is one start or stop.
 */
static void lock(struct generate *g, int32_t timer, struct label *give_up)
{
    enum { TRIES = 4096 };
    struct assembly *a = &g->a;
    struct label busy = {0}, mine = {0};
    int base = g->piece.block, tries = generate_take(g), next = generate_take(g);
    if (tries < 0 || next < 0)
        return;
    asm_constant(a, tries, TRIES);
    uint64_t again = asm_here(a);
    asm_load(a, RAX, base, timer + VERSION);
    asm_move(a, next, RAX);
    asm_alu_constant(a, ALU_AND, next, 1);
    asm_jump_if(a, CC_NE, &busy);
    asm_lea(a, next, RAX, 1);
    asm_compare_exchange(a, false, base, timer + VERSION, next);
    asm_jump_if(a, CC_E, &mine);
    asm_land(a, &busy);
    asm_alu_constant(a, ALU_SUB, tries, 1);
    asm_goto_if(a, CC_NE, again);
    asm_jump(a, give_up);
    asm_land(a, &mine);
    generate_give(g, tries);
    generate_give(g, next);
}

static void add_32(struct generate *g, int op, int32_t offset, int32_t value)
{
    asm_alu_memory(&g->a, op, false, false, g->piece.block, offset, value);
}

/* CPU time of the thread; in the block that threads share, of all of them. */
static enum routine cpu_clock(const struct generate *g)
{
    return g->piece.locked ? ROUTINE_CLOCK_ALL : ROUTINE_CLOCK;
}

/* The time by the clock that the timer was started with, in rax. */
static void now(struct generate *g, int32_t timer)
{
    struct aside *process = NULL;
    if (!g->common->no_system_calls) {
        add_32(g, ALU_CMP, timer + CLOCK, 0);
        process = generate_aside(g, cpu_clock(g), CC_NE, RAX);
    }
    asm_time(&g->a);
    if (process)
        process->back = asm_here(&g->a);
}

/* Begin, depth and version change together for readers: between the two changes of the version. */
static void start(struct generate *g, const struct spec_action *action, int32_t timer)
{
    struct assembly *a = &g->a;
    struct label inner = {0}, done = {0};
    int base = g->piece.block;
    if (g->piece.locked) {
        lock(g, timer, &done);
        add_32(g, ALU_ADD, timer + DEPTH, 1);
    } else {
        int both = generate_take(g); /* version and depth in one */
        if (both < 0)
            return;
        asm_constant(a, both, (uint64_t)1 << 32 | 1);
        asm_alu_store(a, ALU_ADD, false, base, timer + VERSION, both);
        generate_give(g, both);
    }
    add_32(g, ALU_CMP, timer + DEPTH, 1);
    asm_jump_if(a, CC_NE, &inner);
    if (action->process_time)
        generate_routine(g, cpu_clock(g), RAX);
    else
        asm_time(a);
    asm_store(a, base, timer + BEGIN, RAX);
    asm_store_constant_32(a, base, timer + CLOCK, action->process_time);
    add_32(g, ALU_ADD, timer + STARTS, 1);
    asm_land(a, &inner);
    add_32(g, ALU_ADD, timer + VERSION, 1);
    asm_land(a, &done);
}

/* A stop without a start belongs to a procedure that was active when the probe was inserted. */
static void stop(struct generate *g, int32_t timer)
{
    struct assembly *a = &g->a;
    struct label inner = {0}, release = {0}, done = {0};
    int base = g->piece.block;
    if (g->piece.locked)
        lock(g, timer, &done);
    add_32(g, ALU_CMP, timer + DEPTH, 0);
    asm_jump_if(a, CC_LE, g->piece.locked ? &release : &done);
    if (!g->piece.locked)
        add_32(g, ALU_ADD, timer + VERSION, 1);
    add_32(g, ALU_CMP, timer + DEPTH, 1);
    asm_jump_if(a, CC_NE, &inner);
    now(g, timer);
    asm_alu_load(a, ALU_SUB, RAX, base, timer + BEGIN);
    asm_jump_if(a, CC_B, &inner); /* begun by a thread that has ended and had the same pointer */
    asm_alu_store(a, ALU_ADD, false, base, timer + TOTAL, RAX);
    asm_land(a, &inner);
    add_32(g, ALU_SUB, timer + DEPTH, 1);
    asm_land(a, &release);
    add_32(g, ALU_ADD, timer + VERSION, 1);
    asm_land(a, &done);
}

/* From nanoseconds to ticks. */
static void scale(struct generate *g, const struct spec_action *action, int reg)
{
    struct assembly *a = &g->a;
    uint64_t ticks = g->common->tick_scale;
    const struct spec_expression *value = action->value;
    if (action->process_time || (value->term == SPEC_CONSTANT && value->value == 0))
        return;
    if (ticks == 0) {
        generate_fail(g, -ENOTSUP, "setTimer to another value than 0: no scale of the clock");
        return;
    }
    int by = generate_take(g);
    if (by < 0)
        return;
    asm_constant(a, by, ticks);
    asm_move(a, RAX, reg);
    asm_multiply_wide(a, by);
    asm_shift_right(a, true, RAX, 32);
    asm_shift_left(a, RDX, 32);
    asm_alu(a, ALU_OR, RAX, RDX);
    asm_move(a, reg, RAX);
    generate_give(g, by);
}

/* One that is running goes on from there. */
static void set(struct generate *g, const struct spec_action *action, int32_t timer)
{
    struct assembly *a = &g->a;
    struct label still = {0}, done = {0};
    int base = g->piece.block, reg = generate_take(g);
    if (reg < 0)
        return;
    generate_value(g, action->value, reg);
    scale(g, action, reg);
    if (g->piece.locked)
        lock(g, timer, &done);
    else
        add_32(g, ALU_ADD, timer + VERSION, 1);
    asm_store(a, base, timer + TOTAL, reg);
    add_32(g, ALU_CMP, timer + DEPTH, 0);
    asm_jump_if(a, CC_LE, &still);
    now(g, timer);
    asm_store(a, base, timer + BEGIN, RAX);
    asm_land(a, &still);
    add_32(g, ALU_ADD, timer + VERSION, 1);
    asm_land(a, &done);
    generate_give(g, reg);
}

static void timer(struct generate *g, const struct spec_action *action)
{
    int32_t offset = generate_variable(g, action->variable);
    if (action->primitive == SPEC_SET_TIMER)
        set(g, action, offset);
    else if (action->primitive == SPEC_STOP_TIMER)
        stop(g, offset);
    else if (action->process_time && g->common->no_system_calls)
        generate_fail(g, -ENOTSUP, "process time takes a system call, which seccomp may forbid");
    else
        start(g, action, offset);
}

/* Where there is no room for more behind, it stays where it is. */
static void in_place(struct generate *g, const struct spec_action *action, int scratch)
{
    struct label over = {0};
    generate_branch(g, action->value, false, &over, scratch);
    generate_give(g, scratch);
    generate_actions(g, action->body);
    asm_land(&g->a, &over);
}

static void predicate(struct generate *g, const struct spec_action *action)
{
    int scratch = generate_take(g);
    if (scratch < 0)
        return;
    if (g->body_count == BODIES) {
        in_place(g, action, scratch);
        return;
    }
    struct body *body = &g->bodies[g->body_count++];
    *body = (struct body){.actions = action->body};
    generate_branch(g, action->value, true, &body->from, scratch);
    generate_give(g, scratch);
    body->piece = g->piece;
    body->back = asm_here(&g->a);
}

void generate_bodies(struct generate *g)
{
    for (size_t i = 0; i < g->body_count && !g->error; i++) {
        asm_land(&g->a, &g->bodies[i].from);
        g->piece = g->bodies[i].piece;
        generate_actions(g, g->bodies[i].actions);
        asm_goto(&g->a, g->bodies[i].back);
        generate_asides(g); /* there is room for so many only */
    }
}

void generate_actions(struct generate *g, const struct spec_action *actions)
{
    for (const struct spec_action *action = actions; action && !g->error; action = action->next) {
        if (action->primitive == SPEC_IF) {
            predicate(g, action);
        } else if (action->primitive <= SPEC_SUBTRACT_COUNTER) {
            counter(g, action);
        } else {
            timer(g, action);
        }
    }
}
