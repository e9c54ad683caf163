/* SPDX-License-Identifier: MIT */
#include "graph/unit.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "loupe-unit ";
static const struct {
    char letter;
    enum graph_kind kind;
} letters[] = {
    {'p', GRAPH_PROCEDURE}, {'l', GRAPH_LOOP}, {'c', GRAPH_CALL}, {'m', GRAPH_COMMUNICATION}};
enum { LETTERS = sizeof letters / sizeof *letters };

uint32_t unit_file(struct unit *unit, const char *path)
{
    for (size_t i = unit->file_count; i-- > 0;)
        if (!strcmp(unit->files[i], path))
            return (uint32_t)i;
    *VEC_PUSH(unit->files, unit->file_count, unit->file_room) = xstrdup(path);
    return (uint32_t)(unit->file_count - 1);
}

uint32_t unit_add(struct unit *unit, const struct unit_node *node)
{
    struct unit_node *n = VEC_PUSH(unit->nodes, unit->count, unit->room);
    *n = *node;
    n->name = xstrdup(node->name ? node->name : "");
    n->linkage = node->linkage ? xstrdup(node->linkage) : NULL;
    return (uint32_t)(unit->count - 1);
}

void unit_free(struct unit *unit)
{
    for (size_t i = 0; i < unit->file_count; i++)
        free(unit->files[i]);
    for (size_t i = 0; i < unit->count; i++) {
        free(unit->nodes[i].name);
        free(unit->nodes[i].linkage);
    }
    free(unit->files);
    free(unit->nodes);
    free(unit->directory);
    free(unit->source);
    *unit = (struct unit){0};
}

uint64_t unit_key(const char *linkage)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = linkage; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    hash &= ((uint64_t)1 << 56) - 1;
    return hash ? hash : 1; /* 0 stands for a procedure that is not known */
}

static void put_text(struct strbuf *out, const char *text)
{
    strbuf_puts(out, "\t");
    for (const char *c = text ? text : "-"; *c; c++) {
        if (*c == '\t')
            strbuf_puts(out, "\\t");
        else if (*c == '\n')
            strbuf_puts(out, "\\n");
        else if (*c == '\\')
            strbuf_puts(out, "\\\\");
        else
            strbuf_putc(out, *c);
    }
}

static void put_number(struct strbuf *out, uint32_t number)
{
    if (number == GRAPH_NONE)
        strbuf_puts(out, "\t-");
    else
        strbuf_printf(out, "\t%" PRIu32, number);
}

static void put_node(struct strbuf *out, const struct unit_node *n)
{
    for (int i = 0; i < LETTERS; i++)
        if (letters[i].kind == n->kind)
            strbuf_putc(out, letters[i].letter);
    put_number(out, n->parent);
    put_number(out, n->site);
    put_number(out, n->iterations);
    put_number(out, n->file);
    put_number(out, n->line);
    put_number(out, n->end_line);
    put_number(out, n->flags);
    put_text(out, n->name);
    put_text(out, n->linkage);
    strbuf_puts(out, "\n");
}

bool unit_communication(const char *name)
{
    name += *name == 'P';
    return !strncmp(name, "MPI_", 4) && isupper((unsigned char)name[4]) &&
           (islower((unsigned char)name[5]) || name[5] == '_');
}

void unit_encode(const struct unit *unit, struct strbuf *out)
{
    struct strbuf body = {0};
    strbuf_puts(&body, "d");
    put_text(&body, unit->directory);
    put_text(&body, unit->source);
    strbuf_puts(&body, "\n");
    for (size_t i = 0; i < unit->file_count; i++) {
        strbuf_puts(&body, "f");
        put_text(&body, unit->files[i]);
        strbuf_puts(&body, "\n");
    }
    for (size_t i = 0; i < unit->count; i++)
        put_node(&body, &unit->nodes[i]);
    strbuf_printf(out, "%s%d %016" PRIx64 " %" PRIu32 " %zu\n", magic, UNIT_FORMAT, unit->id,
                  unit->sites, body.len);
    strbuf_add(out, body.text, body.len);
    strbuf_free(&body);
}

/* What is left of the text; every step checks that it is there. */
struct cursor {
    const char *at, *end;
};

/* The next field of a line, with its escapes resolved; NULL if the line has no more. */
static char *take_text(struct cursor *c)
{
    if (c->at == c->end || *c->at != '\t')
        return NULL;
    const char *from = ++c->at;
    while (c->at < c->end && *c->at != '\t' && *c->at != '\n')
        c->at++;
    char *text = xcalloc((size_t)(c->at - from) + 1, 1), *to = text;
    for (; from < c->at; from++) {
        if (*from == '\\' && from + 1 < c->at) {
            from++;
            *to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
        } else {
            *to++ = *from;
        }
    }
    return text;
}

static bool take_number(struct cursor *c, uint32_t *number)
{
    if (c->end - c->at < 2 || *c->at != '\t')
        return false;
    if (*++c->at == '-') {
        *number = GRAPH_NONE;
        c->at++;
        return true;
    }
    uint64_t value = 0;
    const char *from = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && value < GRAPH_NONE; c->at++)
        value = value * 10 + (uint64_t)(*c->at - '0');
    *number = (uint32_t)value;
    return c->at > from && value < GRAPH_NONE;
}

static bool take_end(struct cursor *c)
{
    return c->at < c->end && *c->at++ == '\n';
}

static bool sound(const struct unit *unit, const struct unit_node *n)
{
    bool inside = n->kind == GRAPH_PROCEDURE ? n->parent == GRAPH_NONE : n->parent < unit->count;
    return inside && (n->site < unit->sites || n->site == GRAPH_NONE) &&
           (n->iterations < unit->sites || n->iterations == GRAPH_NONE) &&
           n->file < unit->file_count && n->line != GRAPH_NONE && n->end_line != GRAPH_NONE &&
           n->flags != GRAPH_NONE;
}

static bool take_node(struct cursor *c, struct unit *unit, enum graph_kind kind)
{
    struct unit_node n = {.kind = kind};
    bool good = take_number(c, &n.parent) && take_number(c, &n.site) &&
                take_number(c, &n.iterations) && take_number(c, &n.file) &&
                take_number(c, &n.line) && take_number(c, &n.end_line) && take_number(c, &n.flags);
    n.name = good ? take_text(c) : NULL;
    n.linkage = n.name ? take_text(c) : NULL;
    good = n.linkage && take_end(c) && sound(unit, &n);
    if (good && !strcmp(n.linkage, "-")) {
        free(n.linkage);
        n.linkage = NULL;
    }
    if (good)
        *VEC_PUSH(unit->nodes, unit->count, unit->room) = n;
    else {
        free(n.name);
        free(n.linkage);
    }
    return good;
}

static bool take_line(struct cursor *c, struct unit *unit)
{
    char letter = *c->at++;
    if (letter == 'd' && !unit->directory) {
        unit->directory = take_text(c);
        unit->source = unit->directory ? take_text(c) : NULL;
        return unit->source && take_end(c);
    }
    if (letter == 'f') {
        char *path = take_text(c);
        if (path)
            *VEC_PUSH(unit->files, unit->file_count, unit->file_room) = path;
        return path && take_end(c);
    }
    for (int i = 0; i < LETTERS; i++)
        if (letters[i].letter == letter)
            return take_node(c, unit, letters[i].kind);
    return false;
}

/* The first line; the block's text is what `c` holds afterwards. */
static int take_head(struct cursor *c, struct unit *unit)
{
    char line[96];
    size_t room = (size_t)(c->end - c->at);
    const char *newline = memchr(c->at, '\n', room < sizeof line ? room : sizeof line);
    if (!newline)
        return -EPROTO;
    memcpy(line, c->at, (size_t)(newline - c->at));
    line[newline - c->at] = '\0';
    int format, end = 0;
    size_t bytes;
    if (strncmp(line, magic, sizeof magic - 1) ||
        sscanf(line + sizeof magic - 1, "%d %" SCNx64 " %" SCNu32 " %zu%n", &format, &unit->id,
               &unit->sites, &bytes, &end) != 4 ||
        line[sizeof magic - 1 + (size_t)end])
        return -EPROTO;
    if (format != UNIT_FORMAT)
        return -ENOTSUP;
    c->at = newline + 1;
    if (bytes > (size_t)(c->end - c->at))
        return -EPROTO;
    c->end = c->at + bytes;
    return 0;
}

int unit_decode(const char *text, size_t length, struct unit *unit, size_t *used)
{
    struct cursor c = {text, text + length};
    *unit = (struct unit){0};
    *used = length;
    while (c.at < c.end && !*c.at)
        c.at++;
    if (c.at == c.end)
        return -ENODATA;
    int error = take_head(&c, unit);
    while (!error && c.at < c.end)
        error = take_line(&c, unit) ? 0 : -EPROTO;
    if (!error && !unit->directory)
        error = -EPROTO;
    if (error)
        unit_free(unit);
    else
        *used = (size_t)(c.end - text);
    return error;
}
