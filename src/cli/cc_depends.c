/* SPDX-License-Identifier: MIT */
/*
 * Files of dependencies (-MD, -MMD): the compiler writes one for what it has really read, and here
 * it is put in the words of the original command: without our header and probes, our names mapped
 * back, and broken into lines as the compiler does, so that the file is the same byte for byte.
 */
#include "cli/cc.h"

#include "base/path.h"
#include "base/strbuf.h"
#include "cli/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last dot of the file's name, or its end. */
static int stem(const char *path)
{
    const char *base = path_base(path), *dot = strrchr(base, '.');
    return (int)((dot ? dot : base + strlen(base)) - path);
}

const char *cc_depends_file(const struct cc_unit *unit)
{
    const struct cc_line *line = unit->line;
    const char *name = line->output ? line->output : path_base(unit->name);
    /* gcc names what belongs to one of several sources after the program too: a.out. */
    bool of_program = !unit->answer.clang && unit->answer.major >= 11 && !line->output &&
                      !line->compile_only && line->sources_count + line->inputs > 1;
    return line->depends_file ? line->depends_file
                              : cc_text("%s%.*s.d", of_program ? "a-" : "", stem(name), name);
}

const char *cc_depends_target(const struct cc_unit *unit)
{
    const char *base = path_base(unit->name);
    return unit->line->output ? unit->line->output : cc_text("%.*s.o", stem(base), base);
}

/* As make wants to read it. */
static const char *quoted(const char *name)
{
    struct strbuf text = {0};
    for (const char *p = name; *p; p++) {
        if (*p == ' ' || *p == '\t' || *p == '#')
            strbuf_putc(&text, '\\');
        if (*p == '$')
            strbuf_putc(&text, '$');
        strbuf_putc(&text, *p);
    }
    const char *kept = cc_text("%s", text.text ? text.text : "");
    strbuf_free(&text);
    return kept;
}

struct rule {
    const struct cc_unit *unit;
    struct cc_words targets, files, phony; /* as they are written, quoted */
};

/* Both compilers leave out "./" at the beginning. */
static const char *without_dot(const char *name)
{
    while (name[0] == '.' && name[1] == '/')
        for (name += 2; *name == '/';)
            name++;
    return name;
}

/* NULL: it is ours and nobody else's business. */
static const char *map_back(const struct cc_unit *unit, const char *name)
{
    if (strcmp(path_base(name), INSTALL_PROBE_HEADER) == 0)
        return NULL;
    if (strcmp(name, quoted(cc_text("%s/unit.h", unit->directory))) == 0)
        return NULL;
    for (size_t i = 0; i < unit->maps.count; i += 2) {
        const char *prefix = quoted(unit->maps.at[i]);
        size_t len = strlen(prefix);
        if (strncmp(name, prefix, len) == 0)
            return without_dot(cc_text("%s%s", quoted(unit->maps.at[i + 1]), name + len));
    }
    return name;
}

static void add_once(struct cc_words *words, const char *name)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->at[i], name) == 0)
            return;
    cc_add(words, name);
}

/* The next name, as written; a break of lines is a blank. */
static const char *next_name(char **text)
{
    char *p = *text;
    while (*p == ' ' || *p == '\t' || (p[0] == '\\' && p[1] == '\n'))
        p += *p == '\\' ? 2 : 1;
    char *begin = p;
    while (*p && *p != ' ' && *p != '\t' && *p != '\n') {
        if (p[0] == '\\' && p[1] == '\n')
            break;
        p += p[0] == '\\' && p[1] ? 2 : 1;
    }
    *text = p;
    return p > begin ? cc_text("%.*s", (int)(p - begin), begin) : NULL;
}

/* Line by line: the first rule has everything, the others are the phony targets of -MP. */
static void read_rules(struct rule *rule, char *text)
{
    bool first = true, targets = true;
    while (*text) {
        const char *name = next_name(&text);
        if (!name) {
            if (*text == '\n') {
                text++;
                first &= targets;
                targets = true;
            }
            continue;
        }
        size_t len = strlen(name);
        bool colon = targets && name[len - 1] == ':';
        if (colon)
            name = cc_text("%.*s", (int)len - 1, name);
        struct cc_words *to = !first ? &rule->phony : targets ? &rule->targets : &rule->files;
        const char *said = first && targets ? name : map_back(rule->unit, name);
        if (said && *said)
            add_once(to, said);
        if (colon)
            targets = false;
    }
}

/* gcc breaks before a name that would pass column 72. */
static void write_gcc(const struct rule *rule, struct strbuf *out)
{
    enum { COLUMNS = 72 };
    size_t column = 0;
    for (int part = 0; part < 2; part++) {
        const struct cc_words *words = part ? &rule->files : &rule->targets;
        for (size_t i = 0; i < words->count; i++) {
            size_t len = strlen(words->at[i]);
            if (column && column + len > COLUMNS) {
                strbuf_puts(out, " \\\n");
                column = 0;
            }
            if (column || part) {
                strbuf_putc(out, ' ');
                column++;
            }
            strbuf_puts(out, words->at[i]);
            column += len;
        }
        strbuf_puts(out, part ? "\n" : ":");
        column++;
    }
    for (size_t i = 0; i < rule->phony.count; i++)
        strbuf_printf(out, "%s:\n", rule->phony.at[i]);
}

/* clang leaves room for the backslash within 75 columns, and indents by two. */
static void write_clang(const struct rule *rule, struct strbuf *out)
{
    enum { COLUMNS = 75 };
    size_t column = 0;
    for (size_t i = 0; i < rule->targets.count; i++) {
        size_t len = strlen(rule->targets.at[i]);
        bool broken = column && column + len + 2 > COLUMNS;
        strbuf_puts(out, broken ? " \\\n  " : column ? " " : "");
        strbuf_puts(out, rule->targets.at[i]);
        column = broken ? len + 2 : column + len + (column > 0);
    }
    strbuf_putc(out, ':');
    column++;
    for (size_t i = 0; i < rule->files.count; i++) {
        size_t len = strlen(rule->files.at[i]);
        if (column + len + 3 > COLUMNS) {
            strbuf_puts(out, " \\\n ");
            column = 2;
        }
        strbuf_printf(out, " %s", rule->files.at[i]);
        column += len + 1;
    }
    strbuf_putc(out, '\n');
    for (size_t i = 0; i < rule->phony.count; i++)
        strbuf_printf(out, "\n%s:\n", rule->phony.at[i]);
}

void cc_depends_write(const struct cc_unit *unit, const char *from, const char *to)
{
    struct rule rule = {.unit = unit};
    struct strbuf out = {0};
    size_t size;
    char *text = cc_read(from, &size);
    if (!text)
        return;
    read_rules(&rule, text);
    if (unit->answer.clang)
        write_clang(&rule, &out);
    else
        write_gcc(&rule, &out);
    if (strcmp(to, "-") == 0)
        fwrite(out.text, 1, out.len, stdout);
    else
        cc_write(to, out.text, out.len);
    strbuf_free(&out);
    free(rule.targets.at);
    free(rule.files.at);
    free(rule.phony.at);
    free(text);
}
