/* SPDX-License-Identifier: MIT */
/* Cuts a source file into tokens and directives. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "source/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct cutter {
    struct text *text;
    const char *at, *end;
    bool cplusplus;
    bool line_start; /* nothing but blanks so far in this line */
    uint32_t region, regions;
    uint32_t *outer; /* regions around the current one */
    size_t depth, depth_room;
    uint32_t *open; /* brackets not closed yet */
    size_t open_count, open_room;
    size_t next_skipped, next_macro;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The length of a backslash and line end at `at`; 0: there is none. */
static int splice(const struct cutter *c, const char *at)
{
    if (c->end - at >= 2 && at[0] == '\\' && at[1] == '\n')
        return 2;
    return c->end - at >= 3 && at[0] == '\\' && at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static char peek(const struct cutter *c, int ahead)
{
    return c->end - c->at > ahead ? c->at[ahead] : '\0';
}

static void skip_comment(struct cutter *c)
{
    if (c->at[1] == '/') {
        while (c->at < c->end && *c->at != '\n')
            c->at += splice(c, c->at) ? splice(c, c->at) : 1;
        return;
    }
    c->at += 2;
    while (c->at < c->end && !(*c->at == '*' && peek(c, 1) == '/'))
        c->at++;
    c->at += c->at < c->end ? 2 : 0;
}

static bool at_comment(const struct cutter *c)
{
    return *c->at == '/' && (peek(c, 1) == '/' || peek(c, 1) == '*');
}

static void skip_quoted(struct cutter *c)
{
    char quote = *c->at++;
    while (c->at < c->end && *c->at != quote && *c->at != '\n') {
        int length = splice(c, c->at);
        if (length)
            c->at += length;
        else
            c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
    }
    c->at += c->at < c->end && *c->at == quote;
}

/* R"mark( ... )mark", from the quote on. */
static void skip_raw(struct cutter *c)
{
    const char *open = memchr(c->at, '(', (size_t)(c->end - c->at));
    if (!open) {
        c->at = c->end;
        return;
    }
    size_t mark = (size_t)(open - c->at - 1);
    const char *name = c->at + 1;
    for (c->at = open + 1; c->at < c->end; c->at++)
        if (*c->at == ')' && (size_t)(c->end - c->at) > mark + 1 &&
            !memcmp(c->at + 1, name, mark) && c->at[mark + 1] == '"') {
            c->at += mark + 2;
            return;
        }
}

static void skip_word(struct cutter *c)
{
    for (;;) {
        int length = splice(c, c->at);
        if (c->at < c->end && is_word(*c->at))
            c->at++;
        else if (length && c->end - c->at > length && is_word(c->at[length]))
            c->at += length;
        else
            return;
    }
}

static void skip_number(struct cutter *c)
{
    while (c->at < c->end) {
        char before = *c->at;
        bool sign = strchr("eEpP", before) && (peek(c, 1) == '+' || peek(c, 1) == '-');
        bool apostrophe = c->cplusplus && before == '\'' && is_word(peek(c, 1));
        if (sign || apostrophe)
            c->at += 2;
        else if (is_word(before) || before == '.')
            c->at++;
        else if (splice(c, c->at) && is_word(peek(c, splice(c, c->at))))
            c->at += splice(c, c->at);
        else
            return;
    }
}

static bool raw_prefix(const struct cutter *c, const char *word)
{
    size_t length = (size_t)(c->at - word);
    static const char *const prefixes[] = {"R", "u8R", "uR", "UR", "LR"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strlen(prefixes[i]) == length && !memcmp(prefixes[i], word, length))
            return true;
    return false;
}

static uint32_t offset_of(const struct cutter *c, const char *at)
{
    return (uint32_t)(at - c->text->bytes);
}

static bool skipped(struct cutter *c, uint32_t offset)
{
    struct text *t = c->text;
    while (c->next_skipped < t->skipped_count && t->skipped[c->next_skipped].end <= offset)
        c->next_skipped++;
    return c->next_skipped < t->skipped_count && t->skipped[c->next_skipped].start <= offset;
}

static bool in_macro(struct cutter *c, uint32_t offset)
{
    struct text *t = c->text;
    while (c->next_macro < t->macro_count && t->macros[c->next_macro].end <= offset)
        c->next_macro++;
    return c->next_macro < t->macro_count && t->macros[c->next_macro].start <= offset;
}

static void close_bracket(struct cutter *c, uint32_t token)
{
    struct token *t = c->text->tokens;
    char opening = t[token].kind == ')' ? '(' : t[token].kind == ']' ? '[' : '{';
    /* A macro may hide brackets: what does not fit has no match. */
    for (size_t i = c->open_count; i-- > 0;)
        if (t[c->open[i]].kind == opening) {
            t[token].match = c->open[i];
            t[c->open[i]].match = token;
            c->open_count = i;
            t[token].inside = i ? c->open[i - 1] : TEXT_NONE;
            return;
        }
}

static void add_token(struct cutter *c, const char *start, char kind)
{
    struct text *text = c->text;
    uint32_t offset = offset_of(c, start);
    if (skipped(c, offset))
        return;
    uint32_t number = (uint32_t)text->count;
    *VEC_PUSH(text->tokens, text->count, text->room) =
        (struct token){.start = offset,
                       .end = offset_of(c, c->at),
                       .region = c->region,
                       .match = TEXT_NONE,
                       .inside = c->open_count ? c->open[c->open_count - 1] : TEXT_NONE,
                       .kind = kind,
                       .macro = in_macro(c, offset)};
    if (kind == '(' || kind == '[' || kind == '{')
        *VEC_PUSH(c->open, c->open_count, c->open_room) = number;
    else if (kind == ')' || kind == ']' || kind == '}')
        close_bracket(c, number);
}

static void enter_region(struct cutter *c, const char *word, size_t length)
{
    if (length >= 2 && !strncmp(word, "if", 2)) {
        *VEC_PUSH(c->outer, c->depth, c->depth_room) = c->region;
        c->region = ++c->regions;
    } else if (length >= 2 && !strncmp(word, "el", 2)) {
        c->region = ++c->regions;
    } else if (length == 5 && !strncmp(word, "endif", 5) && c->depth) {
        c->region = c->outer[--c->depth];
    }
}

/* The words of a directive, one blank between them, comments left out. */
static char *words(struct cutter *c)
{
    struct strbuf out = {0};
    while (c->at < c->end && *c->at != '\n') {
        int length = splice(c, c->at);
        const char *from = c->at;
        if (length || isspace((unsigned char)*c->at) || at_comment(c)) {
            if (at_comment(c))
                skip_comment(c);
            else
                c->at += length ? length : 1;
            if (out.len && out.text[out.len - 1] != ' ')
                strbuf_putc(&out, ' ');
            continue;
        }
        if (*c->at == '"' || *c->at == '\'')
            skip_quoted(c);
        else
            c->at++;
        strbuf_add(&out, from, (size_t)(c->at - from));
    }
    return strbuf_take(&out);
}

static void cut_directive(struct cutter *c)
{
    const char *start = c->at++;
    char *all = words(c);
    const char *word = all + strspn(all, " ");
    size_t length = strcspn(word, " (\"<");
    uint32_t offset = offset_of(c, start);
    struct text *text = c->text;
    struct directive *d = VEC_PUSH(text->directives, text->directive_count, text->directive_room);
    *d = (struct directive){.start = offset,
                            .end = offset_of(c, c->at),
                            .token = (uint32_t)text->count,
                            .skipped = skipped(c, offset)};
    if (length == 6 && !strncmp(word, "pragma", 6))
        d->pragma = xstrdup(word + 6 + strspn(word + 6, " "));
    enter_region(c, word, length);
    free(all);
}

static void cut_one(struct cutter *c)
{
    const char *start = c->at;
    char first = *start;
    if (is_word(first) && !isdigit((unsigned char)first)) {
        skip_word(c);
        if (peek(c, 0) == '"' && c->cplusplus && raw_prefix(c, start)) {
            skip_raw(c);
            first = '"';
        }
        add_token(c, start, first == '"' ? TOKEN_STRING : TOKEN_WORD);
    } else if (isdigit((unsigned char)first) ||
               (first == '.' && isdigit((unsigned char)peek(c, 1)))) {
        skip_number(c);
        add_token(c, start, TOKEN_NUMBER);
    } else if (first == '"' || first == '\'') {
        skip_quoted(c);
        add_token(c, start, TOKEN_STRING);
    } else {
        c->at++;
        add_token(c, start, first);
    }
}

void text_cut(struct text *text, bool cplusplus)
{
    if (text->cut)
        return;
    text->cut = true;
    struct cutter c = {.text = text,
                       .at = text->bytes,
                       .end = text->bytes + text->length,
                       .cplusplus = cplusplus,
                       .line_start = true};
    if (text->length >= 3 && !memcmp(text->bytes, "\xef\xbb\xbf", 3))
        c.at += 3;
    while (c.at < c.end) {
        int length = splice(&c, c.at);
        if (length) {
            c.at += length;
        } else if (*c.at == '\n') {
            c.line_start = true;
            c.at++;
        } else if (isspace((unsigned char)*c.at) || !*c.at) {
            c.at++;
        } else if (at_comment(&c)) {
            skip_comment(&c);
        } else if (*c.at == '#' && c.line_start) {
            cut_directive(&c);
        } else {
            c.line_start = false;
            cut_one(&c);
        }
    }
    free(c.outer);
    free(c.open);
}
