/* SPDX-License-Identifier: MIT */
#include "source/place.h"

#include <string.h>

struct place place_of(struct source *source, CXCursor cursor)
{
    struct place p = {0};
    CXSourceRange extent = clang_getCursorExtent(cursor);
    CXSourceLocation start = clang_getRangeStart(extent), end = clang_getRangeEnd(extent);
    CXFile file, end_file;
    unsigned spelled_start, spelled_end;
    clang_getExpansionLocation(start, &file, NULL, NULL, &p.start);
    clang_getExpansionLocation(end, &end_file, NULL, NULL, &p.end);
    clang_getSpellingLocation(start, NULL, NULL, NULL, &spelled_start);
    clang_getSpellingLocation(end, NULL, NULL, NULL, &spelled_end);
    if (file && file == end_file)
        p.text = source_text(source, file);
    if (!p.text)
        return p;
    const struct range *m = text_macro_at(p.text, p.start);
    if (m || spelled_start != p.start) {
        p.start_macro = true;
        p.start = m ? m->start : p.start;
    }
    /* Inside a macro's argument the end is reported as the macro's beginning. */
    m = spelled_end != p.end || !p.end ? text_macro_at(p.text, p.end)
                                       : text_macro_at(p.text, p.end - 1);
    if (m || spelled_end != p.end) {
        p.end_macro = true;
        p.end = m ? m->end : p.end;
    }
    return p;
}

static bool has(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length) {
        bool begins = at == text || strchr(" (,\"", at[-1]);
        if (begins && (!at[length] || strchr(" (),\"", at[length])))
            return true;
    }
    return false;
}

static void note_pragma(struct pragmas *p, const char *pragma)
{
    static const char *const loops[] = {"for",      "simd", "loop",   "distribute",
                                        "taskloop", "tile", "unroll", NULL};
    static const char *const fixed[] = {"section",       "sections", "scan",   "declare",
                                        "threadprivate", "end",      "atomic", NULL};
    static const char *const hints[] = {"unroll", "nounroll", "ivdep", "clang",
                                        "simd",   "vector",   NULL};
    p->any = true;
    for (int i = 0; hints[i]; i++)
        p->hint = p->hint || has(pragma, hints[i]);
    if (!has(pragma, "omp"))
        return;
    for (int i = 0; loops[i]; i++)
        p->loop = p->loop || has(pragma, loops[i]);
    for (int i = 0; fixed[i]; i++)
        p->fixed = p->fixed || has(pragma, fixed[i]);
    p->nest = p->nest || has(pragma, "collapse") || has(pragma, "tile") || has(pragma, "ordered");
    p->atomic = p->atomic || has(pragma, "atomic");
}

/* _Pragma("...") before a token: the number of its first token, or TEXT_NONE. */
static uint32_t operator_before(const struct text *text, uint32_t token)
{
    if (!token || text->tokens[token - 1].kind != ')')
        return TEXT_NONE;
    uint32_t open = text->tokens[token - 1].match;
    return open != TEXT_NONE && open > 0 && text_is(text, open - 1, "_Pragma") ? open - 1
                                                                               : TEXT_NONE;
}

struct pragmas place_pragmas(const struct text *text, uint32_t token)
{
    struct pragmas p = {.from = token};
    for (;;) {
        size_t count, first = text_directives_before(text, p.from, &count);
        for (size_t i = first; i < first + count; i++)
            if (text->directives[i].pragma && !text->directives[i].skipped)
                note_pragma(&p, text->directives[i].pragma);
        uint32_t before = operator_before(text, p.from);
        if (before == TEXT_NONE)
            return p;
        char words[256] = "";
        const struct token *string = &text->tokens[before + 2];
        size_t length = string->end - string->start;
        if (length < sizeof words) {
            memcpy(words, text->bytes + string->start, length);
            words[length] = '\0';
        }
        note_pragma(&p, words);
        p.from = before;
    }
}

bool place_statement_end(const struct text *text, uint32_t end, uint32_t *out)
{
    uint32_t next = text_token_from(text, end);
    if (next < text->count && text->tokens[next].kind == ';' && !text->tokens[next].macro) {
        *out = text->tokens[next].end;
        return true;
    }
    uint32_t last = text_token_before(text, end);
    *out = end;
    return last != TEXT_NONE && !text->tokens[last].macro &&
           (text->tokens[last].kind == '}' || text->tokens[last].kind == ';');
}

/* Can a statement begin after this token? `)` and words are the statement's around it. */
static bool boundary(const struct text *text, uint32_t token, bool between)
{
    if (token >= text->count || text->tokens[token].macro)
        return false;
    char kind = text->tokens[token].kind;
    if (kind == ';' || kind == '{' || kind == '}')
        return true;
    return !between && (kind == ')' || kind == ':' || text_is(text, token, "else") ||
                        text_is(text, token, "do"));
}

/* What begins with a macro may be more than the statement: neither the one around it, nor the one
 * before it may come from the same macro. */
static bool begins_alone(const struct place *place, const struct spot *spot)
{
    return !place->start_macro || (spot->outer < place->start && spot->previous <= place->start);
}

static bool ends_alone(const struct place *place, const struct spot *spot)
{
    return !place->end_macro || spot->next >= place->end;
}

bool place_braces(const struct place *place, const struct spot *spot, bool loop, uint32_t *open,
                  uint32_t *close)
{
    const struct text *text = place->text;
    if (!text || !spot->braces || !begins_alone(place, spot) || !ends_alone(place, spot))
        return false;
    uint32_t token = text_token_at(text, place->start);
    uint32_t wrapper = spot->wrapper == TEXT_NONE ? token : text_token_at(text, spot->wrapper);
    if (wrapper != TEXT_NONE && loop)
        token = wrapper;
    if (token == TEXT_NONE || !token || !place_statement_end(text, place->end, close))
        return false;
    struct pragmas pragmas = place_pragmas(text, token);
    bool before = loop && pragmas.any;
    if (pragmas.atomic || (before && pragmas.fixed))
        return false;
    if (before)
        token = pragmas.from;
    if (!boundary(text, token - 1, before))
        return false;
    uint32_t last = text_token_before(text, *close);
    *open = before ? text->tokens[token - 1].end : text->tokens[token].start;
    return last != TEXT_NONE &&
           text->tokens[last].region == text->tokens[before ? token - 1 : token].region;
}

bool place_unevaluated(const struct text *text, uint32_t offset)
{
    static const char *const words[] = {"sizeof",
                                        "typeof",
                                        "__typeof__",
                                        "__typeof",
                                        "decltype",
                                        "noexcept",
                                        "alignof",
                                        "_Alignof",
                                        "__alignof__",
                                        "__alignof",
                                        "alignas",
                                        "_Alignas",
                                        "typeid",
                                        "static_assert",
                                        "_Static_assert",
                                        "requires",
                                        "_Generic",
                                        "asm",
                                        "__asm__",
                                        "__asm",
                                        "__attribute__",
                                        "__attribute",
                                        "explicit",
                                        "volatile",
                                        "__volatile__",
                                        "__builtin_constant_p",
                                        "__builtin_choose_expr",
                                        "__builtin_object_size",
                                        NULL};
    uint32_t token = text_token_at(text, offset);
    if (token == TEXT_NONE)
        return false;
    for (uint32_t open = text->tokens[token].inside; open != TEXT_NONE && open > 0;
         open = text->tokens[open].inside)
        for (int i = 0; text->tokens[open].kind == '(' && words[i]; i++)
            if (text_is(text, open - 1, words[i]))
                return true;
    return false;
}

uint32_t place_header_end(const struct place *place)
{
    const struct text *text = place->text;
    uint32_t token = text ? text_token_at(text, place->start) : TEXT_NONE;
    if (token == TEXT_NONE || place->start_macro)
        return 0;
    token++;
    if (text_is(text, token, "constexpr"))
        token++;
    if (token >= text->count || text->tokens[token].kind != '(' || text->tokens[token].macro ||
        text->tokens[token].match == TEXT_NONE)
        return 0;
    return text->tokens[text->tokens[token].match].end;
}
