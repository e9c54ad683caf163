/* SPDX-License-Identifier: MIT */
#include "source/text.h"

#include "source/edits.h"

#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

void text_settle_macros(struct text *text)
{
    struct range *m = text->macros;
    size_t kept = 0;
    if (text->macro_count)
        qsort(m, text->macro_count, sizeof *m, by_start);
    for (size_t i = 0; i < text->macro_count; i++) {
        if (kept && m[i].start < m[kept - 1].end) {
            if (m[i].end > m[kept - 1].end)
                m[kept - 1].end = m[i].end;
        } else {
            m[kept++] = m[i];
        }
    }
    text->macro_count = kept;
}

const struct range *text_macro_at(const struct text *text, uint32_t offset)
{
    size_t low = 0, high = text->macro_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->macros[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < text->macro_count && text->macros[low].start <= offset ? &text->macros[low] : NULL;
}

uint32_t text_token_from(const struct text *text, uint32_t offset)
{
    size_t low = 0, high = text->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->tokens[middle].start < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

uint32_t text_token_at(const struct text *text, uint32_t offset)
{
    uint32_t token = text_token_from(text, offset);
    return token < text->count && text->tokens[token].start == offset ? token : TEXT_NONE;
}

uint32_t text_token_before(const struct text *text, uint32_t end)
{
    uint32_t token = text_token_from(text, end);
    return token && text->tokens[token - 1].end == end ? token - 1 : TEXT_NONE;
}

bool text_is(const struct text *text, uint32_t token, const char *word)
{
    if (token >= text->count)
        return false;
    const struct token *t = &text->tokens[token];
    size_t length = strlen(word);
    return t->end - t->start == length && !memcmp(text->bytes + t->start, word, length);
}

size_t text_directives_before(const struct text *text, uint32_t token, size_t *count)
{
    size_t low = 0, high = text->directive_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->directives[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < text->directive_count && text->directives[low + *count].token == token)
        ++*count;
    return low;
}

void text_free(struct text *text)
{
    for (size_t i = 0; i < text->directive_count; i++)
        free(text->directives[i].pragma);
    for (size_t i = 0; i < text->insertion_count; i++)
        free(text->insertions[i].text);
    free(text->insertions);
    free(text->directives);
    free(text->tokens);
    free(text->macros);
    free(text->skipped);
    free(text->name);
    free(text->path);
}
