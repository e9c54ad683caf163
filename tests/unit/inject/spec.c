/* SPDX-License-Identifier: MIT */
/* The language of `loupe probe`: what is understood, written back in full; what is refused, where
 * and why. */
#include "inject/spec.h"

#include "base/strbuf.h"
#include "lib/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const signs[] = {"+",  "-",  "*",  "/",   "%",  "<", "<=", ">",
                                    ">=", "==", "!=", "and", "or", "!", "-"};

/* With all parentheses, so that precedence can be seen. */
static void expression(struct strbuf *out, const struct spec *s, const struct spec_expression *e)
{
    switch (e->term) {
    case SPEC_CONSTANT: strbuf_printf(out, "%" PRId64, e->value); break;
    case SPEC_COUNTER: strbuf_puts(out, s->variables[e->variable].name); break;
    case SPEC_ARGUMENT: strbuf_printf(out, "arg%" PRId64, e->value); break;
    case SPEC_RETURNED: strbuf_puts(out, "ret"); break;
    case SPEC_OPERATION:
        strbuf_puts(out, "(");
        if (e->b) {
            expression(out, s, e->a);
            strbuf_printf(out, " %s ", signs[e->op]);
            expression(out, s, e->b);
        } else {
            strbuf_puts(out, signs[e->op]);
            expression(out, s, e->a);
        }
        strbuf_puts(out, ")");
    }
}

static void actions(struct strbuf *out, const struct spec *s, const struct spec_action *a)
{
    static const char *const names[] = {"setCounter", "addCounter", "subtractCounter",
                                        "setTimer",   "startTimer", "stopTimer"};
    for (; a; a = a->next) {
        if (a->primitive == SPEC_IF) {
            strbuf_puts(out, "if (");
            expression(out, s, a->value);
            strbuf_puts(out, ") { ");
            actions(out, s, a->body);
            strbuf_puts(out, "} ");
            continue;
        }
        strbuf_printf(out, "%s(%s", names[a->primitive], s->variables[a->variable].name);
        if (a->value) {
            strbuf_puts(out, ", ");
            expression(out, s, a->value);
        }
        if (a->primitive == SPEC_START_TIMER)
            strbuf_puts(out, a->process_time ? ", process" : ", wall");
        strbuf_puts(out, "); ");
    }
}

static void written(struct strbuf *out, const struct spec *s)
{
    static const char *const where[] = {"entry",      "exit",      "call",
                                        "loop-entry", "loop-exit", "loop-iteration"};
    for (size_t i = 0; i < s->request_count; i++) {
        const struct spec_request *r = &s->requests[i];
        strbuf_printf(out, "%s ", where[r->where]);
        if (r->module)
            strbuf_printf(out, "%s!", r->module);
        if (r->file)
            strbuf_printf(out, "%s:%u ", r->file, r->line);
        else
            strbuf_printf(out, "%s ", r->function);
        if (r->in)
            strbuf_printf(out, "in %s ", r->in);
        strbuf_puts(out, "{ ");
        actions(out, s, r->actions);
        strbuf_puts(out, "}");
    }
}

static void understood(const char *text, const char *want)
{
    struct spec_error error;
    struct spec *spec = spec_parse(text, &error);
    struct strbuf out = {0};
    if (spec)
        written(&out, spec);
    else
        strbuf_printf(&out, "%u:%u: %s", error.line, error.column, error.message);
    if (!ok(out.text && strcmp(out.text, want) == 0, "%s", want))
        printf("# got: %s\n", out.text ? out.text : "");
    strbuf_free(&out);
    spec_free(spec);
}

/* The message must contain `want`. */
static void refused(const char *text, uint32_t line, uint32_t column, const char *want)
{
    struct spec_error error;
    struct spec *spec = spec_parse(text, &error);
    bool good =
        !spec && error.line == line && error.column == column && strstr(error.message, want);
    if (!ok(good, "refused at %u:%u: %s", line, column, want))
        printf("# got %s %u:%u: %s\n", spec ? "a spec" : "an error", error.line, error.column,
               error.message);
    spec_free(spec);
}

static void points(void)
{
    understood("counter calls; entry foo { addCounter(calls, 1) }",
               "entry foo { addCounter(calls, 1); }");
    understood("counter bytes; entry write { addCounter(bytes, arg3) }",
               "entry write { addCounter(bytes, arg3); }");
    understood("counter in_foo; timer wait;\n"
               "entry foo { addCounter(in_foo, 1) } exit foo { subtractCounter(in_foo, 1) }\n"
               "entry MPI_Recv { if (in_foo > 0) startTimer(wait, wall) }\n"
               "exit  MPI_Recv { if (in_foo > 0) stopTimer(wait) }",
               "entry foo { addCounter(in_foo, 1); }exit foo { subtractCounter(in_foo, 1); }"
               "entry MPI_Recv { if ((in_foo > 0)) { startTimer(wait, wall); } }"
               "exit MPI_Recv { if ((in_foo > 0)) { stopTimer(wait); } }");
    understood("counter c; call sin* in my.so!f?[!x] { addCounter(c,arg1); }",
               "call my.so!sin* in f?[!x] { addCounter(c, arg1); }");
    understood("counter c; call lib!f {addCounter(c,1)}", "call lib!f { addCounter(c, 1); }");
    understood("counter c; loop a/b.c:17 iteration { addCounter(c, 1) } loop 3d.c:1 entry { }"
               "loop x.c : 2 exit {;;}",
               "loop-iteration a/b.c:17 { addCounter(c, 1); }loop-entry 3d.c:1 { }"
               "loop-exit x.c:2 { }");
    understood("entry \"std::map<int, int>::find(int const&)\"{}exit ns::f(int){}",
               "entry std::map<int, int>::find(int const&) { }exit ns::f(int) { }");
    understood("entry in { } entry entry { } call call in in { }",
               "entry in { }entry entry { }call call in in { }");
}

static void language(void)
{
    understood("counter a, b; exit f { setCounter(a, 1 + 2 * 3 - -ret % 4 / b) }",
               "exit f { setCounter(a, ((1 + (2 * 3)) - (((-ret) % 4) / b))); }");
    understood("counter a; entry f { if (arg1 < 1 or a == 2 && arg2 != 0x10 + 1 || not a >= 3) { "
               "addCounter(a, arg3 * arg4) } }",
               "entry f { if ((((arg1 < 1) or ((a == 2) and (arg2 != (16 + 1)))) or ((!a) >= 3))) "
               "{ addCounter(a, (arg3 * arg4)); } }");
    understood("counter a; entry f { if (a) { if (!a) addCounter(a, 1); subtractCounter(a, 2) } "
               "addCounter(a, (1 - (2 - 3))); if (a) if (a > 1) setCounter(a, 0) }",
               "entry f { if (a) { if ((!a)) { addCounter(a, 1); } subtractCounter(a, 2); } "
               "addCounter(a, (1 - (2 - 3))); if (a) { if ((a > 1)) { setCounter(a, 0); } } }");
    understood(
        "// one\ncounter a; /* two\n lines */ # three\nentry f/* here */{ addCounter(a, 1) }",
        "entry f { addCounter(a, 1); }");
    understood("timer t, u; entry f { startTimer(t); startTimer(u, process); setTimer(t, 0.25); "
               "setTimer(u, 3); setTimer(u, arg1) } exit f { stopTimer(t) }",
               "entry f { startTimer(t, wall); startTimer(u, process); setTimer(t, 250000000); "
               "setTimer(u, 3000000000); setTimer(u, (arg1 * 1000000000)); }"
               "exit f { stopTimer(t); }");
}

static void mistakes(void)
{
    refused("", 1, 1, "nothing is to be inserted");
    refused("counter a;", 1, 11, "nothing is to be inserted");
    refused("counter a\nentry f { }", 2, 1, "expected \";\" after the name, not \"entry\"");
    refused("counter a, a; entry f {}", 1, 12, "a is declared already");
    refused("counter if; entry f {}", 1, 9, "a meaning of its own");
    refused("counter arg1; entry f {}", 1, 9, "a meaning of its own");
    refused("count a;", 1, 1, "expected counter, timer, entry, exit, call or loop, not \"count\"");
    refused("counter calls; entry f { addCounter(cals, 1) }", 1, 37, "did you mean calls?");
    refused("entry f { addCounter(n, 1) }", 1, 22, "declare it before: counter n;");
    refused("timer t; entry f { addCounter(t, 1) }", 1, 31, "t is a timer; a counter is needed");
    refused("counter c; entry f { startTimer(c, wall) }", 1, 33, "c is a counter; a timer");
    refused("timer t; entry f { startTimer(t, cpu) }", 1, 34, "expected wall or process");
    refused("timer t; entry f { startTimer(t, wall) } entry g { startTimer(t, process) }", 1, 66,
            "a timer has one clock");
    refused("counter c; exit f { addCounter(c, arg1) }", 1, 35, "at entries and calls only");
    refused("counter c; entry f { addCounter(c, ret) }", 1, 36, "at exits only");
    refused("counter c; loop a.c:1 iteration { addCounter(c, arg1) }", 1, 49, "entries and calls");
    refused("counter c; entry f {\n  addCounter(c, 1 +)\n}", 2, 20, "expected a counter, a number");
    refused("counter c; entry f { addCounter(c, 1) addCounter(c, 2) }", 1, 39, "expected \";\" or");
    refused("counter c; entry f { addCounter(c, 1)", 1, 38, "but the text ends here");
    refused("counter c; entry f { addCounter(c) }", 1, 34, "expected \",\" and an expression");
    refused("counter c; entry f { addCounter(c, 1.5) }", 1, 36, "integers");
    refused("counter c; entry f { addCounter(c, 99999999999999999999) }", 1, 36, "too large");
    refused("counter c; entry f { addCounter(c, 0x) }", 1, 36, "not \"0x\"");
    refused("counter c; entry { }", 1, 18, "expected the name of a procedure");
    refused("entry f g { }", 1, 9, "expected \"{\", not \"g\"");
    refused("loop a.c { }", 1, 10, "the line of a loop");
    refused("loop a.c:7 { }", 1, 12, "expected entry, exit or iteration");
    refused("loop a.c:0 entry { }", 1, 10, "the line of a loop");
    refused("call libm!sin in f { }", 1, 6, "call sin in libm!");
    refused("entry f { } /* open", 1, 11, "does not end");
    refused("entry \"f { }", 1, 7, "a name in quotes does not end");
    refused("entry f { } \xc3\xa9", 1, 13, "not \"\xc3\xa9\"");
    refused("entry \xc3\xa9\xc3\xa9 { } x", 1, 14, "not \"x\"");
}

static void limits(void)
{
    struct strbuf text = {0};
    strbuf_puts(&text, "counter c; entry f { addCounter(c, ");
    for (int i = 0; i < 100000; i++)
        strbuf_putc(&text, i % 3 ? '(' : '-');
    refused(text.text, 1, 36 + 64, "nested more than 64 deep");
    strbuf_clear(&text);
    strbuf_puts(&text, "counter c; entry f { ");
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&text, "if(c)");
    refused(text.text, 1, 22 + 64 * 5 + 3, "nested more than 64 deep");
    strbuf_clear(&text);
    strbuf_puts(&text, "counter c; entry f { addCounter(c, 1");
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&text, "+1");
    refused(text.text, 1, 36 + 201 * 2, "more than 200 operators");
    strbuf_clear(&text);
    for (int i = 0; i < 65; i++)
        strbuf_printf(&text, "counter c%02d;\n", i);
    refused(text.text, 65, 9, "64 counters and timers at most");
    strbuf_free(&text);
}

int main(void)
{
    points();
    language();
    mistakes();
    limits();
    return tap_done();
}
