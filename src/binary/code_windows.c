/* SPDX-License-Identifier: MIT */
/*
 * Windows. A window is what a jump may overwrite: whole instructions of one block, with no way into
 * them but at the first. Windows of two points are either the same or have no byte in common.
 */
#include "binary/code_inner.h"

bool window_is_call(const struct insn *i)
{
    return i->kind == INSN_CALL || i->kind == INSN_CALL_INDIRECT;
}

/* May control come to this byte from elsewhere? */
static bool entered(const struct flow *flow, uint64_t address)
{
    const uint8_t *map = file_map(flow->file, address);
    return !map || *map & (MAP_TARGET | MAP_POINTED);
}

static bool goes_on(const struct insn *i)
{
    return i->kind == INSN_PLAIN || i->kind == INSN_NOP || i->kind == INSN_BRANCH ||
           (window_is_call(i) && !(i->flags & INSN_NO_RETURN));
}

/* Nops and traps that nobody comes to, behind an instruction that does not go on. */
static uint64_t padding(const struct flow *flow, uint64_t address, uint64_t wanted)
{
    const struct code_text *text = file_text(flow->file, address);
    while (text && address < wanted) {
        struct insn i;
        uint8_t *map = file_map(flow->file, address);
        uint32_t part = parts_find(flow->file, address);
        if (!map || *map & (MAP_START | MAP_INSIDE | MAP_TARGET | MAP_POINTED) ||
            (part != PART_NONE && flow->file->parts[part].start == address) ||
            !insn_decode(text->bytes + (address - text->start), text->end - address, address, &i) ||
            (i.kind != INSN_NOP && text->bytes[address - text->start] != 0xcc))
            break;
        address += i.length;
        text = file_text(flow->file, address);
    }
    return address;
}

/* Five bytes or more around `index`, from instruction `first` on; false: not from there. */
static bool try_from(const struct flow *flow, const struct flow_block *block, uint32_t first,
                     uint32_t index, bool call_last, struct code_window *w)
{
    uint32_t end = block->first + block->count, i = first;
    w->start = flow->insns[first].address;
    w->end = w->start;
    for (; i < end; i++) {
        const struct insn *insn = &flow->insns[i];
        if (i > index && w->end - w->start >= CODE_JUMP_BYTES)
            break;
        if (insn->flags & INSN_FIXED || (i > first && entered(flow, insn->address)) ||
            (i > index && window_is_call(insn) && !call_last))
            return false;
        w->end = insn->address + insn->length;
        if (window_is_call(insn)) { /* its return address is the window's end */
            i++;
            break;
        }
    }
    if (i <= index)
        return false;
    if (i == end && !goes_on(&flow->insns[end - 1]) && w->end - w->start < CODE_JUMP_BYTES)
        w->end = padding(flow, w->end, w->start + CODE_JUMP_BYTES);
    return w->end - w->start >= CODE_JUMP_BYTES && w->end - w->start <= CODE_WINDOW_MOST;
}

static bool overlaps(const struct code_point *p, const struct code_window *w)
{
    return p->way == CODE_JUMP && p->window < w->end && w->start < p->window + p->window_bytes;
}

/* Few windows touch another: that is seen without looking at all of them. */
static bool taken(const struct flow *flow, const struct code_window *w)
{
    const uint8_t *map = file_map(flow->file, w->start);
    uint8_t all = 0;
    for (uint64_t k = 0; k < w->end - w->start; k++)
        all |= map[k];
    return all & MAP_WINDOW;
}

static bool disjoint(const struct code_body *body, const struct code_point *self,
                     const struct code_window *w)
{
    for (size_t i = 0; i < body->point_count; i++)
        if (&body->points[i] != self && overlaps(&body->points[i], w) &&
            (body->points[i].window != w->start ||
             body->points[i].window + body->points[i].window_bytes != w->end))
            return false;
    return true;
}

/* A procedure that is over soon behind its entry's window has its return moved along: a jump back
 * to it would be the dearest part of the code. Its exit has the same window then, so that nobody
 * passes it by. */
static void widen_to_return(const struct flow *flow, const struct flow_block *block,
                            struct code_window *w)
{
    uint32_t last = block->first + block->count - 1;
    uint64_t end = flow->insns[last].address + flow->insns[last].length;
    if (flow->insns[last].kind != INSN_RETURN || end - w->start > CODE_WINDOW_MOST)
        return;
    for (uint32_t i = block->first; i <= last; i++) {
        const struct insn *insn = &flow->insns[i];
        if (insn->address >= w->end &&
            (insn->flags & INSN_FIXED || window_is_call(insn) || entered(flow, insn->address)))
            return;
    }
    w->end = end > w->end ? end : w->end;
}

/* The window of an entry that a return was moved along with. */
static bool find_around(const struct code_body *body, const struct insn *insn,
                        struct code_window *w)
{
    for (size_t i = 0; i < body->point_count && insn->kind == INSN_RETURN; i++) {
        const struct code_point *p = &body->points[i];
        *w = (struct code_window){.start = p->window, .end = p->window + p->window_bytes};
        if (p->kind == CODE_ENTRY && p->way == CODE_JUMP && w->start <= insn->address &&
            insn->address + insn->length <= w->end)
            return true;
    }
    return false;
}

/* Window that is free, or the same as others; first choices are the shortest. */
static bool find_window(const struct flow *flow, const struct code_body *body,
                        const struct code_point *point, uint32_t block_number, uint32_t index,
                        struct code_window *w)
{
    const struct flow_block *block = &flow->blocks[block_number];
    bool found = false;
    struct code_window wide = {0};
    if (find_around(body, &flow->insns[index], w))
        return true;
    for (uint32_t first = index;; first--) {
        if (try_from(flow, block, first, index, false, w)) {
            if (point->kind == CODE_ENTRY)
                widen_to_return(flow, block, w);
            if (!taken(flow, w) || disjoint(body, point, w))
                return true;
            wide = *w;
            found = true;
        }
        if (point->kind == CODE_ENTRY || first == block->first ||
            flow->insns[index].address - flow->insns[first - 1].address > CODE_WINDOW_MOST ||
            window_is_call(&flow->insns[first - 1]))
            break;
    }
    if (found)
        *w = wide;
    else if (point->kind == CODE_ENTRY) /* a call may be the last: it returns behind the window */
        found = try_from(flow, block, index, index, true, w);
    return found;
}

/* All that the window touches become one with it. */
static bool unite(struct code_body *body, const struct code_point *self, struct code_window *w)
{
    struct code_window all = *w;
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < body->point_count; i++) {
            const struct code_point *p = &body->points[i];
            if (p == self || !overlaps(p, &all))
                continue;
            uint64_t end = p->window + p->window_bytes;
            grown |= p->window < all.start || end > all.end;
            all.start = p->window < all.start ? p->window : all.start;
            all.end = end > all.end ? end : all.end;
        }
    }
    if (all.end - all.start > CODE_WINDOW_MOST)
        return false;
    for (size_t i = 0; i < body->point_count; i++) {
        struct code_point *p = &body->points[i];
        if (p != self && overlaps(p, &all)) {
            p->window = all.start;
            p->window_bytes = (uint8_t)(all.end - all.start);
        }
    }
    *w = all;
    return true;
}

void window_choose(const struct flow *flow, struct code_body *body, struct code_point *point,
                   uint32_t block, uint32_t index)
{
    struct code_window w;
    bool entry = point->kind == CODE_ENTRY;
    bool edge = point->kind >= CODE_LOOP_ENTRY ||
                (point->kind == CODE_EXIT && point->target && flow_own(flow, point->target));
    point->window = point->address;
    point->way = CODE_NEVER; /* not among the windows yet */
    if (edge && flow->insns[index].kind == INSN_JUMP_INDIRECT) {
        /* one edge of many behind one jump */
        point->live = LIVE_ALL;
        point->why = "it is an edge of a jump through a table";
        return;
    }
    if (edge) {
        uint32_t to = blocks_at(flow, point->target);
        point->live = to == UINT32_MAX ? LIVE_ARGUMENT | LIVE_KEPT : flow->blocks[to].live_in;
    } else {
        point->live = live_at(flow, block, index, false);
    }
    if (entry && flow->loops_back) {
        point->why = "a jump of its own leads to its first instruction";
        return;
    }
    if (!find_window(flow, body, point, block, index, &w)) {
        point->way = CODE_OPEN;
        point->why = "five bytes are not to be had there";
    } else if (taken(flow, &w) && !unite(body, point, &w)) {
        point->way = CODE_OPEN;
        point->why = "other points need the bytes there";
    } else {
        point->way = CODE_JUMP;
        point->window = w.start;
        point->window_bytes = (uint8_t)(w.end - w.start);
        uint8_t *map = file_map(flow->file, w.start);
        for (uint64_t k = 0; k < w.end - w.start; k++)
            map[k] |= MAP_WINDOW;
    }
}
