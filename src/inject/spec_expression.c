/* SPDX-License-Identifier: MIT */
/* Expressions, with the precedence that C gives the operators. */
#include "inject/spec_lex.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct spec_expression *spec_constant(int64_t value)
{
    struct spec_expression *e = xcalloc(1, sizeof *e);
    e->term = SPEC_CONSTANT;
    e->value = value;
    return e;
}

struct spec_expression *spec_operation(enum spec_operator op, struct spec_expression *a,
                                       struct spec_expression *b)
{
    struct spec_expression *e = xcalloc(1, sizeof *e);
    e->term = SPEC_OPERATION;
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

/* Chains like a + b + c grow to the left without bound: no recursion on that side. */
void spec_expression_free(struct spec_expression *e)
{
    while (e) {
        struct spec_expression *left = e->a;
        spec_expression_free(e->b);
        free(e);
        e = left;
    }
}

static struct spec_expression *binary(struct spec_parser *p, int level);

/* `arg3`: its number; 0: the word is something else. */
static int argument(const struct spec_token *t)
{
    if (t->kind != SPEC_T_WORD || t->length < 4 || t->length > 5 || memcmp(t->start, "arg", 3) != 0)
        return 0;
    int number = 0;
    for (size_t i = 3; i < t->length; i++) {
        if (t->start[i] < '0' || t->start[i] > '9')
            return 0;
        number = number * 10 + t->start[i] - '0';
    }
    return number;
}

static struct spec_expression *parameter(struct spec_parser *p, int number)
{
    if (p->where != SPEC_ENTRY && p->where != SPEC_CALL) {
        spec_fail(p, &p->token, "arg%d is known at entries and calls only", number);
        return NULL;
    }
    spec_next(p);
    struct spec_expression *e = spec_constant(number);
    e->term = SPEC_ARGUMENT;
    return e;
}

static struct spec_expression *returned(struct spec_parser *p)
{
    if (p->where != SPEC_EXIT) {
        spec_fail(p, &p->token, "ret, the value that a procedure returns, is known at exits only");
        return NULL;
    }
    spec_next(p);
    struct spec_expression *e = spec_constant(0);
    e->term = SPEC_RETURNED;
    return e;
}

static struct spec_expression *counter(struct spec_parser *p)
{
    uint32_t variable = spec_variable(p, false);
    if (variable == UINT32_MAX)
        return NULL;
    struct spec_expression *e = spec_constant(0);
    e->term = SPEC_COUNTER;
    e->variable = variable;
    return e;
}

static struct spec_expression *operand(struct spec_parser *p)
{
    const struct spec_token *t = &p->token;
    int number = argument(t);
    if (p->failed)
        return NULL;
    if (t->kind == SPEC_T_NUMBER) {
        struct spec_expression *e = spec_constant(t->number);
        spec_next(p);
        return e;
    }
    if (t->kind == SPEC_T_LARGE) {
        spec_fail(p, t, "number too large: it must fit into 64 bits, with sign");
        return NULL;
    }
    if (t->kind == SPEC_T_DECIMAL) {
        spec_fail(p, t, "expressions are of integers");
        return NULL;
    }
    if (number)
        return parameter(p, number);
    if (spec_is(p, "ret"))
        return returned(p);
    if (t->kind == SPEC_T_WORD)
        return counter(p);
    if (spec_accept(p, "(")) {
        struct spec_expression *e = binary(p, 0);
        spec_require(p, ")", "\")\"");
        return e;
    }
    spec_expected(p, "a counter, a number, arg1 (at entries and calls), ret (at exits) or \"(\"");
    return NULL;
}

static struct spec_expression *unary(struct spec_parser *p)
{
    struct spec_expression *e = NULL;
    if (++p->depth > SPEC_DEPTH_MAX)
        spec_fail(p, &p->token, "nested more than %d deep", SPEC_DEPTH_MAX);
    else if (spec_accept(p, "-"))
        e = spec_operation(SPEC_NEGATE, unary(p), NULL);
    else if (spec_accept(p, "!") || spec_accept(p, "not"))
        e = spec_operation(SPEC_NOT, unary(p), NULL);
    else
        e = operand(p);
    p->depth--;
    return e;
}

/* From the loosest to the tightest. */
static const struct {
    const char *text;
    int level;
    enum spec_operator op;
} operators[] = {
    {"||", 0, SPEC_OR},         {"or", 0, SPEC_OR},
    {"&&", 1, SPEC_AND},        {"and", 1, SPEC_AND},
    {"==", 2, SPEC_EQUAL},      {"!=", 2, SPEC_NOT_EQUAL},
    {"<", 3, SPEC_LESS},        {">", 3, SPEC_GREATER},
    {"<=", 3, SPEC_LESS_EQUAL}, {">=", 3, SPEC_GREATER_EQUAL},
    {"+", 4, SPEC_ADD},         {"-", 4, SPEC_SUBTRACT},
    {"*", 5, SPEC_MULTIPLY},    {"/", 5, SPEC_DIVIDE},
    {"%", 5, SPEC_MODULO},
};
enum { LEVELS = 6, OPERATORS = sizeof operators / sizeof operators[0] };

static bool operator_here(struct spec_parser *p, int level, enum spec_operator *op)
{
    for (int i = 0; i < OPERATORS; i++)
        if (operators[i].level == level && spec_accept(p, operators[i].text)) {
            *op = operators[i].op;
            return true;
        }
    return false;
}

static struct spec_expression *binary(struct spec_parser *p, int level)
{
    if (level == LEVELS)
        return unary(p);
    struct spec_expression *e = binary(p, level + 1);
    enum spec_operator op;
    while (!p->failed && operator_here(p, level, &op)) {
        if (++p->operators > SPEC_OPERATORS_MAX)
            spec_fail(p, &p->token, "more than %d operators in one expression", SPEC_OPERATORS_MAX);
        e = spec_operation(op, e, binary(p, level + 1));
    }
    return e;
}

struct spec_expression *spec_expression(struct spec_parser *p)
{
    p->operators = 0;
    struct spec_expression *e = binary(p, 0);
    if (p->failed) {
        spec_expression_free(e);
        return NULL;
    }
    return e;
}
