/* SPDX-License-Identifier: MIT */
/*
 * Which registers hold something that will be read. A compiler may know that a procedure of the
 * same file leaves registers alone that the convention lets it overwrite, and keep something there
 * across a call; so a direct call is not taken to overwrite anything (code.c adds what callers
 * hold to the points of the called).
 */
#include "binary/code_inner.h"

static uint32_t before(const struct insn *i, uint32_t live, uint32_t pads)
{
    switch ((enum insn_kind)i->kind) {
    case INSN_RETURN: return LIVE_RETURN;
    case INSN_STOP: return LIVE_ALL;
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        if (i->flags & INSN_NO_RETURN)
            live = i->flags & INSN_FALLS_OUT ? LIVE_ALL : LIVE_KEPT;
        if (i->flags & INSN_CLOBBERS)
            live &= ~(LIVE_SCRATCH | CODE_FLAGS);
        return live | LIVE_ARGUMENT | i->reads | pads | 1u << 4;
    default: return (live & ~i->kills) | i->reads;
    }
}

/* Behind the last instruction of a block: what follows, and what leaves the procedure. */
static uint32_t out_of(const struct flow *flow, const struct flow_block *block)
{
    const struct insn *last = &flow->insns[block->first + block->count - 1];
    uint32_t live = 0;
    bool leaves =
        (last->kind == INSN_JUMP || last->kind == INSN_BRANCH) && !flow_own(flow, last->target);
    for (uint32_t i = 0; i < block->next_count; i++)
        live |= flow->blocks[block->next[i]].live_in;
    if (last->kind == INSN_JUMP_INDIRECT && !block->next_count)
        leaves = true;
    if (leaves)
        live |= LIVE_ARGUMENT | LIVE_KEPT;
    if (flow_falls_out(flow, last)) /* who writes such code may pass on more */
        live = LIVE_ALL;
    return live;
}

static uint32_t pads_of(const struct flow *flow)
{
    uint32_t live = 0;
    for (size_t i = 0; i < flow->pad_count; i++) {
        uint32_t pad = blocks_at(flow, flow->pads[i].address);
        live |= pad == UINT32_MAX ? LIVE_ALL : flow->blocks[pad].live_in;
    }
    return live & ~(CODE_FLAGS | 0x0fc2u); /* the unwinder sets rax and rdx, and keeps the rest */
}

uint32_t live_at(const struct flow *flow, uint32_t b, uint32_t index, bool after)
{
    const struct flow_block *block = &flow->blocks[b];
    uint32_t live = out_of(flow, block);
    for (uint32_t i = block->first + block->count; i-- > block->first;) {
        if (i == index && after)
            return live;
        live = before(&flow->insns[i], live, flow->pads_live);
        if (i == index)
            return live;
    }
    return LIVE_ALL;
}

void live_solve(struct flow *flow)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = flow->block_count; b-- > 0;) {
            struct flow_block *block = &flow->blocks[b];
            uint32_t live = out_of(flow, block);
            for (uint32_t i = block->first + block->count; i-- > block->first;)
                live = before(&flow->insns[i], live, flow->pads_live);
            changed |= live != block->live_in;
            block->live_in = live;
        }
        uint32_t pads = pads_of(flow);
        changed |= pads != flow->pads_live;
        flow->pads_live = pads;
    }
}
