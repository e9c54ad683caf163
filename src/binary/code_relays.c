/* SPDX-License-Identifier: MIT */
/*
 * Points without room for a jump of five bytes. Two bytes hold a short jump, which leads to a long
 * one nearby, the relay: in padding, or behind the jump of instructions that are moved away for it.
 * By then everything has been looked at, so the map says where instructions and blocks begin, and
 * what is led to from elsewhere.
 */
#include "binary/code_inner.h"

enum {
    SHORT_BYTES = 2,
    RELAY_BYTES = 2 * CODE_JUMP_BYTES, /* one jump for what stood there, and the relay's */
    SHORT_BACK = 128,
    SHORT_ON = 127
};
static const uint8_t led_to = MAP_TARGET | MAP_POINTED | MAP_LEADER;

struct reach { /* of a short jump, within one text */
    const struct code_file *file;
    const struct code_text *text;
    uint64_t low, high; /* where a relay may begin */
};

static void mark(const struct code_text *text, const struct code_window *w)
{
    for (uint64_t at = w->start; at < w->end; at++)
        text->map[at - text->start] |= MAP_WINDOW | MAP_RELAY;
}

static bool decode(const struct code_text *text, uint64_t address, struct insn *i)
{
    return address < text->end &&
           insn_decode(text->bytes + (address - text->start), text->end - address, address, i);
}

/* Everything in it is known. */
static bool in_whole(const struct code_file *file, uint64_t address)
{
    uint32_t part = parts_find(file, address);
    if (part == PART_NONE)
        return false;
    uint32_t owner = file->parts[part].owner;
    return file->bodies[owner == PART_NONE ? part : owner].whole;
}

/* The instruction that ends before this address. */
static bool before(const struct code_text *text, uint64_t address, struct insn *i)
{
    enum { LONGEST = 15 };
    for (uint64_t at = address; at > text->start && address - at < LONGEST;) {
        uint8_t map = text->map[--at - text->start];
        if (map & MAP_START)
            return decode(text, at, i) && at + i->length == address;
        if (!(map & MAP_INSIDE))
            break;
    }
    return false;
}

static bool ends(const struct insn *i)
{
    return i->kind == INSN_JUMP || i->kind == INSN_JUMP_INDIRECT || i->kind == INSN_RETURN ||
           i->kind == INSN_STOP;
}

/* Five bytes that nobody comes to, behind what does not go on (a call that never returns might,
 * after all). */
static bool is_padding(const struct reach *r, uint64_t address)
{
    struct insn i;
    if (!before(r->text, address, &i) || !ends(&i) || !in_whole(r->file, i.address))
        return false;
    for (uint64_t at = address; at < address + CODE_JUMP_BYTES; at += i.length) {
        uint32_t part = parts_find(r->file, at);
        if (!decode(r->text, at, &i) ||
            (i.kind != INSN_NOP && r->text->bytes[at - r->text->start] != 0xcc) ||
            (part != PART_NONE && (r->file->parts[part].start == at || !in_whole(r->file, at))))
            return false;
    }
    return true;
}

static bool find_padding(const struct reach *r, struct code_window *relay)
{
    uint64_t begin = r->low;
    for (uint64_t at = r->low; at <= r->high + CODE_JUMP_BYTES && at < r->text->end; at++) {
        if (r->text->map[at - r->text->start] & (uint8_t)~MAP_LEADER) {
            begin = at + 1;
        } else if (at + 1 - begin == CODE_JUMP_BYTES && begin <= r->high && is_padding(r, begin)) {
            *relay = (struct code_window){begin, begin + CODE_JUMP_BYTES};
            return true;
        }
    }
    return false;
}

/* Instructions of one block from here on that can be moved away for it. Where a pointer leads to
 * the first, someone may know the instruction by its address (handlers of faults do). */
static bool can_move(const struct reach *r, uint64_t start, struct code_window *relay)
{
    const uint8_t *map = r->text->map - r->text->start;
    struct insn i;
    relay->start = relay->end = start;
    if (map[start] & MAP_POINTED)
        return false;
    for (; relay->end - start < RELAY_BYTES; relay->end += i.length) {
        if (!(map[relay->end] & MAP_START) || !decode(r->text, relay->end, &i) ||
            i.flags & INSN_FIXED || window_is_call(&i) ||
            (ends(&i) && relay->end + i.length - start < RELAY_BYTES))
            return false;
        for (uint64_t at = relay->end; at < relay->end + i.length; at++)
            if (map[at] & MAP_WINDOW || (at > start && map[at] & led_to))
                return false;
    }
    return relay->end - start <= CODE_WINDOW_MOST && in_whole(r->file, start);
}

static bool find_moved(const struct reach *r, struct code_window *relay)
{
    const uint8_t *map = r->text->map - r->text->start;
    for (uint64_t start = r->low; start <= r->high && start + RELAY_BYTES <= r->text->end;
         start++) {
        uint64_t at = start + 1;
        if (!(map[start] & MAP_START) || map[start] & MAP_WINDOW)
            continue;
        while (at < start + RELAY_BYTES && !(map[at] & (led_to | MAP_WINDOW)))
            at++;
        if (at == start + RELAY_BYTES && can_move(r, start, relay))
            return true;
    }
    return false;
}

/* Padding if there is some, as that slows nobody down. */
static bool find_relay(const struct code_file *file, const struct code_text *text, uint64_t from,
                       struct code_window *relay)
{
    struct reach r = {.file = file, .text = text};
    from += SHORT_BYTES;
    r.low = from > text->start + SHORT_BACK ? from - SHORT_BACK : text->start;
    r.high = from + SHORT_ON;
    if (find_padding(&r, relay))
        return true;
    r.low = r.low > text->start + CODE_JUMP_BYTES ? r.low - CODE_JUMP_BYTES : text->start;
    r.high -= CODE_JUMP_BYTES;
    return find_moved(&r, relay);
}

/* Two bytes or more: the point's instruction, else with the one before or behind it. */
static bool find_window(const struct code_text *text, const struct code_point *p,
                        struct code_window *w)
{
    const uint8_t *map = text->map - text->start;
    struct insn i, other;
    if (!decode(text, p->address, &i) || i.flags & INSN_FIXED)
        return false;
    *w = (struct code_window){p->address, p->address + i.length};
    if (i.length >= SHORT_BYTES)
        return true;
    if (p->kind != CODE_ENTRY && !(map[p->address] & led_to) && before(text, w->start, &other) &&
        !window_is_call(&other) && !(other.flags & INSN_FIXED)) {
        w->start = other.address;
        return true;
    }
    if (ends(&i) || !decode(text, w->end, &other) || map[w->end] & led_to ||
        !(map[w->end] & MAP_START) || window_is_call(&other) || other.flags & INSN_FIXED)
        return false;
    w->end += other.length;
    return true;
}

/* Another point has a short jump over this instruction already. */
static bool share(const struct code_body *body, struct code_point *point)
{
    for (size_t i = 0; i < body->point_count; i++) {
        const struct code_point *p = &body->points[i];
        if (p->way != CODE_SHORT || point->address < p->window ||
            point->address >= p->window + p->window_bytes)
            continue;
        point->window = p->window;
        point->window_bytes = p->window_bytes;
        point->relay = p->relay;
        point->relay_bytes = p->relay_bytes;
        return true;
    }
    return false;
}

static bool make_short(struct code_file *file, const struct code_body *body,
                       struct code_point *point)
{
    struct code_window w, relay;
    const struct code_text *text = file_text(file, point->address);
    if (!text)
        return false;
    if (text->map[point->address - text->start] & MAP_RELAY)
        return share(body, point);
    if (!find_window(text, point, &w))
        return false;
    for (uint64_t at = w.start; at < w.end; at++)
        if (text->map[at - text->start] & MAP_WINDOW)
            return false;
    mark(text, &w);
    if (!find_relay(file, text, w.start, &relay))
        return false;
    mark(text, &relay);
    point->window = w.start;
    point->window_bytes = (uint8_t)(w.end - w.start);
    point->relay = relay.start;
    point->relay_bytes = (uint8_t)(relay.end - relay.start);
    return true;
}

static void settle(struct code_file *file, const struct code_body *body, struct code_point *p)
{
    if (body->whole && make_short(file, body, p)) {
        p->way = CODE_SHORT;
        p->why = NULL;
    } else {
        p->way = CODE_NEVER;
    }
}

void relays_find(struct code_file *file)
{
    static const enum code_kind order[] = {CODE_EXIT,       CODE_ENTRY,     CODE_CALL,
                                           CODE_LOOP_ENTRY, CODE_LOOP_EXIT, CODE_LOOP_NEXT};
    for (size_t o = 0; o < sizeof order / sizeof *order; o++)
        for (uint32_t i = 0; i < file->part_count; i++) {
            struct code_body *body = &file->bodies[i];
            for (size_t k = 0; k < body->point_count; k++)
                if (body->points[k].kind == order[o] && body->points[k].way == CODE_OPEN)
                    settle(file, body, &body->points[k]);
        }
}
