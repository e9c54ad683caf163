/* SPDX-License-Identifier: MIT */
/* Basic blocks and the edges between them. */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <string.h>

static bool ends_block(const struct insn *i)
{
    return i->kind == INSN_JUMP || i->kind == INSN_BRANCH || i->kind == INSN_JUMP_INDIRECT ||
           i->kind == INSN_RETURN || i->kind == INSN_STOP || i->flags & INSN_NO_RETURN;
}

uint32_t blocks_at(const struct flow *flow, uint64_t address)
{
    size_t low = 0, high = flow->block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (flow->insns[flow->blocks[middle].first].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < flow->block_count && flow->insns[flow->blocks[low].first].address == address
               ? (uint32_t)low
               : UINT32_MAX;
}

static void add_edge(struct flow *flow, uint32_t from, uint64_t address)
{
    struct flow_block *block = &flow->blocks[from];
    uint32_t to = blocks_at(flow, address);
    if (to == UINT32_MAX)
        return;
    for (uint32_t i = 0; i < block->next_count; i++)
        if (block->next[i] == to)
            return;
    if (block->next_count == block->next_room) {
        uint32_t *old = block->next == block->two ? NULL : block->next;
        block->next_room = block->next_room ? block->next_room * 2 : 2;
        if (block->next_room > 2) {
            block->next = xrealloc(old, block->next_room, sizeof *block->next);
            if (!old)
                memcpy(block->next, block->two, sizeof block->two);
        } else {
            block->next = block->two;
        }
    }
    block->next[block->next_count++] = to;
}

static void add_edges(struct flow *flow, uint32_t b)
{
    const struct flow_block *block = &flow->blocks[b];
    const struct insn *last = &flow->insns[block->first + block->count - 1];
    if (last->kind == INSN_JUMP || last->kind == INSN_BRANCH)
        add_edge(flow, b, last->target);
    if (last->kind == INSN_BRANCH || !ends_block(last))
        add_edge(flow, b, last->address + last->length);
    if (last->kind == INSN_JUMP_INDIRECT)
        for (size_t t = 0; t < flow->table_count; t++)
            for (size_t k = 0; flow->tables[t].jump == last->address && k < flow->tables[t].count;
                 k++)
                add_edge(flow, b, flow->tables[t].targets[k]);
}

void blocks_make(struct flow *flow)
{
    for (uint32_t i = 0; i < flow->insn_count; i++) {
        const struct insn *insn = &flow->insns[i];
        bool begins = !i || ends_block(insn - 1) ||
                      insn[-1].address + insn[-1].length != insn->address ||
                      *file_map(flow->file, insn->address) & MAP_LEADER;
        if (begins)
            *VEC_PUSH(flow->blocks, flow->block_count, flow->block_room) =
                (struct flow_block){.first = i};
        flow->blocks[flow->block_count - 1].count++;
    }
    for (uint32_t b = 0; b < flow->block_count; b++)
        add_edges(flow, b);
    uint32_t entry = blocks_at(flow, flow->file->parts[flow->part].start);
    if (entry != UINT32_MAX)
        flow->blocks[entry].root = true;
    for (size_t i = 0; i < flow->pad_count; i++) {
        uint32_t pad = blocks_at(flow, flow->pads[i].address);
        if (pad != UINT32_MAX)
            flow->blocks[pad].root = true;
    }
}
