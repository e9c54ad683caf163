/* SPDX-License-Identifier: MIT */
#include "view/program.h"

#include "base/alloc.h"
#include "base/json.h"
#include "view/table.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_FORMAT = 1, WIDTH = 100, DEPTH_SHOWN = 40 };

static const struct {
    const char *name;
    enum graph_kind parent, kind;
} tables[] = {
    {"T_pl", GRAPH_PROCEDURE, GRAPH_LOOP},       {"T_pcom", GRAPH_PROCEDURE, GRAPH_COMMUNICATION},
    {"T_pc", GRAPH_PROCEDURE, GRAPH_CALL},       {"T_ll", GRAPH_LOOP, GRAPH_LOOP},
    {"T_lcom", GRAPH_LOOP, GRAPH_COMMUNICATION}, {"T_lc", GRAPH_LOOP, GRAPH_CALL},
};
enum { TABLES = sizeof tables / sizeof *tables };

static bool in_table(const struct program *p, int table, uint32_t node)
{
    const struct program_node *n = &p->nodes[node];
    return n->kind == tables[table].kind && n->parent != GRAPH_NONE &&
           p->nodes[n->parent].kind == tables[table].parent;
}

/* The nodes to be shown, in their order. */
struct shown {
    const struct program *program;
    uint32_t *nodes;
    size_t count, procedures;
    bool *yes;    /* by node */
    bool several; /* files */
};

static struct shown choose(const struct program *p, const char *glob)
{
    struct shown s = {.program = p, .nodes = program_order(p)};
    const char *path = NULL;
    s.yes = xcalloc(p->count + 1, sizeof *s.yes);
    for (size_t i = 0; i < p->count; i++) {
        const struct program_node *n = &p->nodes[s.nodes[i]];
        bool procedure = n->parent == GRAPH_NONE;
        bool yes = procedure ? !glob || !fnmatch(glob, n->name, 0) ||
                                   (n->linkage && !fnmatch(glob, n->linkage, 0))
                             : s.yes[n->procedure];
        s.yes[s.nodes[i]] = yes;
        if (!yes)
            continue;
        s.procedures += procedure;
        s.several |= path && path != n->path;
        path = n->path;
        s.nodes[s.count++] = s.nodes[i];
    }
    return s;
}

static void shown_free(struct shown *s)
{
    free(s->nodes);
    free(s->yes);
}

static void put_text(struct strbuf *out, const char *text)
{
    table_text(out, text, INT_MAX);
}

static void put_line(struct strbuf *out, const struct program_node *n, bool file)
{
    if (!n->line) {
        put_text(out, n->name);
        return;
    }
    if (file) {
        put_text(out, n->file);
        strbuf_putc(out, ':');
    }
    strbuf_printf(out, "%u", n->line);
}

static void put_node(struct strbuf *out, const struct program *p, uint32_t node, bool probes)
{
    const struct program_node *n = &p->nodes[node];
    if (n->line)
        strbuf_printf(out, "%6u  ", n->line);
    else
        strbuf_puts(out, "        ");
    uint32_t at = n->parent;
    for (int depth = 0; at != GRAPH_NONE && depth < DEPTH_SHOWN; depth++, at = p->nodes[at].parent)
        strbuf_puts(out, "  ");
    strbuf_puts(out, graph_kind_name(n->kind));
    if (strcmp(n->name, graph_kind_name(n->kind)) != 0) { /* what kind of loop may not be known */
        strbuf_putc(out, ' ');
        put_text(out, n->name);
    }
    if (n->callee != GRAPH_NONE && p->nodes[n->callee].line) {
        strbuf_puts(out, " -> ");
        put_line(out, &p->nodes[n->callee], p->nodes[n->callee].path != n->path);
    }
    if (n->flags & UNIT_POINTER)
        strbuf_puts(out, " (through a pointer)");
    bool alone = n->kind == GRAPH_PROCEDURE || n->kind == GRAPH_LOOP;
    if (probes && alone && !n->probe)
        strbuf_puts(out, " (no probe)");
    strbuf_putc(out, '\n');
}

/* Entries side by side, in lines that people can read. */
static void put_table(struct strbuf *out, const struct shown *s, int table)
{
    const struct program *p = s->program;
    bool file = s->several;
    struct strbuf entry = {0};
    size_t begin = out->len;
    strbuf_puts(out, tables[table].name);
    for (size_t i = 0; i < s->count; i++) {
        const struct program_node *n = &p->nodes[s->nodes[i]];
        if (!in_table(p, table, s->nodes[i]))
            continue;
        strbuf_clear(&entry);
        strbuf_puts(&entry, " [");
        put_line(&entry, &p->nodes[n->parent], file);
        strbuf_putc(&entry, ' ');
        put_line(&entry, n, file);
        if (n->kind == GRAPH_CALL) {
            strbuf_putc(&entry, ' ');
            if (n->callee == GRAPH_NONE)
                put_text(&entry, n->name);
            else
                put_line(&entry, &p->nodes[n->callee], file);
        }
        strbuf_putc(&entry, ']');
        if (out->len - begin + entry.len > WIDTH && out->len - begin > 8) {
            strbuf_puts(out, "\n    ");
            begin = out->len - 4;
        }
        strbuf_add(out, entry.text, entry.len);
    }
    strbuf_putc(out, '\n');
    strbuf_free(&entry);
}

size_t view_program_text(const struct program *p, const char *glob, const char *from,
                         struct strbuf *out)
{
    struct shown s = choose(p, glob);
    const char *file = NULL;
    for (size_t i = 0; i < s.count; i++) {
        const struct program_node *n = &p->nodes[s.nodes[i]];
        if (n->kind == GRAPH_PROCEDURE && (!file || strcmp(file, n->file) != 0)) {
            file = n->file;
            put_text(out, file);
            strbuf_putc(out, '\n');
        }
        put_node(out, p, s.nodes[i], !strcmp(from, "source"));
    }
    strbuf_putc(out, '\n');
    for (int table = 0; table < TABLES; table++)
        put_table(out, &s, table);
    shown_free(&s);
    return s.procedures;
}

static void json_number(struct json *j, const char *key, uint32_t number)
{
    if (number == GRAPH_NONE)
        json_null(j, key);
    else
        json_uint(j, key, number);
}

/* The procedure that a call leads to, if it is shown. */
static uint32_t callee_of(const struct shown *s, const struct program_node *n)
{
    return n->callee != GRAPH_NONE && s->yes[n->callee] ? n->callee : GRAPH_NONE;
}

static void json_node(struct json *j, const struct shown *s, uint32_t node)
{
    const struct program *p = s->program;
    const struct program_node *n = &p->nodes[node];
    json_object_begin(j, NULL);
    json_uint(j, "id", node);
    json_number(j, "parent", n->parent);
    json_string(j, "kind", graph_kind_name(n->kind));
    json_string(j, "name", n->name);
    json_string(j, "file", n->file);
    json_string(j, "path", n->path);
    json_uint(j, "line", n->line);
    if (n->kind == GRAPH_PROCEDURE || n->kind == GRAPH_LOOP)
        json_uint(j, "end_line", n->end_line);
    json_string(j, "procedure", p->nodes[n->procedure].name);
    json_bool(j, "probe", n->probe);
    if (n->linkage)
        json_string(j, "linkage", n->linkage);
    if (n->kind == GRAPH_CALL) {
        json_number(j, "callee", callee_of(s, n));
        json_bool(j, "pointer", n->flags & UNIT_POINTER);
        json_bool(j, "system", n->flags & UNIT_SYSTEM);
    }
    if (n->flags & UNIT_MACRO)
        json_bool(j, "macro", true);
    json_object_end(j);
}

static void json_table(struct json *j, const struct shown *s, int table)
{
    const struct program *p = s->program;
    json_array_begin(j, tables[table].name);
    for (size_t i = 0; i < s->count; i++) {
        const struct program_node *n = &p->nodes[s->nodes[i]];
        if (!in_table(p, table, s->nodes[i]))
            continue;
        json_array_begin(j, NULL);
        json_uint(j, NULL, n->parent);
        json_uint(j, NULL, s->nodes[i]);
        if (n->kind == GRAPH_CALL)
            json_number(j, NULL, callee_of(s, n));
        json_array_end(j);
    }
    json_array_end(j);
}

size_t view_program_json(const struct program *p, const char *glob, const char *binary,
                         const char *from, struct strbuf *out)
{
    struct json j = {.out = out};
    struct shown s = choose(p, glob);
    json_object_begin(&j, NULL);
    json_object_begin(&j, "loupe");
    json_int(&j, "format", JSON_FORMAT);
    json_string(&j, "version", LOUPE_VERSION);
    json_object_end(&j);
    json_string(&j, "binary", binary);
    json_string(&j, "from", from);
    json_array_begin(&j, "graph");
    for (size_t i = 0; i < s.count; i++)
        json_node(&j, &s, s.nodes[i]);
    json_array_end(&j);
    json_object_begin(&j, "tables"); /* of the nodes' ids */
    for (int table = 0; table < TABLES; table++)
        json_table(&j, &s, table);
    json_object_end(&j);
    json_object_end(&j);
    strbuf_putc(out, '\n');
    shown_free(&s);
    return s.procedures;
}
