/* SPDX-License-Identifier: MIT */
/*
 * The result in one piece of memory: head, functions, points, loops, ranges of loops, spans, text.
 * In the file of the cache a pointer is an offset into the text, and 0 is NULL; attaching checks
 * every number, as the file may be damaged.
 */
#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "binary/code_inner.h"
#include "binary/symbols.h"

#include <stdlib.h>
#include <string.h>

struct span { /* a part of a function */
    uint64_t start, end;
    uint64_t function;
};

struct head {
    uint64_t functions, points, loops, ranges, spans, text; /* how many of each */
    uint64_t stripped;
    char build_id[72];
};

struct attached {
    struct code code; /* first: it is what users see */
    struct span *spans;
    size_t span_count;
    uint8_t *bytes;
};

struct maker {
    struct code_file *file;
    struct strbuf text;
    struct map known;
    const char **keys; /* by number in `known` */
    uint64_t *offsets;
    size_t count, room, offset_room;
    uint32_t *function_of; /* by part */
};

static bool same(const void *key, uint32_t value, const void *data)
{
    const struct maker *m = data;
    return !strcmp(key, m->text.text + m->offsets[value]);
}

/* Offsets into the text stand where pointers will. */
static const char *keep(struct maker *m, const char *text)
{
    if (!text)
        return NULL;
    uint64_t hash = map_hash(MAP_SEED, text, strlen(text));
    uint32_t known = map_find(&m->known, hash, same, text, m);
    if (known != MAP_NONE)
        return (const char *)(uintptr_t)m->offsets[known]; // NOLINT(performance-no-int-to-ptr)
    uint64_t offset = m->text.len;
    strbuf_add(&m->text, text, strlen(text) + 1);
    map_add(&m->known, hash, (uint32_t)m->count);
    *VEC_PUSH(m->offsets, m->count, m->offset_room) = offset;
    return (const char *)(uintptr_t)offset; // NOLINT(performance-no-int-to-ptr)
}

static const char *keep_aliases(struct maker *m, const char **aliases)
{
    struct strbuf all = {0};
    for (size_t i = 0; aliases && aliases[i]; i++)
        strbuf_printf(&all, "%s%s", i ? "\n" : "", aliases[i]);
    const char *kept = all.len ? keep(m, all.text) : NULL;
    strbuf_free(&all);
    return kept;
}

static bool is_function(const struct code_file *file, uint32_t part)
{
    return file->parts[part].owner == PART_NONE && file->parts[part].end > file->parts[part].start;
}

/* Is the loop that one, or in it? */
static bool within(const struct code_body *body, uint32_t loop, uint32_t outer)
{
    while (loop != outer && loop != CODE_NONE)
        loop = body->loops[loop].parent;
    return loop == outer;
}

/* The lines of a loop: those of its blocks in the file of its header, not before the procedure
 * (what is before was inlined from there). */
static void set_loop_lines(struct maker *m, struct code_loop *loop, const struct code_body *body,
                           uint32_t number, const struct code_lines *lines, uint32_t least)
{
    const struct code_line *at = lines_at(lines, loop->header);
    const char *file = at ? at->file : NULL;
    for (size_t i = 0; i < body->range_count && file; i++) {
        if (!within(body, body->ranges[i].loop, number))
            continue;
        at = lines_at(lines, body->ranges[i].start);
        for (; at && at->address < body->ranges[i].end; at = lines_after(lines, at)) {
            if (at->file != file || !at->line || at->line < least)
                continue;
            if (!loop->line || at->line < loop->line)
                loop->line = at->line;
            if (at->line > loop->end_line)
                loop->end_line = at->line;
        }
    }
    loop->file = keep(m, file);
}

static void make_function(struct maker *m, uint32_t part, struct code_function *f,
                          struct code_point **points, struct code_loop **loops,
                          const struct head *done, const struct code_lines *lines)
{
    const struct code_part *p = &m->file->parts[part];
    const struct code_body *body = &m->file->bodies[part];
    const struct code_line *line = lines_at(lines, p->start);
    char *pretty = symbols_readable(p->name);
    *f = (struct code_function){
        .name = keep(m, p->name),
        .pretty = keep(m, pretty),
        .aliases = keep_aliases(m, p->aliases),
        .start = p->start,
        .end = p->end,
        .file = keep(m, line ? line->file : NULL),
        .line = line ? line->line : 0,
        .first_point = (uint32_t)done->points,
        .point_count = (uint32_t)body->point_count,
        .first_loop = (uint32_t)done->loops,
        .loop_count = (uint32_t)body->loop_count,
        .whole = body->whole,
        .returns = body->returns,
        .indirect = p->indirect_function,
        .why = keep(m, p->indirect_function
                           ? "which code does it is chosen when the program starts (ifunc)"
                       : p->signal ? "the way back from signals must not be changed"
                                   : body->why),
    };
    free(pretty);
    for (size_t i = 0; i < body->loop_count; i++) {
        struct code_loop *loop = (*loops)++;
        *loop = body->loops[i];
        loop->function = m->function_of[part];
        if (loop->parent != CODE_NONE)
            loop->parent += (uint32_t)done->loops;
        if (lines)
            set_loop_lines(m, loop, body, (uint32_t)i, lines, f->line);
    }
    for (size_t i = 0; i < body->point_count; i++) {
        struct code_point *point = (*points)++;
        *point = body->points[i];
        point->function = m->function_of[part];
        if (point->callee != CODE_NONE)
            point->callee = m->function_of[point->callee];
        if (point->loop != CODE_NONE)
            point->loop += (uint32_t)done->loops;
        point->callee_name = keep(m, point->callee_name);
        point->why = keep(m, point->why);
    }
}

static size_t size_of(const struct head *h)
{
    return sizeof *h + h->functions * sizeof(struct code_function) +
           h->points * sizeof(struct code_point) + h->loops * sizeof(struct code_loop) +
           h->ranges * sizeof(struct code_range) + h->spans * sizeof(struct span) + h->text;
}

static void count_all(struct maker *m, struct head *h)
{
    for (uint32_t i = 0; i < m->file->part_count; i++) {
        m->function_of[i] = is_function(m->file, i) ? (uint32_t)h->functions++ : CODE_NONE;
        if (m->function_of[i] == CODE_NONE)
            continue;
        h->points += m->file->bodies[i].point_count;
        h->loops += m->file->bodies[i].loop_count;
        h->ranges += m->file->bodies[i].range_count;
    }
    for (uint32_t i = 0; i < m->file->part_count; i++)
        if (m->file->parts[i].owner != PART_NONE)
            m->function_of[i] = m->function_of[m->file->parts[i].owner];
    h->spans = m->file->part_count;
}

static int compare_ranges(const void *pa, const void *pb)
{
    const struct code_range *a = pa, *b = pb;
    return a->start < b->start ? -1 : a->start > b->start;
}

void image_make(struct code_image *image, struct code_file *file, const struct code_lines *lines,
                const char *build_id)
{
    struct maker m = {.file = file};
    struct head h = {0}, done = {0};
    m.function_of = xcalloc(file->part_count, sizeof *m.function_of);
    strbuf_add(&m.text, "", 1);
    count_all(&m, &h);
    size_t fixed = size_of(&h);
    uint8_t *bytes = xcalloc(fixed, 1);
    struct code_function *functions = (void *)(bytes + sizeof h);
    struct code_point *points = (void *)(functions + h.functions);
    struct code_loop *loops = (void *)(points + h.points);
    struct code_range *ranges = (void *)(loops + h.loops);
    struct span *spans = (void *)(ranges + h.ranges);
    for (uint32_t i = 0; i < file->part_count; i++) {
        spans[i] = (struct span){
            .start = file->parts[i].start, .end = file->parts[i].end, .function = m.function_of[i]};
        if (!is_function(file, i))
            continue;
        make_function(&m, i, &functions[done.functions++], &points, &loops, &done, lines);
        for (size_t k = 0; k < file->bodies[i].range_count; k++) {
            ranges[done.ranges] = file->bodies[i].ranges[k];
            ranges[done.ranges++].loop += (uint32_t)done.loops;
        }
        done.points += file->bodies[i].point_count;
        done.loops += file->bodies[i].loop_count;
    }
    if (h.ranges) /* cold parts stand elsewhere */
        qsort(ranges, h.ranges, sizeof *ranges, compare_ranges);
    h.text = m.text.len;
    h.stripped = !module_has_symbols(&file->module);
    strncpy(h.build_id, build_id, sizeof h.build_id - 1);
    memcpy(bytes, &h, sizeof h);
    bytes = xrealloc(bytes, fixed + m.text.len, 1);
    memcpy(bytes + fixed, m.text.text, m.text.len);
    *image = (struct code_image){.bytes = bytes, .size = fixed + m.text.len};
    strbuf_free(&m.text);
    map_free(&m.known);
    free(m.offsets);
    free(m.function_of);
}

/* An offset becomes a pointer. */
static bool point_at(const char **text, const char *all, uint64_t size)
{
    uint64_t offset = (uint64_t)(uintptr_t)*text;
    *text = offset ? all + offset : NULL;
    return offset < size;
}

static bool right_functions(const struct code *c, const char *text, uint64_t size)
{
    uint64_t before = 0;
    for (size_t i = 0; i < c->function_count; i++) {
        struct code_function *f = &c->functions[i];
        if (!point_at(&f->name, text, size) || !point_at(&f->pretty, text, size) ||
            !point_at(&f->aliases, text, size) || !point_at(&f->file, text, size) ||
            !point_at(&f->why, text, size) || !f->name || !f->pretty || f->start < before ||
            f->end < f->start || f->first_point > c->point_count ||
            f->point_count > c->point_count - f->first_point || f->first_loop > c->loop_count ||
            f->loop_count > c->loop_count - f->first_loop)
            return false;
        before = f->start;
    }
    return true;
}

static bool right_window(const struct code_point *p)
{
    uint8_t least = p->way == CODE_JUMP ? CODE_JUMP_BYTES : p->way == CODE_SHORT ? 2 : 0;
    bool relay = p->relay_bytes == CODE_JUMP_BYTES ||
                 (p->relay_bytes >= 2 * CODE_JUMP_BYTES && p->relay_bytes <= CODE_WINDOW_MOST);
    if (p->window_bytes > CODE_WINDOW_MOST || p->window_bytes < least)
        return false;
    return !least || (p->address - p->window < p->window_bytes && relay == (p->way == CODE_SHORT));
}

/* Loops around it are of the same function, and there is an end of them. */
static bool right_parents(const struct code *c, const struct code_loop *l)
{
    const struct code_function *f = &c->functions[l->function];
    uint32_t steps = 0;
    for (uint32_t at = l->parent; at != CODE_NONE; at = c->loops[at].parent)
        if (at < f->first_loop || at - f->first_loop >= f->loop_count || ++steps > f->loop_count)
            return false;
    return true;
}

static bool right_points(const struct code *c, const char *text, uint64_t size)
{
    for (size_t i = 0; i < c->point_count; i++) {
        struct code_point *p = &c->points[i];
        if (!point_at(&p->callee_name, text, size) || !point_at(&p->why, text, size) ||
            p->kind >= CODE_KINDS || p->way > CODE_NEVER || p->function >= c->function_count ||
            (p->callee != CODE_NONE && p->callee >= c->function_count) ||
            (p->loop != CODE_NONE && p->loop >= c->loop_count) || p->window > p->address ||
            !right_window(p))
            return false;
    }
    for (size_t i = 0; i < c->loop_count; i++) {
        struct code_loop *l = &c->loops[i];
        if (!point_at(&l->file, text, size) || l->function >= c->function_count ||
            !right_parents(c, l))
            return false;
    }
    for (size_t i = 0; i < c->range_count; i++)
        if (c->ranges[i].loop >= c->loop_count)
            return false;
    return true;
}

static bool right_sizes(const struct head *h, size_t size)
{
    return h->functions <= size && h->points <= size && h->loops <= size && h->ranges <= size &&
           h->spans <= size && h->functions < CODE_NONE && h->points < CODE_NONE &&
           h->loops < CODE_NONE && h->text <= size && size_of(h) == size && h->text &&
           !h->build_id[64];
}

struct code *image_attach(struct code_image *image)
{
    struct head h;
    struct attached *a = xcalloc(1, sizeof *a);
    struct code *c = &a->code;
    a->bytes = image->bytes;
    if (image->size < sizeof h)
        goto damaged;
    memcpy(&h, image->bytes, sizeof h);
    if (!right_sizes(&h, image->size) || image->bytes[image->size - 1])
        goto damaged;
    c->functions = (void *)(image->bytes + sizeof h);
    c->function_count = h.functions;
    c->points = (void *)(c->functions + h.functions);
    c->point_count = h.points;
    c->loops = (void *)(c->points + h.points);
    c->loop_count = h.loops;
    c->ranges = (void *)(c->loops + h.loops);
    c->range_count = h.ranges;
    a->spans = (void *)(c->ranges + h.ranges);
    a->span_count = h.spans;
    c->stripped = h.stripped;
    memcpy(c->build_id, h.build_id, sizeof c->build_id);
    const char *text = (const char *)(a->spans + h.spans);
    if (!right_functions(c, text, h.text) || !right_points(c, text, h.text))
        goto damaged;
    return c;
damaged:
    free(a->bytes);
    free(a);
    return NULL;
}

void code_close(struct code *code)
{
    if (!code)
        return;
    struct attached *a = (struct attached *)code;
    free(a->bytes);
    free(a);
}

const struct code_function *code_at(const struct code *code, uint64_t address)
{
    const struct attached *a = (const struct attached *)code;
    size_t low = 0, high = a->span_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (a->spans[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address >= a->spans[low - 1].end ||
        a->spans[low - 1].function >= code->function_count)
        return NULL;
    return &code->functions[a->spans[low - 1].function];
}

uint32_t code_loop_at(const struct code *code, uint64_t address)
{
    size_t low = 0, high = code->range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < code->ranges[low - 1].end ? code->ranges[low - 1].loop : CODE_NONE;
}
