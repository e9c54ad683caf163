/* SPDX-License-Identifier: MIT */
/* @FILE on a command line: the words in FILE, quoted as gcc and clang read them. */
#include "cli/cc.h"

#include "base/strbuf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One word from `text`; NULL: no more. Quotes of both kinds, and a backslash before any character.
 */
static const char *next_word(const char **text, struct strbuf *word)
{
    const char *p = *text;
    while (isspace((unsigned char)*p))
        p++;
    *text = p;
    if (!*p)
        return NULL;
    strbuf_clear(word);
    strbuf_puts(word, "");
    char quote = 0;
    for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
        if (*p == '\\' && p[1])
            strbuf_putc(word, *++p);
        else if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = quote ? 0 : *p;
        else
            strbuf_putc(word, *p);
    }
    *text = p;
    return word->text;
}

/* What cannot be read stays as it is: the compiler says so. */
static bool expand(const char *word, struct cc_words *out, int *budget)
{
    size_t size;
    char *text = *budget > 0 ? cc_read(word + 1, &size) : NULL;
    if (!text) {
        cc_add(out, word);
        return false;
    }
    --*budget;
    const char *rest = text;
    struct strbuf one = {0};
    while (next_word(&rest, &one)) {
        const char *kept = cc_text("%s", one.text);
        if (kept[0] == '@')
            expand(kept, out, budget);
        else
            cc_add(out, kept);
    }
    strbuf_free(&one);
    free(text);
    return true;
}

bool cc_response_expand(struct cc_words *words)
{
    enum { FILES_MAX = 2000 }; /* gcc's bound, for files that name themselves */
    int budget = FILES_MAX;
    bool any = false;
    struct cc_words out = {0};
    for (size_t i = 0; i < words->count; i++) {
        if (words->at[i][0] == '@')
            any |= expand(words->at[i], &out, &budget);
        else
            cc_add(&out, words->at[i]);
    }
    free(words->at);
    *words = out;
    return any;
}
