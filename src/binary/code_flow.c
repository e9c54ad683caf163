/* SPDX-License-Identifier: MIT */
/* The instructions of a procedure, found by following control from its entry. */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <stdlib.h>
#include <string.h>

bool flow_falls_out(const struct flow *flow, const struct insn *i)
{
    return (i->kind == INSN_PLAIN || i->kind == INSN_NOP || i->kind == INSN_BRANCH) &&
           !flow_own(flow, i->address + i->length);
}

bool flow_own(const struct flow *flow, uint64_t address)
{
    for (size_t i = 0; i < flow->part_count; i++) {
        const struct code_part *part = &flow->file->parts[flow->parts[i]];
        if (address >= part->start && address < part->end)
            return true;
    }
    return false;
}

static void fail(struct flow *flow, const char *why)
{
    if (!flow->why)
        flow->why = why;
}

static void push(struct flow *flow, uint64_t address)
{
    uint8_t *map = file_map(flow->file, address);
    if (!map)
        return;
    *map |= MAP_LEADER;
    if (!(*map & MAP_START))
        *VEC_PUSH(flow->todo, flow->todo_count, flow->todo_room) = address;
}

/* A cold part belongs to the first procedure that jumps into it. */
static bool claim(struct flow *flow, uint32_t index)
{
    if (index == PART_NONE)
        return false;
    struct code_part *part = &flow->file->parts[index];
    if (!part->cold || (part->owner != PART_NONE && part->owner != flow->part) ||
        flow->file->bodies[index].looked_at)
        return false;
    part->owner = flow->part;
    *VEC_PUSH(flow->parts, flow->part_count, flow->part_room) = index;
    return true;
}

uint32_t flow_callee(const struct flow *flow, const struct insn *i, const char **name)
{
    const struct code_file *file = flow->file;
    bool indirect = i->kind == INSN_CALL_INDIRECT || i->kind == INSN_JUMP_INDIRECT;
    *name = NULL;
    if (indirect && !(i->flags & INSN_SLOT))
        return PART_NONE;
    const struct code_name *known = names_find(indirect ? &file->slots : &file->stubs, i->target);
    uint64_t target = known ? known->value : indirect ? 0 : i->target;
    if (known && known->name) {
        *name = known->name;
        return PART_NONE;
    }
    uint32_t part = target ? parts_find(file, target) : PART_NONE;
    if (part == PART_NONE || file->parts[part].start != target)
        return PART_NONE;
    *name = file->parts[part].name;
    return part;
}

static bool may_return(const struct flow *flow, const struct insn *i)
{
    const char *name;
    uint32_t part = flow_callee(flow, i, &name);
    if (part != PART_NONE && flow->file->never_returns[part])
        return false;
    return !name_never_returns(name);
}

/* A direct jump: within the procedure, into a cold part, or away (a tail call). */
static void follow_jump(struct flow *flow, const struct insn *i)
{
    uint8_t *map = file_map(flow->file, i->target);
    bool middle = false;
    if (map)
        *map |= MAP_TARGET;
    if (flow_own(flow, i->target)) {
        if (i->target == flow->file->parts[flow->part].start)
            flow->loops_back = true;
        push(flow, i->target);
        return;
    }
    uint32_t part = parts_find(flow->file, i->target);
    if (claim(flow, part)) {
        push(flow, i->target);
        return;
    }
    if (names_find(&flow->file->stubs, i->target))
        return;
    if (map)
        *map |= MAP_FOREIGN;
    if (part == PART_NONE || flow->file->parts[part].start != i->target) {
        fail(flow, "it jumps into the middle of other code");
        middle = true;
    }
    if (part != PART_NONE)
        *VEC_PUSH(flow->file->jumps, flow->file->jump_count, flow->file->jump_room) =
            (struct code_jump){flow->part, part, middle};
}

/* Only padding from here to the end of the part? Then the call before it is the last thing. */
static bool ends_here(const struct flow *flow, uint64_t address)
{
    const struct code_file *file = flow->file;
    for (size_t i = 0; i < flow->part_count; i++) {
        const struct code_part *part = &file->parts[flow->parts[i]];
        if (address < part->start || address > part->end)
            continue;
        while (address < part->end) {
            struct insn insn;
            uint8_t *map = file_map(file, address);
            const uint8_t *bytes = file_bytes(file, address, 1);
            if (!map || *map & (MAP_TARGET | MAP_POINTED) ||
                !insn_decode(bytes, part->end - address, address, &insn) ||
                (insn.kind != INSN_NOP && insn.kind != INSN_STOP))
                break;
            address += insn.length;
        }
        if (address == part->end)
            return true;
    }
    return false;
}

/* What follows the instruction; false: nothing does. */
static bool follow(struct flow *flow, struct insn *i)
{
    uint64_t next = i->address + i->length;
    uint8_t *map;
    switch ((enum insn_kind)i->kind) {
    case INSN_JUMP: follow_jump(flow, i); return false;
    case INSN_BRANCH:
        follow_jump(flow, i);
        map = file_map(flow->file, next);
        if (map)
            *map |= MAP_LEADER;
        return true;
    case INSN_JUMP_INDIRECT:
        if (!(i->flags & INSN_SLOT) || !names_find(&flow->file->slots, i->target))
            *VEC_PUSH(flow->open, flow->open_count, flow->open_room) = i->address;
        return false;
    case INSN_RETURN:
    case INSN_STOP: return false;
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        map = i->kind == INSN_CALL ? file_map(flow->file, i->target) : NULL;
        if (map)
            *map |= MAP_TARGET;
        if (i->kind == INSN_CALL ? names_find(&flow->file->stubs, i->target) != NULL
                                 : !(i->flags & INSN_KEEPS))
            i->flags |= INSN_CLOBBERS;
        if (!may_return(flow, i)) {
            i->flags |= INSN_NO_RETURN;
        } else if (!flow_own(flow, next) || ends_here(flow, next)) {
            i->flags |= INSN_NO_RETURN | INSN_FALLS_OUT;
            flow->doubtful = true;
        }
        return !(i->flags & INSN_NO_RETURN);
    default: return true;
    }
}

static bool mark(struct flow *flow, const struct insn *i)
{
    uint8_t *map = file_map(flow->file, i->address);
    if (*map & MAP_INSIDE) {
        fail(flow, "instructions overlap");
        return false;
    }
    for (uint8_t k = 1; k < i->length; k++)
        if (map[k] & (MAP_START | MAP_INSIDE)) {
            fail(flow, "instructions overlap");
            return false;
        }
    *map |= MAP_START;
    for (uint8_t k = 1; k < i->length; k++)
        map[k] |= MAP_INSIDE;
    if (i->flags & INSN_ADDRESS && i->flags & INSN_RELATIVE) {
        uint8_t *pointed = file_map(flow->file, i->target);
        if (pointed)
            *pointed |= MAP_POINTED;
    }
    return true;
}

/* The instruction as it was when the procedure was looked at before, less what was made of it. */
static bool known_before(struct flow *flow, uint64_t address, struct insn *i)
{
    size_t low = flow->known_at;
    if (low >= flow->known_count || flow->known[low].address != address) {
        low = 0;
        for (size_t high = flow->known_count; low < high;) {
            size_t middle = (low + high) / 2;
            if (flow->known[middle].address < address)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == flow->known_count || flow->known[low].address != address)
            return false;
    }
    *i = flow->known[low];
    i->flags &= (uint8_t) ~(INSN_NO_RETURN | INSN_FALLS_OUT | INSN_CLOBBERS);
    flow->known_at = low + 1;
    return true;
}

/* The procedure that begins here, or behind nops that belong to none. */
uint32_t flow_run_into(const struct flow *flow, uint64_t address)
{
    const struct code_text *text = file_text(flow->file, address);
    uint32_t part = parts_find(flow->file, address);
    struct insn i;
    while (part == PART_NONE && text && address < text->end &&
           insn_decode(text->bytes + (address - text->start), text->end - address, address, &i) &&
           i.kind == INSN_NOP) {
        address += i.length;
        part = parts_find(flow->file, address);
    }
    return part != PART_NONE && flow->file->parts[part].start == address &&
                   !flow->file->parts[part].cold
               ? part
               : PART_NONE;
}

/* Is this where the instruction that was found last runs into another procedure? With no frame of
 * its own that is a call as its last act: __memcpy_chk stands before memcpy. */
static bool falls_into(const struct flow *flow, uint64_t address)
{
    enum { RSP = 1u << 4 };
    const struct insn *last = flow->insn_count ? &flow->insns[flow->insn_count - 1] : NULL;
    return last && last->address + last->length == address && !(last->writes & RSP) &&
           flow_run_into(flow, address) != PART_NONE &&
           frame_is_empty(frames_find(flow->file, last->address), last->address) == 1;
}

static void straight(struct flow *flow, uint64_t address)
{
    for (bool on = true; on;) {
        struct code_text *text = file_text(flow->file, address);
        uint8_t *map = text ? text->map + (address - text->start) : NULL;
        if (!map || !flow_own(flow, address)) {
            if (!map || !falls_into(flow, address))
                fail(flow, "it runs into other code");
            return;
        }
        if (*map & MAP_START)
            return;
        struct insn i;
        uint64_t room = text->end - address;
        if ((!known_before(flow, address, &i) &&
             !insn_decode(text->bytes + (address - text->start), room, address, &i)) ||
            !flow_own(flow, address + i.length - 1)) {
            fail(flow, "it has bytes that are no instruction");
            return;
        }
        if (!mark(flow, &i))
            return;
        on = follow(flow, &i);
        *VEC_PUSH(flow->insns, flow->insn_count, flow->insn_room) = i;
        address += i.length;
    }
}

static void drain(struct flow *flow)
{
    while (flow->todo_count)
        straight(flow, flow->todo[--flow->todo_count]);
}

/* An indirect jump that is no table is a tail call if the frame is gone. */
static void follow_open(struct flow *flow)
{
    for (bool last_try = false; flow->open_count;) {
        size_t before = flow->open_count, kept = 0;
        for (size_t i = 0; i < before; i++) {
            uint64_t jump = flow->open[i];
            if (switch_follow(flow, jump, last_try)) {
                drain(flow);
                continue;
            }
            flow->open[kept++] = jump;
        }
        /* what was found meanwhile stands behind the first `before` */
        memmove(flow->open + kept, flow->open + before,
                (flow->open_count - before) * sizeof *flow->open);
        bool more = flow->open_count > before;
        flow->open_count -= before - kept;
        if (!more && kept == before && last_try)
            break;
        last_try = !more && kept == before;
    }
    for (size_t i = 0; i < flow->open_count; i++) {
        const struct code_frame *frame = frames_find(flow->file, flow->open[i]);
        flow->doubtful = true;
        if (frame_is_empty(frame, flow->open[i]) != 1)
            fail(flow, "it has an indirect jump that was not understood");
    }
}

static void add_pad(void *data, const struct flow_pad *pad)
{
    struct flow *flow = data;
    uint64_t address = pad->address;
    uint8_t *map = file_map(flow->file, address);
    if (!map)
        return;
    *map |= MAP_POINTED;
    if (!flow_own(flow, address) && !claim(flow, parts_find(flow->file, address)))
        return;
    *VEC_PUSH(flow->pads, flow->pad_count, flow->pad_room) = *pad;
    push(flow, address);
}

/* Landing pads of its parts; cold ones that are claimed meanwhile have some too. */
static void follow_pads(struct flow *flow, size_t *done)
{
    while (*done < flow->part_count) {
        uint64_t start = flow->file->parts[flow->parts[(*done)++]].start;
        if (!frame_pads(flow->file, frames_find(flow->file, start), add_pad, flow))
            fail(flow, "its exception table is damaged");
        drain(flow);
    }
}

struct run { /* of instructions that stand behind each other */
    uint64_t address;
    size_t first, count;
};

static int compare(const void *pa, const void *pb)
{
    const struct run *a = pa, *b = pb;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* By address. They were found in runs, which are far fewer. */
static void sort_insns(struct flow *flow)
{
    struct run *runs = NULL;
    size_t count = 0, room = 0, at = 0;
    bool sorted = true;
    for (size_t i = 0; i < flow->insn_count; i++) {
        const struct insn *insn = &flow->insns[i];
        if (i && insn[-1].address + insn[-1].length == insn->address) {
            runs[count - 1].count++;
            continue;
        }
        sorted &= !i || insn[-1].address < insn->address;
        *VEC_PUSH(runs, count, room) =
            (struct run){.address = insn->address, .first = i, .count = 1};
    }
    if (!sorted) {
        struct insn *insns = xcalloc(flow->insn_count, sizeof *insns);
        qsort(runs, count, sizeof *runs, compare);
        for (size_t i = 0; i < count; at += runs[i++].count)
            memcpy(insns + at, flow->insns + runs[i].first, runs[i].count * sizeof *insns);
        free(flow->insns);
        flow->insns = insns;
        flow->insn_room = flow->insn_count;
    }
    free(runs);
}

/* Code in its range that nothing leads to. */
static bool has_rest(const struct flow *flow)
{
    for (size_t k = 0; k < flow->part_count; k++) {
        const struct code_part *part = &flow->file->parts[flow->parts[k]];
        struct code_text *text = file_text(flow->file, part->start);
        for (uint64_t at = part->start; at < part->end;) {
            struct insn i;
            if (text->map[at - text->start] & (MAP_START | MAP_INSIDE)) {
                at++;
                continue;
            }
            if (!insn_decode(text->bytes + (at - text->start), part->end - at, at, &i) ||
                (i.kind != INSN_NOP && i.kind != INSN_STOP))
                return true;
            at += i.length;
        }
    }
    return false;
}

void flow_follow(struct flow *flow)
{
    const struct code_part *part = &flow->file->parts[flow->part];
    size_t done = 0;
    flow->frame = frames_find(flow->file, part->start);
    flow->insn_room = (part->end - part->start) / 4 + 4; /* most are about that long */
    flow->insns = xcalloc(flow->insn_room, sizeof *flow->insns);
    *VEC_PUSH(flow->parts, flow->part_count, flow->part_room) = flow->part;
    push(flow, part->start);
    drain(flow);
    follow_pads(flow, &done);
    follow_open(flow);
    follow_pads(flow, &done);
    if (flow->open_count && !flow->why)
        follow_open(flow);
    sort_insns(flow);
    if (!flow->why && flow->doubtful && has_rest(flow))
        flow->why = "it has code that nothing seems to lead to";
}

uint32_t flow_find(const struct flow *flow, uint64_t address)
{
    size_t low = 0, high = flow->insn_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (flow->insns[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < flow->insn_count && flow->insns[low].address == address ? (uint32_t)low
                                                                         : UINT32_MAX;
}

void flow_free(struct flow *flow)
{
    for (size_t i = 0; i < flow->table_count; i++)
        free(flow->tables[i].targets);
    for (size_t i = 0; i < flow->block_count; i++)
        if (flow->blocks[i].next != flow->blocks[i].two)
            free(flow->blocks[i].next);
    free(flow->parts);
    free(flow->insns);
    free(flow->todo);
    free(flow->open);
    free(flow->tables);
    free(flow->pads);
    free(flow->blocks);
}
