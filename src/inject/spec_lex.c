/* SPDX-License-Identifier: MIT */
#include "inject/spec_lex.h"

#include "base/alloc.h"
#include "base/options.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void spec_fail(struct spec_parser *p, const struct spec_token *at, const char *format, ...)
{
    if (p->failed)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(p->error->message, sizeof p->error->message, format, args);
    va_end(args);
    p->failed = true;
    p->error->line = at->line;
    p->error->column = at->column;
}

void spec_expected(struct spec_parser *p, const char *what)
{
    const struct spec_token *t = &p->token;
    if (t->kind == SPEC_T_END)
        spec_fail(p, t, "expected %s, but the text ends here", what);
    else
        spec_fail(p, t, "expected %s, not \"%.*s%s\"", what, (int)(t->length > 30 ? 30 : t->length),
                  t->start, t->length > 30 ? "..." : "");
}

static void step(struct spec_parser *p)
{
    if (*p->at == '\n') {
        p->line++;
        p->column = 0;
    }
    /* Columns are characters: the later bytes of one do not count. */
    if (((unsigned char)*p->at & 0xc0) != 0x80)
        p->column++;
    p->at++;
}

/* Blanks and comments; false: a comment does not end. */
static bool skip(struct spec_parser *p)
{
    for (;;) {
        if (isspace((unsigned char)*p->at)) {
            step(p);
        } else if (*p->at == '#' || (p->at[0] == '/' && p->at[1] == '/')) {
            while (*p->at && *p->at != '\n')
                step(p);
        } else if (p->at[0] == '/' && p->at[1] == '*') {
            step(p);
            do
                step(p);
            while (*p->at && !(p->at[0] == '*' && p->at[1] == '/'));
            if (!*p->at)
                return false;
            step(p);
            step(p);
        } else {
            return true;
        }
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Of a decimal the digits behind the point, as billionths. */
static void fraction(struct spec_parser *p)
{
    struct spec_token *t = &p->token;
    int64_t unit = 1000000000, value;
    t->kind = SPEC_T_DECIMAL;
    bool large = __builtin_mul_overflow(t->number, unit, &value);
    for (step(p); isdigit((unsigned char)*p->at); step(p)) {
        unit /= 10;
        large = large || __builtin_add_overflow(value, unit * (*p->at - '0'), &value);
    }
    if (large)
        t->kind = SPEC_T_LARGE;
    t->number = value;
}

static void number(struct spec_parser *p)
{
    struct spec_token *t = &p->token;
    t->kind = SPEC_T_NUMBER;
    int base = p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X') ? 16 : 10;
    if (base == 16) {
        step(p);
        step(p);
    }
    for (; base == 16 ? isxdigit((unsigned char)*p->at) : isdigit((unsigned char)*p->at); step(p)) {
        int c = tolower((unsigned char)*p->at);
        int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (__builtin_mul_overflow(t->number, base, &t->number) ||
            __builtin_add_overflow(t->number, digit, &t->number))
            t->kind = SPEC_T_LARGE;
    }
    if (base == 10 && *p->at == '.')
        fraction(p);
    if (is_word(*p->at) || (base == 16 && p->at == t->start + 2))
        t->kind = SPEC_T_MARK; /* no number, but perhaps the beginning of a name */
    while (is_word(*p->at))
        step(p);
}

void spec_next(struct spec_parser *p)
{
    static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||"};
    if (p->failed)
        return;
    struct spec_token before = p->token;
    bool ended = skip(p);
    p->token = (struct spec_token){.start = p->at, .line = p->line, .column = p->column};
    struct spec_token *t = &p->token;
    if (!ended) {
        spec_fail(p, &before, "a comment that begins behind this does not end");
    } else if (!*p->at) {
        t->kind = SPEC_T_END;
    } else if (isdigit((unsigned char)*p->at)) {
        number(p);
    } else if (is_word(*p->at)) {
        t->kind = SPEC_T_WORD;
        while (is_word(*p->at))
            step(p);
    } else {
        t->kind = SPEC_T_MARK;
        step(p);
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
            if (strncmp(t->start, pairs[i], 2) == 0) {
                step(p);
                break;
            }
        while (((unsigned char)*p->at & 0xc0) == 0x80)
            step(p); /* the rest of a character that is none of ours */
    }
    t->length = (size_t)(p->at - t->start);
}

bool spec_is(const struct spec_parser *p, const char *text)
{
    const struct spec_token *t = &p->token;
    return !p->failed && (t->kind == SPEC_T_WORD || t->kind == SPEC_T_MARK) &&
           t->length == strlen(text) && memcmp(t->start, text, t->length) == 0;
}

bool spec_accept(struct spec_parser *p, const char *text)
{
    if (!spec_is(p, text))
        return false;
    spec_next(p);
    return !p->failed;
}

bool spec_require(struct spec_parser *p, const char *text, const char *what)
{
    if (spec_accept(p, text))
        return true;
    spec_expected(p, what);
    return false;
}

static char *quoted(struct spec_parser *p)
{
    const char *start = p->at + 1;
    do
        step(p);
    while (*p->at && *p->at != '"' && *p->at != '\n');
    if (*p->at != '"') {
        spec_fail(p, &p->token, "a name in quotes does not end in this line");
        return NULL;
    }
    char *name = xasprintf("%.*s", (int)(p->at - start), start);
    step(p);
    return name;
}

static bool comment_begins(const char *at)
{
    return at[0] == '/' && (at[1] == '*' || at[1] == '/');
}

char *spec_pattern(struct spec_parser *p, const char *what, const char *stop)
{
    if (p->failed)
        return NULL;
    /* What was taken for a token is read again by the rules of names. */
    p->at = p->token.start;
    p->line = p->token.line;
    p->column = p->token.column;
    char *name = NULL;
    if (*p->at == '"') {
        name = quoted(p);
    } else {
        const char *start = p->at;
        while (*p->at && !isspace((unsigned char)*p->at) && !strchr("{};\"", *p->at) &&
               !strchr(stop, *p->at) && !comment_begins(p->at))
            step(p);
        name = xasprintf("%.*s", (int)(p->at - start), start);
    }
    if (name && !*name) {
        free(name);
        name = NULL;
        spec_expected(p, what);
    }
    spec_next(p);
    if (p->failed) {
        free(name);
        return NULL;
    }
    return name;
}

static void unknown_variable(struct spec_parser *p, const char *kind)
{
    const struct spec_token *t = &p->token;
    const char *near = NULL;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)t->length, t->start);
    for (size_t i = 0; i < p->spec->variable_count; i++)
        if (options_distance(name, p->spec->variables[i].name) <= 2)
            near = p->spec->variables[i].name;
    if (near)
        spec_fail(p, t, "%s is not declared; did you mean %.60s?", name, near);
    else
        spec_fail(p, t, "%s is not declared; declare it before: %s %s;", name, kind, name);
}

uint32_t spec_variable(struct spec_parser *p, bool timer)
{
    const char *kind = timer ? "timer" : "counter";
    const struct spec_token *t = &p->token;
    if (p->failed)
        return UINT32_MAX;
    if (t->kind != SPEC_T_WORD) {
        spec_expected(p, timer ? "the name of a timer" : "the name of a counter");
        return UINT32_MAX;
    }
    for (size_t i = 0; i < p->spec->variable_count; i++) {
        const struct spec_variable *v = &p->spec->variables[i];
        if (strlen(v->name) != t->length || memcmp(v->name, t->start, t->length) != 0)
            continue;
        if (v->timer != timer) {
            spec_fail(p, t, "%.60s is a %s; a %s is needed here", v->name,
                      v->timer ? "timer" : "counter", kind);
            return UINT32_MAX;
        }
        spec_next(p);
        return (uint32_t)i;
    }
    unknown_variable(p, kind);
    return UINT32_MAX;
}
