/* SPDX-License-Identifier: MIT */
/*
 * A source file as it is written: tokens, directives, brackets. The compiler's view of a program
 * (walk.h) says what stands where; this says where something may be put in between. Code that the
 * pre-processor skips has no tokens.
 */
#ifndef LOUPE_SOURCE_TEXT_H
#define LOUPE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NONE UINT32_MAX

enum token_kind {
    TOKEN_WORD = 'w', /* identifier or keyword */
    TOKEN_NUMBER = '0',
    TOKEN_STRING = '"', /* or character */
    /* anything else: the character itself, one at a time */
};

struct token {
    uint32_t start, end;
    uint32_t region; /* of conditional compilation: each branch of each #if has its own */
    uint32_t match;  /* the other bracket; TEXT_NONE: no bracket, or none found */
    uint32_t inside; /* the innermost open bracket around it; TEXT_NONE: none */
    char kind;
    bool macro; /* is a macro's name, or stands in its arguments */
};

struct directive {
    uint32_t start, end;
    uint32_t token; /* number of tokens before it */
    bool skipped;
    char *pragma; /* what follows #pragma, blanks made single; NULL: another directive */
};

struct range {
    uint32_t start, end;
};

struct insertion;

struct text {
    void *file;        /* the parser's */
    char *name, *path; /* as the compiler names it; absolute */
    const char *bytes;
    uint32_t length;
    bool system;
    bool copied; /* belongs to the output though nothing in it changes */
    bool cut;    /* into tokens */
    struct token *tokens;
    size_t count, room;
    struct directive *directives;
    size_t directive_count, directive_room;
    struct range *macros; /* uses of macros, sorted, none overlaps another */
    size_t macro_count, macro_room;
    struct range *skipped; /* by the pre-processor; sorted */
    size_t skipped_count, skipped_room;
    struct insertion *insertions; /* edits.h */
    size_t insertion_count, insertion_room;
};

/* Sorts and joins the ranges of macros, which may have come in any order. */
void text_settle_macros(struct text *text);
/* Cuts the text into tokens, once; macros and skipped ranges must be there. */
void text_cut(struct text *text, bool cplusplus);
void text_free(struct text *text); /* what it holds, not the text itself */

/* The use of a macro that contains the character at `offset`, or NULL. */
const struct range *text_macro_at(const struct text *text, uint32_t offset);
/* The number of the token that starts or ends exactly there; TEXT_NONE: there is none. */
uint32_t text_token_at(const struct text *text, uint32_t offset);
uint32_t text_token_before(const struct text *text, uint32_t end);
/* The number of the first token that starts there or later; count: none. */
uint32_t text_token_from(const struct text *text, uint32_t offset);
bool text_is(const struct text *text, uint32_t token, const char *word);
/* The directives between a token and the one before it: the first one's number, and how many. */
size_t text_directives_before(const struct text *text, uint32_t token, size_t *count);

#endif
