/* SPDX-License-Identifier: MIT */
/* The points of a procedure. */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <stdlib.h>

static struct code_point *add(struct flow *flow, struct code_body *body, enum code_kind kind,
                              uint32_t block, uint32_t index)
{
    const struct insn *i = &flow->insns[index];
    struct code_point *point = VEC_PUSH(body->points, body->point_count, body->point_room);
    *point = (struct code_point){
        .kind = (uint8_t)kind,
        .function = flow->part,
        .loop = CODE_NONE,
        .callee = CODE_NONE,
        .address = i->address,
        .indirect = i->kind == INSN_JUMP_INDIRECT || i->kind == INSN_CALL_INDIRECT,
    };
    if (kind != CODE_ENTRY && i->kind != INSN_RETURN)
        point->callee = flow_callee(flow, i, &point->callee_name);
    if (kind == CODE_EXIT && i->kind == INSN_BRANCH)
        point->target = i->target;
    window_choose(flow, body, point, block, index);
    return point;
}

/* Registers that a caller reads after the call concern the called one (code_live.c). */
static void keep_call(struct flow *flow, uint32_t callee, uint32_t held, bool tail)
{
    struct code_file *file = flow->file;
    *VEC_PUSH(file->calls, file->call_count, file->call_room) = (struct code_call){
        .caller = flow->part, .callee = callee, .held = held & LIVE_SCRATCH, .tail = tail};
}

static bool is_exit(const struct flow *flow, const struct flow_block *block)
{
    const struct insn *last = &flow->insns[block->first + block->count - 1];
    switch ((enum insn_kind)last->kind) {
    case INSN_RETURN: return true;
    case INSN_JUMP:
    case INSN_BRANCH: return !flow_own(flow, last->target);
    case INSN_JUMP_INDIRECT: return !block->next_count;
    default: return false;
    }
}

/* A way from `block` into that of a return which stands alone. */
static bool add_way(struct flow *flow, struct code_body *body, uint32_t block, uint64_t to)
{
    uint32_t index = flow->blocks[block].first + flow->blocks[block].count - 1;
    const struct insn *last = &flow->insns[index];
    if (last->kind == INSN_JUMP_INDIRECT || window_is_call(last) ||
        (last->kind == INSN_BRANCH && last->target == last->address + last->length))
        return false;
    struct code_point *point = VEC_PUSH(body->points, body->point_count, body->point_room);
    *point = (struct code_point){.kind = CODE_EXIT,
                                 .function = flow->part,
                                 .callee = CODE_NONE,
                                 .loop = CODE_NONE,
                                 .address = last->address,
                                 .target = to};
    window_choose(flow, body, point, block, index);
    return true;
}

/* One byte, and not the block's last of several: no jump fits. Its exit is then on all
 * the ways that lead to it, the last of which takes its place in the list. */
static void add_ways(struct flow *flow, struct code_body *body, uint32_t block)
{
    const struct flow_block *alone = &flow->blocks[block];
    size_t number = body->point_count - 1;
    uint64_t address = flow->insns[alone->first].address;
    bool all = alone->count == 1 && !alone->root && flow->insns[alone->first].length == 1 &&
               !(*file_map(flow->file, address) & MAP_POINTED);
    for (uint32_t b = 0; all && b < flow->block_count; b++)
        for (uint32_t k = 0; all && k < flow->blocks[b].next_count; k++)
            if (flow->blocks[b].next[k] == block)
                all = add_way(flow, body, b, address);
    if (!all || body->point_count == number + 1)
        body->point_count = number + 1;
    else
        body->points[number] = body->points[--body->point_count];
}

/* An exit behind the last instruction, into the procedure that stands there. */
static void add_fall(struct flow *flow, struct code_body *body, uint32_t block, uint32_t index)
{
    const struct insn *last = &flow->insns[index];
    struct code_point *point = VEC_PUSH(body->points, body->point_count, body->point_room);
    uint64_t next = last->address + last->length;
    *point = (struct code_point){.kind = CODE_EXIT,
                                 .function = flow->part,
                                 .callee = flow_run_into(flow, next),
                                 .loop = CODE_NONE,
                                 .address = last->address,
                                 .target = next};
    point->callee_name = flow->file->parts[point->callee].name;
    window_choose(flow, body, point, block, index);
    point->live = LIVE_ALL;
    keep_call(flow, point->callee, 0, true);
    /* leads there as a jump does: what others run into is nobody's cold part */
    *VEC_PUSH(flow->file->jumps, flow->file->jump_count, flow->file->jump_room) =
        (struct code_jump){flow->part, point->callee, false};
}

static void add_exits(struct flow *flow, struct code_body *body)
{
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const struct flow_block *block = &flow->blocks[b];
        uint32_t index = block->first + block->count - 1;
        if (flow_falls_out(flow, &flow->insns[index]))
            add_fall(flow, body, b, index);
        if (!is_exit(flow, block))
            continue;
        struct code_point *point = add(flow, body, CODE_EXIT, b, index);
        if (point->callee != CODE_NONE && !point->indirect)
            keep_call(flow, point->callee, 0, true);
        if (point->way == CODE_OPEN && flow->insns[index].kind == INSN_RETURN)
            add_ways(flow, body, b);
    }
}

static void add_calls(struct flow *flow, struct code_body *body, bool points)
{
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const struct flow_block *block = &flow->blocks[b];
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            const struct insn *insn = &flow->insns[i];
            if (!window_is_call(insn))
                continue;
            const char *name;
            uint32_t callee = flow_callee(flow, insn, &name);
            if (insn->kind == INSN_CALL && callee != PART_NONE)
                keep_call(flow, callee, flow->why ? LIVE_SCRATCH : live_at(flow, b, i, true),
                          false);
            if (points)
                add(flow, body, CODE_CALL, b, i);
        }
    }
}

static int compare(const void *pa, const void *pb)
{
    const struct code_point *a = pa, *b = pb;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind - b->kind;
    if (a->loop != b->loop)
        return a->loop < b->loop ? -1 : 1;
    return a->target < b->target ? -1 : a->target > b->target;
}

void points_make(struct flow *flow, struct code_body *body)
{
    uint32_t entry = blocks_at(flow, flow->file->parts[flow->part].start);
    body->whole = !flow->why;
    body->why = flow->why;
    if (entry == UINT32_MAX) {
        body->whole = false;
        body->why = flow->why = "its first bytes are no instruction";
        return;
    }
    add(flow, body, CODE_ENTRY, entry, flow->blocks[entry].first);
    if (!flow->why) {
        add_exits(flow, body);
        add_calls(flow, body, true);
        loops_find(flow, body);
    } else {
        add_calls(flow, body, false);
        if (flow->loops_back)
            body->points[0].why = "a jump of its own leads to its first instruction";
    }
    if (body->point_count)
        qsort(body->points, body->point_count, sizeof *body->points, compare);
}
