/* SPDX-License-Identifier: MIT */
/* What the files of the language's parser share: tokens, errors, expressions. */
#ifndef LOUPE_INJECT_SPEC_LEX_H
#define LOUPE_INJECT_SPEC_LEX_H

#include "inject/spec.h"

enum spec_kind {
    SPEC_T_END,
    SPEC_T_WORD,
    SPEC_T_NUMBER,
    SPEC_T_DECIMAL, /* with a point in it; only setTimer takes one */
    SPEC_T_LARGE,   /* does not fit into 64 bits */
    SPEC_T_MARK     /* operator or punctuation, one or two characters */
};

struct spec_token {
    enum spec_kind kind;
    const char *start;
    size_t length;
    uint32_t line, column;
    int64_t number; /* of a decimal: in billionths */
};

/* How deep conditions and parentheses may be, and how long an expression: those who walk the tree
 * call themselves. */
enum { SPEC_DEPTH_MAX = 64, SPEC_OPERATORS_MAX = 200 };

struct spec_parser {
    const char *at; /* behind `token` */
    uint32_t line, column;
    struct spec_token token; /* the one to be looked at */
    enum spec_where where;   /* of the request that is being read */
    struct spec *spec;
    struct spec_error *error;
    int depth;
    int operators;                        /* in the present expression */
    bool braced;                          /* the last action ended with a brace */
    uint64_t wall_timers, process_timers; /* by variable: started so somewhere */
    bool failed; /* the first error counts, all that follows does nothing */
};

void spec_fail(struct spec_parser *p, const struct spec_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected WHAT, not TOKEN", at the token. */
void spec_expected(struct spec_parser *p, const char *what);
void spec_next(struct spec_parser *p);
bool spec_is(const struct spec_parser *p, const char *text);
/* Goes on if it is this; else an error. */
bool spec_accept(struct spec_parser *p, const char *text);
bool spec_require(struct spec_parser *p, const char *text, const char *what);
/* The name of a file or function from the present token on: until a blank, `{`, a comment, or one
 * of `stop`; or what stands in quotes. To be freed; NULL: an error. The token behind it is next. */
char *spec_pattern(struct spec_parser *p, const char *what, const char *stop);
/* The variable that the present token names; UINT32_MAX: an error. */
uint32_t spec_variable(struct spec_parser *p, bool timer);

/* NULL: an error. */
struct spec_expression *spec_expression(struct spec_parser *p);
struct spec_expression *spec_constant(int64_t value);
struct spec_expression *spec_operation(enum spec_operator op, struct spec_expression *a,
                                       struct spec_expression *b);
void spec_expression_free(struct spec_expression *e); /* accepts NULL */

#endif
