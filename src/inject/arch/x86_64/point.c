/* SPDX-License-Identifier: MIT */
/*
 * The code of a window: its instructions at their new place, and before, behind or between them
 * what is to be done at the points. Zydis decodes what is moved; what is made is assembled by hand
 * (assembly.c), as it is three dozen forms and the time to insert counts.
 */
#include "inject/arch/x86_64/generate.h"
#include "inject/arch/x86_64/move.h"

#include <errno.h>
#include <string.h>

enum { JUMP = 5, SHORT = 2, WINDOW = 32 };

/* All windows of the points together; addresses are the target's. */
struct window {
    const struct emit_point *points;
    size_t count;
    uint64_t start;
    uint8_t length;
    uint8_t patched; /* so many bytes at its start change */
    uint8_t bytes[WINDOW];
    struct instruction instructions[WINDOW];
    size_t instruction_count;
    uint64_t moved[WINDOW]; /* by offset */
};

static uint64_t address_of(const struct emit_point *p)
{
    return p->point->address + p->bias;
}

static int gather(struct generate *g, struct window *w)
{
    uint64_t end = 0;
    w->start = UINT64_MAX;
    uint8_t way = w->points[0].point->way;
    if (way != CODE_JUMP && way != CODE_SHORT)
        return generate_fail(g, -EINVAL, "a point without a window");
    w->patched = way == CODE_JUMP ? JUMP : SHORT;
    for (size_t i = 0; i < w->count; i++) {
        const struct code_point *p = w->points[i].point;
        uint64_t start = p->window + w->points[0].bias;
        w->start = start < w->start ? start : w->start;
        end = start + p->window_bytes > end ? start + p->window_bytes : end;
    }
    if (end <= w->start || end - w->start > WINDOW)
        return generate_fail(g, -EINVAL, "a window of %lld bytes", (long long)(end - w->start));
    w->length = (uint8_t)(end - w->start);
    uint32_t known = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct code_point *p = w->points[i].point;
        uint64_t offset = p->window + w->points[0].bias - w->start;
        memcpy(w->bytes + offset, w->points[i].window, p->window_bytes);
        known |= (uint32_t)(((uint64_t)1 << p->window_bytes) - 1) << offset;
    }
    if (known != (uint32_t)(((uint64_t)1 << w->length) - 1))
        return generate_fail(g, -EINVAL, "windows that do not touch");
    return 0;
}

/* An edge's code runs when it is taken: where the branch leads there, or behind the instruction. So
 * does that of an exit by a branch under a condition, or on the way to a return. */
enum when { BEFORE, TAKEN, BEHIND, NOWHERE };

static enum when when(const struct emit_point *p, const struct instruction *i)
{
    const struct code_point *c = p->point;
    bool edge = c->kind >= CODE_LOOP_ENTRY || (c->kind == CODE_EXIT && c->target);
    if (!edge)
        return BEFORE;
    if (i->direct && !i->call && i->target == c->target + p->bias)
        return i->jump ? BEFORE : TAKEN;
    return c->target == c->address + i->length && !i->leaves && !i->call ? BEHIND : NOWHERE;
}

static int decode(struct generate *g, struct window *w)
{
    unsigned found = 0;
    for (unsigned offset = 0; offset < w->length;) {
        struct instruction *i = &w->instructions[w->instruction_count++];
        if (!instruction_decode(w->bytes + offset, w->length - offset, w->start + offset, i))
            return generate_fail(g, -EINVAL, "no whole instructions in the window");
        for (size_t p = 0; p < w->count; p++) {
            if (address_of(&w->points[p]) != i->address)
                continue;
            found++;
            if (when(&w->points[p], i) == NOWHERE)
                return generate_fail(g, -ENOTSUP, "an edge that this instruction does not have");
        }
        offset += i->length;
    }
    if (found != w->count)
        return generate_fail(g, -EINVAL, "a point is at no instruction of its window");
    return 0;
}

static bool has_uses(const struct emit_point *p, bool after)
{
    for (size_t i = 0; i < p->use_count; i++) {
        if (p->uses[i].after == after)
            return true;
    }
    return false;
}

static void pieces(struct generate *g, const struct window *w, const struct instruction *i,
                   enum when at)
{
    for (size_t n = 0; n < w->count; n++) {
        const struct emit_point *p = &w->points[n];
        if (address_of(p) == i->address && when(p, i) == at)
            generate_piece(g, p, false, p->point->live, false);
    }
}

/* What is live behind an instruction nobody has said: everything. */
static void pieces_after(struct generate *g, const struct window *w, const struct instruction *i)
{
    for (size_t n = 0; n < w->count; n++) {
        const struct emit_point *p = &w->points[n];
        if (address_of(p) != i->address || !has_uses(p, true))
            continue;
        if (i->call)
            generate_fail(g, -ENOTSUP, "code after a call stands at the instruction behind it");
        else if (i->leaves || i->direct)
            generate_fail(g, -ENOTSUP, "nothing comes after this instruction");
        else
            generate_piece(g, p, true, CODE_FLAGS | 0xffff, false);
    }
}

static bool any_taken(const struct window *w, const struct instruction *i)
{
    for (size_t n = 0; n < w->count; n++) {
        if (address_of(&w->points[n]) == i->address && when(&w->points[n], i) == TAKEN)
            return true;
    }
    return false;
}

/* A branch with code on the way that is taken. */
static void branch(struct generate *g, const struct window *w, const struct instruction *i)
{
    struct label taken = {0}, over = {0};
    if (!instruction_branch(&g->a, i, &taken)) {
        generate_fail(g, -ENOTSUP, "this branch cannot be moved");
        return;
    }
    asm_jump(&g->a, &over);
    asm_land(&g->a, &taken);
    pieces(g, w, i, TAKEN);
    asm_goto(&g->a, i->target);
    asm_land(&g->a, &over);
}

/* The return address is the original one, so that unwinding and removal see the program's own. */
static const char *call(struct generate *g, const struct window *w, const struct instruction *i)
{
    if (i->address + i->length < w->start + w->patched)
        return "a call that would return into the jump";
    move_push_return(&g->a, i->address + i->length);
    return instruction_callee(&g->a, i);
}

/* True: what follows is reached from here. */
static bool instruction(struct generate *g, struct window *w, const struct instruction *i)
{
    const char *why = NULL;
    w->moved[i->address - w->start] = asm_here(&g->a);
    pieces(g, w, i, BEFORE);
    if (any_taken(w, i))
        branch(g, w, i);
    else if (i->call)
        why = call(g, w, i);
    else
        why = instruction_move(&g->a, i);
    if (why)
        generate_fail(g, -ENOTSUP, "%s", why);
    pieces_after(g, w, i);
    if (i->leaves || i->call)
        return false;
    pieces(g, w, i, BEHIND);
    return true;
}

/* At this address or behind it. */
static bool any_point(const struct window *w, uint64_t address)
{
    for (size_t n = 0; n < w->count; n++) {
        if (address_of(&w->points[n]) >= address)
            return true;
    }
    return false;
}

static int too_short(struct generate *g, const struct window *w)
{
    return w->length < w->patched ? generate_fail(g, -EINVAL, "a window of %d bytes", w->length)
                                  : 0;
}

static void straight(struct generate *g, struct window *w)
{
    struct emit_result *r = g->result;
    if (too_short(g, w))
        return;
    bool goes_on = true;
    for (size_t n = 0; n < w->instruction_count && !g->error; n++) {
        const struct instruction *i = &w->instructions[n];
        if (!goes_on && !any_point(w, i->address))
            break; /* it stays where it is, or is filling behind a return that nobody reaches */
        if (!goes_on) {
            generate_fail(g, -ENOTSUP, "the block ends inside the window");
            return;
        }
        if (i->direct && i->target > w->start && i->target < w->start + w->patched) {
            generate_fail(g, -ENOTSUP, "a jump into the window");
            return;
        }
        goes_on = instruction(g, w, i);
    }
    if (goes_on)
        asm_goto(&g->a, w->start + w->length);
    /* Only what changes: behind the jump all stays as it is. */
    for (unsigned o = 1; o < w->patched; o++)
        r->moved[o] = w->moved[o];
    if (w->patched == SHORT) {
        generate_short(g, &w->points[0], w->start);
        generate_relay(g, &w->points[0]);
        return;
    }
    int64_t distance = (int64_t)(g->a.at - (w->start + JUMP));
    int32_t offset = (int32_t)distance;
    if (distance != offset)
        g->a.too_far = true;
    r->jump[0] = 0xe9;
    memcpy(r->jump + 1, &offset, sizeof offset);
}

/* A call that has room for `call rel32` leads to the code instead: its return address stays what it
 * was by itself, and the processor's prediction of returns right. */
static bool retarget(struct generate *g, struct window *w)
{
    const struct instruction *i = NULL;
    for (size_t n = 0; n < w->instruction_count; n++) {
        if (w->instructions[n].address == address_of(&w->points[0]))
            i = &w->instructions[n];
    }
    if (!i || !i->call || i->length < JUMP || w->patched != JUMP)
        return false;
    for (size_t n = 0; n < w->count; n++) {
        if (address_of(&w->points[n]) != i->address || has_uses(&w->points[n], true))
            return false;
    }
    for (size_t n = 0; n < w->count; n++)
        generate_piece(g, &w->points[n], false, w->points[n].point->live, true);
    const char *why = instruction_callee(&g->a, i);
    if (why)
        generate_fail(g, -ENOTSUP, "%s", why);
    uint64_t end = i->address - w->start + i->length;
    int64_t distance = (int64_t)(g->a.at - (i->address + i->length));
    int32_t offset = (int32_t)distance;
    if (distance != offset)
        g->a.too_far = true;
    /* A prefix without effect fills up what is longer, as linkers do it. */
    memset(g->result->jump + (i->address - w->start), 0x67, i->length - (size_t)JUMP);
    g->result->jump[end - JUMP] = 0xe8;
    memcpy(g->result->jump + end - sizeof offset, &offset, sizeof offset);
    return true;
}

int emit_points(const struct emit_point *points, size_t count, uint64_t at, uint8_t *code,
                size_t room, struct emit_result *result)
{
    struct generate g = {.a = {.bytes = code, .room = room, .at = at}, .result = result};
    struct window w = {.points = points, .count = count};
    memset(result, 0, sizeof *result);
    if (count == 0 || count > EMIT_POINTS)
        return generate_fail(&g, -EINVAL, "%zu points in one window", count);
    g.common = &points[0];
    if (gather(&g, &w) || decode(&g, &w))
        return g.error;
    result->window = w.start;
    result->window_bytes = w.length;
    memcpy(result->jump, w.bytes, sizeof result->jump);
    if (!retarget(&g, &w) && !g.error)
        straight(&g, &w);
    if (g.error)
        return g.error;
    generate_asides(&g);
    generate_pieces(&g);
    generate_records(&g);
    generate_routines(&g);
    result->bytes = g.a.used;
    if (!g.error && g.a.too_far)
        generate_fail(&g, -ENOTSUP, "the code is too far away");
    if (!g.error && g.a.used > room)
        generate_fail(&g, -ENOSPC, "it takes %zu bytes", g.a.used);
    return g.error;
}

int emit_point(const struct emit_point *p, uint64_t at, uint8_t *code, size_t room,
               struct emit_result *result)
{
    return emit_points(p, 1, at, code, room, result);
}
