/* SPDX-License-Identifier: MIT */
/* The code for the uses at a point: which registers it may have, what is saved, and its frame. */
#include "inject/arch/x86_64/generate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { RED_ZONE = 128, ALL = 0xffff & ~(1 << RSP) };

int generate_fail(struct generate *g, int error, const char *format, ...)
{
    if (g->error == 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(g->result->why, sizeof g->result->why, format, args);
        va_end(args);
        g->error = error;
    }
    return g->error;
}

int generate_take(struct generate *g)
{
    if (g->piece.pool == 0) {
        generate_fail(g, -ENOTSUP, "the expression is too deep");
        return -1;
    }
    int reg = __builtin_ctz(g->piece.pool);
    g->piece.pool &= ~(1u << reg);
    return reg;
}

void generate_give(struct generate *g, int reg)
{
    if (reg >= 0)
        g->piece.pool |= 1u << reg;
}

int32_t generate_variable(struct generate *g, uint32_t variable)
{
    uint64_t number = (uint64_t)g->piece.first_variable + variable;
    if (number >= EMIT_VARIABLES) {
        generate_fail(g, -ENOTSUP, "more than %d variables", EMIT_VARIABLES);
        number = 0;
    }
    return (int32_t)(offsetof(struct emit_block, variables) + number * sizeof(union emit_variable));
}

/* What the actions ask for. */
struct needs {
    unsigned registers;
    uint32_t reads;
    bool rax_rdx;
    const char *why;
};

static void needs_of(const struct spec_action *actions, enum code_kind kind, struct needs *n)
{
    for (const struct spec_action *action = actions; action; action = action->next) {
        struct expression_needs e = {0};
        bool timer = action->primitive >= SPEC_SET_TIMER && action->primitive <= SPEC_STOP_TIMER;
        if (action->value) {
            const char *why = expression_refused(action->value, kind);
            if (why)
                n->why = why;
            else
                expression_needs(action->value, kind, &e);
        }
        /* The value itself; a timer's lock and scale take two more. */
        unsigned registers = e.registers + (timer ? 3 : 1);
        if (registers > n->registers)
            n->registers = registers;
        n->reads |= e.reads;
        n->rax_rdx |= e.divides || timer;
        if (action->primitive == SPEC_IF)
            needs_of(action->body, kind, n);
    }
}

static unsigned count(uint32_t registers)
{
    return (unsigned)__builtin_popcount(registers);
}

static void push(struct generate *g, int reg)
{
    asm_push(&g->a, reg);
    g->piece.sp += 8;
    g->piece.home[reg] = -1;
    g->piece.slot[reg] = (int16_t)g->piece.sp;
}

/* What the piece took from the program, in order. */
struct frame {
    uint32_t live;
    uint32_t kept; /* in other registers */
    uint8_t pushed[16];
    unsigned pushed_count;
    int flags; /* register with the flags; -1: they are dead */
};

/* As many registers as are wanted; those that hold something are saved: rax and rdx in other dead
 * ones if there are, the rest on the stack, where the red zone is kept. */
static void take_registers(struct generate *g, struct frame *f, const struct needs *n,
                           unsigned wanted)
{
    struct piece *p = &g->piece;
    uint32_t holds = (f->live | n->reads) & ALL;
    p->pool = ALL & ~holds & ~p->fixed;
    uint32_t move = holds & p->fixed, others = holds & ~n->reads & ~p->fixed;
    unsigned spare = count(p->pool) > wanted ? count(p->pool) - wanted : 0;
    for (; move && spare; spare--) {
        int reg = __builtin_ctz(move), to = generate_take(g);
        asm_move(&g->a, to, reg);
        p->home[reg] = (int8_t)to;
        f->kept |= 1u << reg;
        move &= move - 1;
    }
    while (count(p->pool) < wanted && others) {
        move |= others & -others;
        p->pool |= others & -others;
        others &= others - 1;
    }
    if (move) {
        asm_lea(&g->a, RSP, RSP, -RED_ZONE);
        p->sp = RED_ZONE;
    }
    for (; move; move &= move - 1) {
        int reg = __builtin_ctz(move);
        f->pushed[f->pushed_count++] = (uint8_t)reg;
        push(g, reg);
    }
}

static void give_registers(struct generate *g, const struct frame *f)
{
    struct assembly *a = &g->a;
    if (f->flags >= 0) {
        asm_move(a, RAX, f->flags);
        asm_restore_flags(a);
    }
    for (unsigned i = f->pushed_count; i-- > 0;)
        asm_pop(a, f->pushed[i]);
    if (f->pushed_count > 0)
        asm_lea(a, RSP, RSP, RED_ZONE);
    for (uint32_t kept = f->kept & f->live; kept; kept &= kept - 1)
        asm_move(a, __builtin_ctz(kept), g->piece.home[__builtin_ctz(kept)]);
}

static void uses(struct generate *g)
{
    const struct emit_point *p = g->piece.point;
    for (size_t i = 0; i < p->use_count; i++) {
        if (p->uses[i].after == g->piece.after) {
            g->piece.first_variable = p->uses[i].first_variable;
            generate_actions(g, p->uses[i].actions);
        }
    }
}

void generate_piece(struct generate *g, const struct emit_point *p, bool after, uint32_t live,
                    bool called)
{
    struct needs n = {0};
    enum code_kind kind = p->point->kind;
    bool any = false;
    for (size_t i = 0; i < p->use_count; i++) {
        if (p->uses[i].after == after) {
            if (p->uses[i].record)
                generate_record(g, p->uses[i].record, kind, live);
            any |= p->uses[i].actions != NULL;
            needs_of(p->uses[i].actions, kind, &n);
        }
    }
    if (!any)
        return;
    if (n.why) {
        generate_fail(g, -ENOTSUP, "%s", n.why);
        return;
    }
    if (g->piece_count == PIECES) {
        generate_fail(g, -ENOTSUP, "too many uses in one window");
        return;
    }
    bool flags = live & CODE_FLAGS;
    struct frame f = {.live = live, .flags = -1};
    g->piece = (struct piece){.point = p, .after = after, .kind = kind, .called = called};
    for (int i = 0; i < 16; i++)
        g->piece.home[i] = (int8_t)i;
    g->piece.fixed = (n.rax_rdx ? 1u << RAX | 1u << RDX : 0) | (flags ? 1u << RAX : 0);
    unsigned wanted = 1 + (n.registers > 2 ? n.registers : 2) + flags; /* the block's is the one */
    take_registers(g, &f, &n, wanted);
    if (flags) {
        asm_save_flags(&g->a);
        f.flags = generate_take(g);
        if (f.flags >= 0)
            asm_move(&g->a, f.flags, RAX);
    }
    generate_block(g);
    struct piece *kept = &g->pieces[g->piece_count++];
    *kept = g->piece;
    uses(g);
    kept->join = asm_here(&g->a);
    give_registers(g, &f);
}

void generate_pieces(struct generate *g)
{
    for (size_t i = 0; i < g->piece_count && !g->error; i++) {
        if (g->pieces[i].locked) /* there was no other */
            continue;
        asm_land(&g->a, &g->pieces[i].shared);
        g->piece = g->pieces[i];
        g->piece.locked = true;
        uses(g);
        asm_goto(&g->a, g->piece.join);
        generate_asides(g);
    }
    generate_bodies(g);
}
