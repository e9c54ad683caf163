/* SPDX-License-Identifier: MIT */
/*
 * What is to be inserted: paper 2's points, predicates and primitives, as a tree. spec.c parses it,
 * arch/ makes code of it.
 */
#ifndef LOUPE_INJECT_SPEC_H
#define LOUPE_INJECT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_operator {
    SPEC_ADD,
    SPEC_SUBTRACT,
    SPEC_MULTIPLY,
    SPEC_DIVIDE,
    SPEC_MODULO, /* division by 0 gives 0 */
    SPEC_LESS,
    SPEC_LESS_EQUAL,
    SPEC_GREATER,
    SPEC_GREATER_EQUAL,
    SPEC_EQUAL,
    SPEC_NOT_EQUAL,
    SPEC_AND,
    SPEC_OR, /* of truth values; the second is only looked at if it matters */
    SPEC_NOT,
    SPEC_NEGATE /* of one operand, `a` */
};

enum spec_term { SPEC_CONSTANT, SPEC_COUNTER, SPEC_ARGUMENT, SPEC_RETURNED, SPEC_OPERATION };

/* Signed, 64 bits, wrapping. */
struct spec_expression {
    enum spec_term term;
    enum spec_operator op;
    int64_t value;     /* constant; argument, from 1 */
    uint32_t variable; /* counter */
    struct spec_expression *a, *b;
};

enum spec_primitive {
    SPEC_SET_COUNTER,
    SPEC_ADD_COUNTER,
    SPEC_SUBTRACT_COUNTER,
    SPEC_SET_TIMER,
    SPEC_START_TIMER,
    SPEC_STOP_TIMER,
    SPEC_IF /* `value` is not 0: what is in `body` */
};

struct spec_action {
    enum spec_primitive primitive;
    bool process_time; /* startTimer: CPU time of the thread; else wall time */
    uint32_t variable;
    struct spec_expression *value; /* of counters; of SPEC_IF and setTimer (seconds as ns) */
    struct spec_action *body;      /* of SPEC_IF */
    struct spec_action *next;
};

enum spec_where {
    SPEC_ENTRY,
    SPEC_EXIT,
    SPEC_CALL,
    SPEC_LOOP_ENTRY,
    SPEC_LOOP_EXIT,
    SPEC_LOOP_NEXT
};

struct spec_request {
    enum spec_where where;
    char *module;   /* glob on the file's name; NULL: the program, then its libraries */
    char *function; /* glob: procedure; of a call: what is called */
    char *in;       /* of a call: in which procedure; NULL: in any */
    char *file;     /* of a loop */
    uint32_t line;
    struct spec_action *actions;
    uint32_t source_line, source_column;
};

struct spec_variable {
    char *name;
    bool timer;
};

struct spec {
    struct spec_variable *variables;
    size_t variable_count;
    struct spec_request *requests;
    size_t request_count;
    bool records; /* made by records.h: what of it is not there, or not possible, is left out */
};

struct spec_error {
    uint32_t line, column; /* from 1 */
    char message[160];
};

/* NULL: it does not parse, see `error`. */
struct spec *spec_parse(const char *text, struct spec_error *error);
void spec_free(struct spec *spec); /* accepts NULL */

#endif
