/* SPDX-License-Identifier: MIT */
/* Natural loops: an edge back to a block that dominates its origin, and what lies between. */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS_MOST = 1 << 26 }; /* blocks times loops of a procedure */

struct loop {
    uint32_t header;
    uint32_t size;
    uint8_t *body; /* bit per block */
};

struct finder {
    struct flow *flow;
    uint32_t count;   /* of blocks; `count` itself is the root above all entries */
    uint32_t *order;  /* blocks, a block behind all that it leads to but for back edges */
    uint32_t *number; /* its place in `order`; UINT32_MAX: not reached */
    uint32_t *above;  /* immediate dominator */
    uint32_t *first_next, *next; /* successors, landing pads with them */
    size_t next_room;
    uint32_t *first_before, *before; /* predecessors */
    bool *root;                      /* reached from outside, not from a block */
    struct loop *loops;
    size_t loop_count, loop_room;
};

static bool in_body(const struct loop *loop, uint32_t block)
{
    return loop->body[block / 8] >> block % 8 & 1;
}

static int compare_pads(const void *pa, const void *pb)
{
    const struct flow_pad *a = pa, *b = pb;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* The block of the landing pad that a call leads to; UINT32_MAX: none. */
static uint32_t pad_of(const struct flow *flow, uint64_t address)
{
    size_t low = 0;
    for (size_t high = flow->pad_count; low < high;) {
        size_t middle = (low + high) / 2;
        if (flow->pads[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < flow->pads[low - 1].end ? blocks_at(flow, flow->pads[low - 1].address)
                                                    : UINT32_MAX;
}

/* What is thrown in a loop and caught in it stays in the loop: there are edges from calls to their
 * landing pads. They are no place for a point, so the blocks do not have them. */
static void set_next(struct finder *f)
{
    struct flow *flow = f->flow;
    size_t count = 0;
    if (flow->pad_count)
        qsort(flow->pads, flow->pad_count, sizeof *flow->pads, compare_pads);
    for (uint32_t b = 0; b < f->count; b++)
        f->root[b] = flow->blocks[b].root;
    for (uint32_t b = 0; b < f->count; b++) {
        const struct flow_block *block = &flow->blocks[b];
        uint32_t last = UINT32_MAX;
        f->first_next[b] = (uint32_t)count;
        for (uint32_t k = 0; k < block->next_count; k++)
            *VEC_PUSH(f->next, count, f->next_room) = block->next[k];
        for (uint32_t i = block->first; i < block->first + block->count && flow->pad_count; i++) {
            bool call =
                flow->insns[i].kind == INSN_CALL || flow->insns[i].kind == INSN_CALL_INDIRECT;
            uint32_t pad = call ? pad_of(flow, flow->insns[i].address) : UINT32_MAX;
            if (pad == UINT32_MAX || pad == last)
                continue;
            *VEC_PUSH(f->next, count, f->next_room) = last = pad;
            f->root[pad] = false;
        }
    }
    f->first_next[f->count] = (uint32_t)count;
    uint32_t entry = blocks_at(flow, flow->file->parts[flow->part].start);
    if (entry != UINT32_MAX)
        f->root[entry] = true;
}

static void walk_from(struct finder *f, uint32_t root, uint32_t *stack, uint32_t *edge,
                      uint32_t *placed)
{
    size_t depth = 0;
    if (edge[root] != UINT32_MAX)
        return;
    stack[depth++] = root;
    edge[root] = 0;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (edge[b] < f->first_next[b + 1] - f->first_next[b]) {
            uint32_t to = f->next[f->first_next[b] + edge[b]++];
            if (edge[to] == UINT32_MAX) {
                edge[to] = 0;
                stack[depth++] = to;
            }
            continue;
        }
        f->number[b] = *placed;
        f->order[(*placed)++] = b;
        depth--;
    }
}

static void set_order(struct finder *f)
{
    uint32_t *stack = xcalloc(f->count + 1, sizeof *stack);
    uint32_t *edge = xcalloc(f->count + 1, sizeof *edge);
    uint32_t placed = 0;
    memset(edge, 0xff, (f->count + 1) * sizeof *edge);
    memset(f->number, 0xff, (f->count + 1) * sizeof *f->number);
    for (uint32_t b = f->count; b-- > 0;)
        if (f->root[b])
            walk_from(f, b, stack, edge, &placed);
    f->number[f->count] = placed;
    f->order[placed] = f->count;
    free(stack);
    free(edge);
}

static void set_before(struct finder *f)
{
    size_t edges = f->first_next[f->count];
    for (size_t k = 0; k < edges; k++)
        f->first_before[f->next[k] + 1]++;
    for (uint32_t b = 0; b < f->count; b++)
        f->first_before[b + 1] += f->first_before[b];
    f->before = xcalloc(edges, sizeof *f->before);
    uint32_t *filled = xcalloc(f->count + 1, sizeof *filled);
    for (uint32_t b = 0; b < f->count; b++)
        for (uint32_t k = f->first_next[b]; k < f->first_next[b + 1]; k++) {
            uint32_t to = f->next[k];
            f->before[f->first_before[to] + filled[to]++] = b;
        }
    free(filled);
}

static uint32_t meet(const struct finder *f, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (f->number[a] < f->number[b])
            a = f->above[a];
        while (f->number[b] < f->number[a])
            b = f->above[b];
    }
    return a;
}

static void set_dominators(struct finder *f)
{
    memset(f->above, 0xff, (f->count + 1) * sizeof *f->above);
    f->above[f->count] = f->count;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = f->number[f->count]; n-- > 0;) {
            uint32_t b = f->order[n];
            uint32_t above = f->root[b] ? f->count : UINT32_MAX;
            for (uint32_t k = f->first_before[b]; k < f->first_before[b + 1]; k++) {
                uint32_t from = f->before[k];
                if (f->above[from] != UINT32_MAX)
                    above = above == UINT32_MAX ? from : meet(f, above, from);
            }
            changed |= above != f->above[b];
            f->above[b] = above;
        }
    }
}

static bool dominates(const struct finder *f, uint32_t a, uint32_t b)
{
    while (b != UINT32_MAX && b != f->count && f->number[b] < f->number[a])
        b = f->above[b];
    return a == b;
}

/* Everything from which the back edge's origin is reached without the header. */
static void fill(struct finder *f, struct loop *loop, uint32_t from)
{
    uint32_t *stack = xcalloc(f->count + 1, sizeof *stack);
    size_t depth = 0;
    stack[depth++] = from;
    while (depth) {
        uint32_t b = stack[--depth];
        if (in_body(loop, b) || f->number[b] == UINT32_MAX)
            continue;
        loop->body[b / 8] |= (uint8_t)(1u << b % 8);
        loop->size++;
        for (uint32_t k = f->first_before[b]; k < f->first_before[b + 1]; k++)
            if (!in_body(loop, f->before[k]) && depth < f->count)
                stack[depth++] = f->before[k];
    }
    free(stack);
}

static void add_back_edge(struct finder *f, uint32_t from, uint32_t header)
{
    struct loop *loop = NULL;
    for (size_t i = 0; i < f->loop_count; i++)
        if (f->loops[i].header == header)
            loop = &f->loops[i];
    if (!loop) {
        if ((f->loop_count + 1) * f->count > CELLS_MOST)
            return;
        loop = VEC_PUSH(f->loops, f->loop_count, f->loop_room);
        loop->header = header;
        loop->body = xcalloc(f->count / 8 + 1, 1);
        loop->body[header / 8] |= (uint8_t)(1u << header % 8);
        loop->size = 1;
    }
    fill(f, loop, from);
}

static int compare(const void *pa, const void *pb)
{
    const struct loop *a = pa, *b = pb;
    return a->header < b->header ? -1 : a->header > b->header;
}

static void find_all(struct finder *f)
{
    for (uint32_t b = 0; b < f->count; b++)
        for (uint32_t k = 0; k < f->flow->blocks[b].next_count && f->number[b] != UINT32_MAX; k++)
            if (dominates(f, f->flow->blocks[b].next[k], b))
                add_back_edge(f, b, f->flow->blocks[b].next[k]);
    if (f->loop_count)
        qsort(f->loops, f->loop_count, sizeof *f->loops, compare);
}

/* The smallest loop around it. */
static uint32_t parent_of(const struct finder *f, const struct loop *loop)
{
    uint32_t parent = CODE_NONE;
    for (uint32_t i = 0; i < f->loop_count; i++) {
        const struct loop *other = &f->loops[i];
        if (other != loop && other->header != loop->header && in_body(other, loop->header) &&
            (parent == CODE_NONE || other->size < f->loops[parent].size))
            parent = i;
    }
    return parent;
}

static void add_edge_point(struct finder *f, struct code_body *body, enum code_kind kind,
                           uint32_t loop, uint32_t from, uint64_t target)
{
    const struct flow_block *block = &f->flow->blocks[from];
    uint32_t index = block->first + block->count - 1;
    struct code_point *point = VEC_PUSH(body->points, body->point_count, body->point_room);
    *point = (struct code_point){.kind = (uint8_t)kind,
                                 .function = f->flow->part,
                                 .callee = CODE_NONE,
                                 .loop = loop,
                                 .address = f->flow->insns[index].address,
                                 .target = target,
                                 .indirect = f->flow->insns[index].kind == INSN_JUMP_INDIRECT};
    window_choose(f->flow, body, point, from, index);
}

static void add_edges(struct finder *f, struct code_body *body, uint32_t number)
{
    const struct loop *loop = &f->loops[number];
    for (uint32_t b = 0; b < f->count; b++) {
        const struct flow_block *block = &f->flow->blocks[b];
        const struct insn *last = &f->flow->insns[block->first + block->count - 1];
        if (f->number[b] == UINT32_MAX)
            continue;
        for (uint32_t k = 0; k < block->next_count; k++) {
            uint32_t to = block->next[k];
            uint64_t target = f->flow->insns[f->flow->blocks[to].first].address;
            bool inside = in_body(loop, b);
            if (to == loop->header)
                add_edge_point(f, body, inside ? CODE_LOOP_NEXT : CODE_LOOP_ENTRY, number, b,
                               target);
            else if (inside && !in_body(loop, to))
                add_edge_point(f, body, CODE_LOOP_EXIT, number, b, target);
        }
        if (in_body(loop, b) && last->kind == INSN_BRANCH && !flow_own(f->flow, last->target))
            add_edge_point(f, body, CODE_LOOP_EXIT, number, b, last->target);
    }
}

static uint32_t innermost(const struct finder *f, uint32_t block)
{
    uint32_t found = CODE_NONE;
    for (uint32_t i = 0; i < f->loop_count; i++)
        if (in_body(&f->loops[i], block) &&
            (found == CODE_NONE || f->loops[i].size < f->loops[found].size))
            found = i;
    return found;
}

static void keep_ranges(struct finder *f, struct code_body *body)
{
    for (uint32_t b = 0; b < f->count && f->loop_count; b++) {
        const struct flow_block *block = &f->flow->blocks[b];
        const struct insn *last = &f->flow->insns[block->first + block->count - 1];
        struct code_range range = {.start = f->flow->insns[block->first].address,
                                   .end = last->address + last->length,
                                   .loop = innermost(f, b)};
        struct code_range *before = body->range_count ? &body->ranges[body->range_count - 1] : NULL;
        if (range.loop == CODE_NONE)
            continue;
        if (before && before->loop == range.loop && before->end == range.start)
            before->end = range.end;
        else
            *VEC_PUSH(body->ranges, body->range_count, body->range_room) = range;
    }
}

void loops_find(struct flow *flow, struct code_body *body)
{
    struct finder f = {.flow = flow, .count = (uint32_t)flow->block_count};
    size_t places = (size_t)f.count + 2;
    f.order = xcalloc(places, sizeof *f.order);
    f.number = xcalloc(places, sizeof *f.number);
    f.above = xcalloc(places, sizeof *f.above);
    f.first_before = xcalloc(places, sizeof *f.first_before);
    f.first_next = xcalloc(places, sizeof *f.first_next);
    f.root = xcalloc(places, sizeof *f.root);
    set_next(&f);
    set_order(&f);
    set_before(&f);
    set_dominators(&f);
    find_all(&f);
    for (uint32_t i = 0; i < f.loop_count; i++)
        *VEC_PUSH(body->loops, body->loop_count, body->loop_room) = (struct code_loop){
            .function = flow->part,
            .parent = parent_of(&f, &f.loops[i]),
            .header = flow->insns[flow->blocks[f.loops[i].header].first].address};
    for (uint32_t i = 0; i < f.loop_count; i++)
        add_edges(&f, body, i);
    keep_ranges(&f, body);
    for (size_t i = 0; i < f.loop_count; i++)
        free(f.loops[i].body);
    free(f.loops);
    free(f.order);
    free(f.number);
    free(f.above);
    free(f.first_before);
    free(f.before);
    free(f.first_next);
    free(f.next);
    free(f.root);
}
