/* SPDX-License-Identifier: MIT */
/*
 * Lines of loops. A loop belongs to the procedure that all of its code comes from: to the innermost
 * scope around every line of it. What was inlined into it stands on the line of its call there.
 */
#include "binary/machine_inner.h"

#include <string.h>

void machine_rows(const struct machine_body *b, uint64_t start, uint64_t end, machine_take *take,
                  void *data)
{
    const struct code_line *at = lines_at(b->lines, start);
    for (; at && at->address < end; at = lines_after(b->lines, at)) {
        const struct code_line *next = lines_after(b->lines, at);
        uint64_t address = at->address < start ? start : at->address;
        /* of several rows at one address only the last counts */
        if (at->file && at->line && (!next || next->address > address))
            take(data, inlined_at(&b->inlined, address), at);
    }
}

struct machine_place machine_place(const struct machine_body *b, uint64_t address)
{
    const struct code_line *at = lines_at(b->lines, address);
    while (at && !at->line && at->address > b->function->start)
        at = lines_at(b->lines, at->address - 1);
    return at && at->line ? (struct machine_place){.path = at->file, .line = at->line}
                          : (struct machine_place){0};
}

/* A parent stands before what was inlined into it. */
static uint32_t meet(const struct inlined *in, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a > b)
            a = in->scopes[a].parent;
        else
            b = in->scopes[b].parent;
    }
    return a;
}

struct rows {
    struct machine_body *body;
    uint32_t loop; /* of the function, the innermost */
};

uint32_t machine_loop_around(const struct machine_body *b, uint32_t loop)
{
    uint32_t parent = b->code->loops[b->function->first_loop + loop].parent;
    return parent == CODE_NONE ? CODE_NONE : parent - b->function->first_loop;
}

#define AROUND(b, loop, at)                                                                        \
    for (uint32_t at = (loop); at != CODE_NONE; at = machine_loop_around((b), at))

static void take_scope(void *data, uint32_t scope, const struct code_line *line)
{
    struct rows *r = data;
    (void)line;
    AROUND(r->body, r->loop, at)
    {
        struct machine_loop *loop = &r->body->loops[at];
        loop->scope =
            loop->scope == INLINED_NONE ? scope : meet(&r->body->inlined, loop->scope, scope);
    }
}

/* The line at which a row stands in a scope around it. */
static struct machine_place seen_from(const struct machine_body *b, uint32_t scope, uint32_t from,
                                      const struct code_line *line)
{
    const struct inlined *in = &b->inlined;
    if (scope == from || !in->scope_count)
        return (struct machine_place){.path = line->file, .line = line->line};
    while (in->scopes[scope].parent != from)
        scope = in->scopes[scope].parent;
    return (struct machine_place){.path = in->scopes[scope].call_path,
                                  .line = in->scopes[scope].call_line};
}

static void take_line(void *data, uint32_t scope, const struct code_line *line)
{
    struct rows *r = data;
    const struct machine_body *b = r->body;
    AROUND(b, r->loop, at)
    {
        struct machine_loop *loop = &r->body->loops[at];
        struct machine_place p = seen_from(b, scope, loop->scope, line);
        if (b->inlined.scope_count) {
            const struct inlined_procedure *in =
                inlined_procedure(b->reader, b->inlined.scopes[loop->scope].procedure);
            if (!p.path || (in->path && strcmp(in->path, p.path) != 0) || p.line < in->line)
                continue;
        }
        if (p.line && (!loop->line || p.line < loop->line))
            loop->line = p.line;
        if (p.line > loop->end_line)
            loop->end_line = p.line;
    }
}

static void all_rows(struct machine_body *b, machine_take *take)
{
    for (size_t i = 0; i < b->range_count; i++) {
        const struct code_range *range = &b->code->ranges[b->ranges[i]];
        struct rows rows = {.body = b, .loop = range->loop - b->function->first_loop};
        if (rows.loop < b->function->loop_count)
            machine_rows(b, range->start, range->end, take, &rows);
    }
}

void machine_loops(struct machine_body *b)
{
    for (uint32_t i = 0; i < b->function->loop_count; i++)
        b->loops[i] = (struct machine_loop){.scope = INLINED_NONE, .node = UINT32_MAX};
    all_rows(b, take_scope);
    for (uint32_t i = 0; i < b->function->loop_count; i++)
        if (b->loops[i].scope == INLINED_NONE)
            b->loops[i].scope =
                inlined_at(&b->inlined, b->code->loops[b->function->first_loop + i].header);
    all_rows(b, take_line);
}

uint32_t machine_loop_in(const struct machine_body *b, uint64_t address, uint32_t scope)
{
    uint32_t first = code_loop_at(b->code, address);
    if (first == CODE_NONE || first - b->function->first_loop >= b->function->loop_count)
        return CODE_NONE;
    AROUND(b, first - b->function->first_loop, at)
    if (b->loops[at].scope == scope)
        return at;
    return CODE_NONE;
}
