/* SPDX-License-Identifier: MIT */
/* Where the compiler's constructs stand in the text, and where something can be put there. */
#ifndef LOUPE_SOURCE_PLACE_H
#define LOUPE_SOURCE_PLACE_H

#include "source/source.h"

struct place {
    struct text *text; /* NULL: not in one file */
    uint32_t start, end;
    bool start_macro, end_macro; /* it begins or ends with the use of a macro, or inside it */
};

/* The outermost uses of macros stand for what they expand to. */
struct place place_of(struct source *source, CXCursor cursor);

/* Where a statement stands among others. */
struct spot {
    bool braces;       /* it may be put in braces */
    bool value;        /* it is the value of a statement expression */
    uint32_t outer;    /* start of the statement around it, or of the block */
    uint32_t previous; /* end of the statement before it in the block */
    uint32_t next;     /* start of the one after it; TEXT_NONE: none */
    uint32_t wrapper;  /* start of attributes before it; TEXT_NONE: none */
};

struct pragmas { /* that stand before a statement */
    bool any;
    bool loop;     /* OpenMP: shares out or vectorises the loop that follows */
    bool nest;     /* it is about the loops inside as well */
    bool hint;     /* tells the compiler what to do with the loop: nothing goes into it */
    bool fixed;    /* belongs to what is around it: nothing may be put before it */
    bool atomic;   /* the statement must stay as it is */
    uint32_t from; /* the first token of _Pragma, or the statement's */
};
struct pragmas place_pragmas(const struct text *text, uint32_t token);

/* The end of a statement with its semicolon; false: it cannot be told. */
bool place_statement_end(const struct text *text, uint32_t end, uint32_t *out);
/* Where braces around a statement open and close; false: nowhere. For a loop, pragmas go in too. */
bool place_braces(const struct place *place, const struct spot *spot, bool loop, uint32_t *open,
                  uint32_t *close);
/* Does it stand in parentheses whose contents are never evaluated, or only by the compiler? */
bool place_unevaluated(const struct text *text, uint32_t offset);
/* The end of the parentheses after a keyword (if, while, switch, for); 0: not found. */
uint32_t place_header_end(const struct place *place);

#endif
