/* SPDX-License-Identifier: MIT */
/*
 * Where there is room for a short jump only, it leads to a jump of five bytes nearby, the relay. It
 * stands in padding; or instructions were moved away for it, and a jump to them stands before it.
 */
#include "inject/arch/x86_64/generate.h"
#include "inject/arch/x86_64/move.h"

#include <errno.h>
#include <string.h>

enum { JUMP = 5 };

static bool in_padding(const struct code_point *p)
{
    return p->relay_bytes == JUMP;
}

static uint64_t relay_of(const struct emit_point *p)
{
    return p->point->relay + p->bias + (in_padding(p->point) ? 0 : JUMP);
}

void generate_short(struct generate *g, const struct emit_point *p, uint64_t from)
{
    int64_t distance = (int64_t)(relay_of(p) - (from + 2));
    g->result->jump[0] = 0xeb;
    g->result->jump[1] = (uint8_t)(int8_t)distance;
    if (distance != (int8_t)distance)
        generate_fail(g, -EINVAL, "the relay is too far away");
}

static void jump_at(struct generate *g, uint64_t at, uint8_t *bytes, uint64_t to)
{
    int64_t distance = (int64_t)(to - (at + JUMP));
    int32_t offset = (int32_t)distance;
    if (distance != offset)
        g->a.too_far = true;
    bytes[0] = 0xe9;
    memcpy(bytes + 1, &offset, sizeof offset);
}

/* The instructions that make room for it; they go on behind their old place. */
static void move_away(struct generate *g, const struct emit_point *p, uint64_t start)
{
    struct emit_result *r = g->result;
    bool goes_on = true;
    jump_at(g, start, r->relay_jump, asm_here(&g->a));
    for (unsigned offset = 0; offset < r->relay_bytes && !g->error;) {
        struct instruction i;
        if (!goes_on ||
            !instruction_decode(p->relay + offset, r->relay_bytes - offset, start + offset, &i)) {
            generate_fail(g, -EINVAL, "no whole instructions where the relay would be");
            return;
        }
        bool inside = i.direct && i.target > start && i.target < start + r->relay_bytes;
        if (offset > 0 && offset < 2 * JUMP)
            r->relay_moved[offset] = asm_here(&g->a);
        const char *why = inside   ? "a jump to where the relay would be"
                          : i.call ? "a call where the relay would be"
                                   : instruction_move(&g->a, &i);
        if (why)
            generate_fail(g, -ENOTSUP, "%s", why);
        goes_on = !i.leaves;
        offset += i.length;
    }
    if (goes_on)
        asm_goto(&g->a, start + r->relay_bytes);
}

void generate_relay(struct generate *g, const struct emit_point *p)
{
    struct emit_result *r = g->result;
    uint64_t start = p->point->relay + p->bias;
    uint8_t bytes = p->point->relay_bytes;
    if (!p->relay || bytes > sizeof r->relay_jump || (bytes < 2 * JUMP && bytes != JUMP)) {
        generate_fail(g, -EINVAL, "a relay of %d bytes", bytes);
        return;
    }
    r->relay = start;
    r->relay_bytes = bytes;
    memcpy(r->relay_jump, p->relay, bytes);
    r->relay_stands = (uint8_t)(relay_of(p) - start);
    if (!in_padding(p->point))
        move_away(g, p, start);
    jump_at(g, relay_of(p), r->relay_jump + r->relay_stands, g->a.at);
}
