/* SPDX-License-Identifier: MIT */
#include "source/filter.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum block { OUTSIDE, REGIONS, FILES };

struct reader {
    struct filter *filter;
    enum block block;
    int line;
    bool ruled, exclude, mangled; /* a rule has begun; which; its patterns are for mangled names */
};

static bool is(const char *word, const char *expected)
{
    return !strcmp(word, expected);
}

static bool change_block(struct reader *r, const char *word)
{
    static const struct {
        const char *word;
        enum block from, to;
    } changes[] = {{"SCOREP_REGION_NAMES_BEGIN", OUTSIDE, REGIONS},
                   {"SCOREP_REGION_NAMES_END", REGIONS, OUTSIDE},
                   {"SCOREP_FILE_NAMES_BEGIN", OUTSIDE, FILES},
                   {"SCOREP_FILE_NAMES_END", FILES, OUTSIDE}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (is(word, changes[i].word) && r->block == changes[i].from) {
            r->block = changes[i].to;
            r->ruled = false;
            return true;
        }
    return false;
}

static char *read_word(struct reader *r, const char *word)
{
    if (change_block(r, word))
        return NULL;
    if (r->block != OUTSIDE && (is(word, "EXCLUDE") || is(word, "INCLUDE"))) {
        r->ruled = true;
        r->exclude = *word == 'E';
        r->mangled = false;
    } else if (r->block == REGIONS && r->ruled && is(word, "MANGLED")) {
        r->mangled = true;
    } else if (r->ruled) {
        *VEC_PUSH(r->filter->rules, r->filter->count, r->filter->room) =
            (struct filter_rule){.pattern = xstrdup(word),
                                 .file = r->block == FILES,
                                 .exclude = r->exclude,
                                 .mangled = r->mangled};
    } else {
        return xasprintf("line %d: \"%s\" is not expected here", r->line, word);
    }
    return NULL;
}

char *filter_parse(struct filter *filter, const char *text)
{
    struct reader r = {.filter = filter, .line = 1};
    char *error = NULL;
    while (*text && !error) {
        struct strbuf word = {0};
        if (*text == '#') {
            text += strcspn(text, "\n");
        } else if (isspace((unsigned char)*text)) {
            r.line += *text++ == '\n';
        } else {
            /* A backslash keeps its meaning for fnmatch, and keeps a blank in the word. */
            for (; *text && !isspace((unsigned char)*text); text++) {
                strbuf_putc(&word, *text);
                if (*text == '\\' && text[1])
                    strbuf_putc(&word, *++text);
            }
            error = word.text ? read_word(&r, word.text) : NULL;
        }
        strbuf_free(&word);
    }
    if (!error && r.block != OUTSIDE)
        error = xasprintf("line %d: a block has no end", r.line);
    return error;
}

char *filter_read(struct filter *filter, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return xasprintf("%s: %s", path, strerror(errno));
    struct strbuf text = {0};
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
        strbuf_add(&text, buffer, got);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    char *error =
        failed ? xstrdup("cannot be read") : filter_parse(filter, text.text ? text.text : "");
    strbuf_free(&text);
    if (!error)
        return NULL;
    char *message = xasprintf("%s: %s", path, error);
    free(error);
    return message;
}

void filter_free(struct filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        free(filter->rules[i].pattern);
    free(filter->rules);
    *filter = (struct filter){0};
}

static bool matches(const char *pattern, const char *name)
{
    return name && !fnmatch(pattern, name, 0);
}

bool filter_excludes_procedure(const struct filter *filter, const char *name, const char *signature,
                               const char *linkage)
{
    bool excluded = false;
    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_rule *rule = &filter->rules[i];
        if (!rule->file &&
            (rule->mangled ? matches(rule->pattern, linkage)
                           : matches(rule->pattern, name) || matches(rule->pattern, signature)))
            excluded = rule->exclude;
    }
    return excluded;
}

bool filter_excludes_file(const struct filter *filter, const char *path)
{
    bool excluded = false;
    for (size_t i = 0; i < filter->count; i++)
        if (filter->rules[i].file && matches(filter->rules[i].pattern, path))
            excluded = filter->rules[i].exclude;
    return excluded;
}
