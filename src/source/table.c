/* SPDX-License-Identifier: MIT */
/* The static tables of the unit, and the text that is included before the source. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "source/source.h"
#include "source/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void source_tables(const struct source *source, struct unit *unit)
{
    *unit = (struct unit){.id = source->id, .sites = source->sites};
    unit->directory = getcwd(NULL, 0);
    if (!unit->directory)
        unit->directory = xstrdup("/");
    unit->source = xstrdup(source->name);
    for (size_t i = 0; i < source->count; i++) {
        const struct construct *c = &source->constructs[i];
        unit_add(unit, &(struct unit_node){.kind = c->kind,
                                           .parent = c->parent,
                                           .site = c->site,
                                           .iterations = c->iterations,
                                           .file = unit_file(unit, c->file),
                                           .line = c->line,
                                           .end_line = c->end_line,
                                           .flags = c->flags,
                                           .name = c->name,
                                           .linkage = c->linkage});
    }
}

static enum loupe_site_kind kind_of(const struct construct *c)
{
    if (c->kind == GRAPH_PROCEDURE)
        return c->sole        ? LOUPE_SITE_SOLE
               : c->counted   ? LOUPE_SITE_COUNTED
               : c->recursive ? LOUPE_SITE_RECURSIVE
                              : LOUPE_SITE_PROCEDURE;
    if (c->kind == GRAPH_LOOP)
        return LOUPE_SITE_LOOP;
    if (c->flags & UNIT_POINTER)
        return LOUPE_SITE_POINTER;
    return c->statement ? LOUPE_SITE_STATEMENT : LOUPE_SITE_CALL;
}

static void put_site(struct strbuf *out, enum loupe_site_kind kind, uint64_t key)
{
    strbuf_printf(out, "%s \\\n    LOUPE_SITE(%d, 0x%014" PRIx64 "ull)",
                  out->text[out->len - 1] == ')' ? "," : "", (int)kind, key);
}

/* Sites are numbered in the order of the constructs. */
static void put_sites(const struct source *source, struct strbuf *out)
{
    strbuf_puts(out, "#define LOUPE_UNIT_TABLE");
    for (size_t i = 0; i < source->count; i++) {
        const struct construct *c = &source->constructs[i];
        if (c->site != GRAPH_NONE && !(c->kind == GRAPH_CALL && c->sole))
            put_site(out, kind_of(c), c->linkage ? unit_key(c->linkage) : 0);
        if (c->counts)
            put_site(out, LOUPE_SITE_ITERATION, 0);
    }
    strbuf_puts(out, "\n");
}

/* A line of the encoded unit, for the assembler and, once more, for the compiler. */
static void put_line(struct strbuf *out, const char *line, size_t length)
{
    strbuf_puts(out, "    \"\\t.ascii \\\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c == '"')
            strbuf_puts(out, "\\\\\\\"");
        else if (c == '\\')
            strbuf_puts(out, "\\\\\\\\");
        else if (c < ' ' || c >= 127 || c == '?')
            strbuf_printf(out, "\\\\%03o", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_puts(out, "\\\"\\n\"\n");
}

static void put_graph(const struct source *source, struct strbuf *out)
{
    struct unit unit;
    struct strbuf text = {0};
    source_tables(source, &unit);
    unit_encode(&unit, &text);
    strbuf_puts(out, "__asm__(\"\\t.pushsection " UNIT_SECTION ",\\\"\\\",@progbits\\n\"\n");
    for (const char *at = text.text, *end = at + text.len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline ? (size_t)(newline + 1 - at) : (size_t)(end - at);
        put_line(out, at, length);
        at += length;
    }
    strbuf_puts(out, "    \"\\t.popsection\\n\");\n");
    strbuf_free(&text);
    unit_free(&unit);
}

int source_write_unit(const struct source *source)
{
    struct strbuf out = {0};
    strbuf_puts(&out, "#pragma GCC system_header\n");
    if (source->sites) {
        strbuf_printf(&out, "#define LOUPE_UNIT_ID 0x%016" PRIx64 "ull\n", source->id);
        strbuf_printf(&out, "#define LOUPE_UNIT_SITES %" PRIu32 "\n", source->sites);
        put_sites(source, &out);
        strbuf_printf(&out, "#include \"%s\"\n", source->probe_header);
    }
    put_graph(source, &out);
    char *path = xasprintf("%s/unit.h", source->output);
    int error = write_file(path, out.text, out.len);
    free(path);
    strbuf_free(&out);
    return error;
}
