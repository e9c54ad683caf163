/* SPDX-License-Identifier: MIT */
/*
 * The language of `loupe probe`:
 *     counter NAME, ...;   timer NAME, ...;
 *     POINT { ACTION; ... }
 * with points `entry F`, `exit F`, `call F`, `call F in G`, `loop FILE:LINE entry|exit|iteration`,
 * F and G being globs with `MODULE!` before them or not, and actions that are primitives,
 * `if (EXPRESSION) ACTION` or `{ ACTION; ... }`.
 */
#include "inject/spec.h"

#include "base/alloc.h"
#include "inject/spec_lex.h"

#include <stdlib.h>
#include <string.h>

enum { VARIABLES_MAX = 64, NAME_MAX_LENGTH = 60 };

static void free_actions(struct spec_action *action)
{
    while (action) {
        struct spec_action *next = action->next;
        spec_expression_free(action->value);
        free_actions(action->body);
        free(action);
        action = next;
    }
}

void spec_free(struct spec *spec)
{
    if (!spec)
        return;
    for (size_t i = 0; i < spec->variable_count; i++)
        free(spec->variables[i].name);
    for (size_t i = 0; i < spec->request_count; i++) {
        struct spec_request *r = &spec->requests[i];
        free(r->module);
        free(r->function);
        free(r->in);
        free(r->file);
        free_actions(r->actions);
    }
    free(spec->variables);
    free(spec->requests);
    free(spec);
}

static bool reserved(const struct spec_token *t)
{
    static const char *const words[] = {"counter", "timer", "entry", "exit", "call", "loop",
                                        "if",      "and",   "or",    "not",  "ret",  "in"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (t->length == strlen(words[i]) && memcmp(t->start, words[i], t->length) == 0)
            return true;
    return t->length > 3 && memcmp(t->start, "arg", 3) == 0 && t->start[3] >= '0' &&
           t->start[3] <= '9';
}

static void declare_one(struct spec_parser *p, bool timer, size_t *room)
{
    const struct spec_token *t = &p->token;
    struct spec *s = p->spec;
    if (t->kind != SPEC_T_WORD) {
        spec_expected(p, timer ? "a name for the timer" : "a name for the counter");
        return;
    }
    if (reserved(t))
        spec_fail(p, t, "\"%.*s\" has a meaning of its own and cannot be a name", (int)t->length,
                  t->start);
    else if (t->length > NAME_MAX_LENGTH)
        spec_fail(p, t, "a name has %d characters at most", NAME_MAX_LENGTH);
    else if (s->variable_count == VARIABLES_MAX)
        spec_fail(p, t, "there can be %d counters and timers at most", VARIABLES_MAX);
    for (size_t i = 0; i < s->variable_count; i++)
        if (strlen(s->variables[i].name) == t->length &&
            memcmp(s->variables[i].name, t->start, t->length) == 0)
            spec_fail(p, t, "%s is declared already", s->variables[i].name);
    if (p->failed)
        return;
    struct spec_variable *v = VEC_PUSH(s->variables, s->variable_count, *room);
    v->name = xasprintf("%.*s", (int)t->length, t->start);
    v->timer = timer;
    spec_next(p);
}

static void declare(struct spec_parser *p, bool timer, size_t *room)
{
    do
        declare_one(p, timer, room);
    while (spec_accept(p, ","));
    spec_require(p, ";", "\";\" after the name");
}

static struct spec_action *actions(struct spec_parser *p);

/* `{ ... }`, or one action. */
static struct spec_action *body(struct spec_parser *p);

static struct spec_action *condition(struct spec_parser *p)
{
    struct spec_action *a = xcalloc(1, sizeof *a);
    a->primitive = SPEC_IF;
    if (spec_require(p, "(", "\"(\" after if")) {
        a->value = spec_expression(p);
        spec_require(p, ")", "an operator or \")\"");
        a->body = body(p);
    }
    return a;
}

/* Written in seconds, kept in ns. */
static struct spec_expression *seconds(struct spec_parser *p)
{
    const struct spec_token *t = &p->token;
    if (t->kind == SPEC_T_DECIMAL) {
        struct spec_expression *e = spec_constant(t->number);
        spec_next(p);
        return e;
    }
    struct spec_expression *e = spec_expression(p);
    if (!e)
        return NULL;
    int64_t ns;
    if (e->term == SPEC_CONSTANT && !__builtin_mul_overflow(e->value, 1000000000, &ns)) {
        e->value = ns;
        return e;
    }
    return spec_operation(SPEC_MULTIPLY, e, spec_constant(1000000000));
}

/* Wall time unless it says otherwise. What a timer holds is of one clock. */
static void timer_clock(struct spec_parser *p, struct spec_action *a)
{
    struct spec_token at = p->token;
    if (spec_accept(p, ",")) {
        at = p->token;
        if (spec_accept(p, "process"))
            a->process_time = true;
        else
            spec_require(p, "wall", "wall or process");
    }
    if (p->failed)
        return;
    uint64_t bit = UINT64_C(1) << a->variable;
    uint64_t *mine = a->process_time ? &p->process_timers : &p->wall_timers;
    uint64_t other = a->process_time ? p->wall_timers : p->process_timers;
    if (other & bit)
        spec_fail(p, &at, "%s runs on %s time elsewhere; a timer has one clock",
                  p->spec->variables[a->variable].name, a->process_time ? "wall" : "process");
    *mine |= bit;
}

static const struct {
    const char *name;
    enum spec_primitive primitive;
    bool timer;
} primitives[] = {
    {"setCounter", SPEC_SET_COUNTER, false},
    {"addCounter", SPEC_ADD_COUNTER, false},
    {"subtractCounter", SPEC_SUBTRACT_COUNTER, false},
    {"setTimer", SPEC_SET_TIMER, true},
    {"startTimer", SPEC_START_TIMER, true},
    {"stopTimer", SPEC_STOP_TIMER, true},
};
enum { PRIMITIVES = sizeof primitives / sizeof primitives[0] };

static struct spec_action *primitive(struct spec_parser *p, int which)
{
    struct spec_action *a = xcalloc(1, sizeof *a);
    a->primitive = primitives[which].primitive;
    p->braced = false;
    if (!spec_require(p, "(", "\"(\""))
        return a;
    a->variable = spec_variable(p, primitives[which].timer);
    if (a->primitive == SPEC_START_TIMER) {
        timer_clock(p, a);
    } else if (a->primitive == SPEC_SET_TIMER) {
        if (spec_require(p, ",", "\",\" and the value in seconds"))
            a->value = seconds(p);
    } else if (!primitives[which].timer) {
        if (spec_require(p, ",", "\",\" and an expression"))
            a->value = spec_expression(p);
    }
    spec_require(p, ")",
                 a->value ? "an operator or \")\""
                          : (a->primitive == SPEC_START_TIMER ? "\", wall\", \", process\" or \")\""
                                                              : "\")\""));
    return a;
}

static struct spec_action *action(struct spec_parser *p)
{
    if (spec_accept(p, "if"))
        return condition(p);
    for (int i = 0; i < PRIMITIVES; i++)
        if (spec_accept(p, primitives[i].name))
            return primitive(p, i);
    spec_expected(p, "setCounter, addCounter, subtractCounter, setTimer, startTimer, stopTimer, if "
                     "or \"}\"");
    return NULL;
}

static struct spec_action *body(struct spec_parser *p)
{
    struct spec_action *a = NULL;
    if (++p->depth > SPEC_DEPTH_MAX)
        spec_fail(p, &p->token, "nested more than %d deep", SPEC_DEPTH_MAX);
    else
        a = spec_accept(p, "{") ? actions(p) : action(p);
    p->depth--;
    return a;
}

/* Up to the closing brace. Behind a brace no semicolon is needed. */
static struct spec_action *actions(struct spec_parser *p)
{
    struct spec_action *first = NULL, **last = &first;
    while (!p->failed) {
        while (spec_accept(p, ";"))
            ;
        if (spec_accept(p, "}"))
            break;
        *last = spec_is(p, "{") ? body(p) : action(p);
        while (*last)
            last = &(*last)->next;
        if (!p->braced && !spec_is(p, "}") && !spec_is(p, ";"))
            spec_expected(p, "\";\" or \"}\"");
    }
    p->braced = true;
    return first;
}

/* Cuts "MODULE!" off; the mark inside [!...] is not the one. */
static char *module_of(char *pattern)
{
    bool bracket = false;
    for (char *c = pattern; *c; c++) {
        if (*c == '[')
            bracket = true;
        else if (*c == ']')
            bracket = false;
        else if (*c == '!' && !bracket && c > pattern && c[1]) {
            char *module = xasprintf("%.*s", (int)(c - pattern), pattern);
            memmove(pattern, c + 1, strlen(c + 1) + 1);
            return module;
        }
    }
    return NULL;
}

static void call_point(struct spec_parser *p, struct spec_request *r)
{
    struct spec_token called = p->token;
    r->where = SPEC_CALL;
    r->function = spec_pattern(p, "the name of the procedure that is called", "");
    if (spec_accept(p, "in")) {
        r->in = spec_pattern(p, "the name of the procedure that calls", "");
        /* The module is that of the code in which the statement stands. */
        r->module = r->in ? module_of(r->in) : NULL;
        char *wrong = r->in ? module_of(r->function) : NULL;
        if (wrong)
            spec_fail(p, &called,
                      "the module goes before the procedure that calls: call %.40s in "
                      "%.40s!...",
                      r->function, wrong);
        free(wrong);
    } else if (r->function) {
        r->module = module_of(r->function);
    }
}

static void loop_point(struct spec_parser *p, struct spec_request *r)
{
    r->file = spec_pattern(p, "FILE:LINE of a loop", ":");
    r->module = r->file ? module_of(r->file) : NULL;
    if (!spec_require(p, ":", "\":\" and the line of a loop"))
        return;
    if (p->token.kind != SPEC_T_NUMBER || p->token.number < 1 || p->token.number > INT32_MAX) {
        spec_expected(p, "the line of a loop");
        return;
    }
    r->line = (uint32_t)p->token.number;
    spec_next(p);
    if (spec_accept(p, "entry"))
        r->where = SPEC_LOOP_ENTRY;
    else if (spec_accept(p, "exit"))
        r->where = SPEC_LOOP_EXIT;
    else if (spec_accept(p, "iteration"))
        r->where = SPEC_LOOP_NEXT;
    else
        spec_expected(p, "entry, exit or iteration");
}

static void request(struct spec_parser *p, size_t *room)
{
    struct spec_token begin = p->token;
    struct spec_request r = {.source_line = begin.line, .source_column = begin.column};
    if (spec_accept(p, "call")) {
        call_point(p, &r);
    } else if (spec_accept(p, "loop")) {
        loop_point(p, &r);
    } else if (spec_is(p, "entry") || spec_is(p, "exit")) {
        r.where = spec_is(p, "entry") ? SPEC_ENTRY : SPEC_EXIT;
        spec_next(p);
        r.function = spec_pattern(p, "the name of a procedure", "");
        r.module = r.function ? module_of(r.function) : NULL;
    } else {
        spec_expected(p, "counter, timer, entry, exit, call or loop");
    }
    *VEC_PUSH(p->spec->requests, p->spec->request_count, *room) = r;
    p->where = r.where;
    if (spec_require(p, "{", r.where == SPEC_CALL && !r.in ? "in or \"{\"" : "\"{\""))
        p->spec->requests[p->spec->request_count - 1].actions = actions(p);
}

struct spec *spec_parse(const char *text, struct spec_error *error)
{
    struct spec_parser p = {.at = text, .line = 1, .column = 1, .error = error};
    size_t variable_room = 0, request_room = 0;
    p.token = (struct spec_token){.start = text, .line = 1, .column = 1};
    p.spec = xcalloc(1, sizeof *p.spec);
    *error = (struct spec_error){0};
    spec_next(&p);
    while (!p.failed && p.token.kind != SPEC_T_END) {
        if (spec_accept(&p, "counter"))
            declare(&p, false, &variable_room);
        else if (spec_accept(&p, "timer"))
            declare(&p, true, &variable_room);
        else
            request(&p, &request_room);
    }
    if (!p.failed && !p.spec->request_count)
        spec_fail(&p, &p.token, "nothing is to be inserted: expected entry, exit, call or loop");
    if (!p.failed)
        return p.spec;
    spec_free(p.spec);
    return NULL;
}
