/* SPDX-License-Identifier: MIT */
/* Procedures that are left alone, and calls without a probe. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int say(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("%d\n", x); }
    return x;
}

__attribute__((no_instrument_function)) static int not_me(int x) { return say(x) + say(1); }
static inline int small(int x) { return say(x); }
static int leaf(int x) { int y = x * 2; y++; return y; }
static int long_leaf(int x)
{ LOUPE_PROCEDURE(2)
    int a = x, b = x + 1, c;
    a++;
    b++;
    c = a;
    c += b;
    a = c;
    b = a;
    return a + b + c;
}
static int looping(const int *v, int n)
{ LOUPE_PROCEDURE(3)
    int s = 0;
    { LOUPE_LOOP(4) for (int i = 0; i < n; i++)
        s += v[i]; }
    return s;
}
__attribute__((target("sse4.2"))) static int targeted(int x) { return say(x) + say(2); }
__attribute__((optimize("O0"))) static int slow(int x) { return say(x) + say(2); }
__attribute__((naked, used)) void bare(void);
void bare(void)
{
    __asm__("ret");
}
static int assembled(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x;
}

__attribute__((format(printf, 1, 2))) static int format(const char *text, ...)
{ LOUPE_PROCEDURE(5)
    va_list args;
    va_start(args, text);
    int n = (LOUPE_CALL(6), vprintf(text, args));
    va_end(args);
    return n;
}

__attribute__((format_arg(1))) static const char *translate(const char *text)
{ LOUPE_PROCEDURE(7)
    { LOUPE_STATEMENT(8) puts("translated"); }
    return text;
}

__attribute__((warn_unused_result)) static int must_use(int x) { LOUPE_PROCEDURE(9) return (LOUPE_CALL(10), say(x)); }
__attribute__((cold, noinline)) static void unlikely(int x) { LOUPE_PROCEDURE(11) { LOUPE_STATEMENT(12) say(x); } }

static int library(const char *text)
{ LOUPE_PROCEDURE(13)
    double root = sqrt(strlen(text)) + fabs(-1.0);
    char *copy = (LOUPE_CALL(14), malloc(strlen(text) + 1));
    strcpy(copy, text);
    copy[0] = (char)toupper(copy[0]);
    { LOUPE_STATEMENT(15) puts(copy); }
    if (__builtin_expect((LOUPE_CALL(16), say(1)) == 1, 1))
        (LOUPE_CALL(17), puts(translate("likely")));
    (LOUPE_CALL(18), printf(translate("%d\n"), 3));
    { LOUPE_STATEMENT(19) free(copy); }
    return (int)root;
}

static int vla(int n)
{ LOUPE_PROCEDURE(20)
    int size[say(n)], s = (int)sizeof(int[say(n)]);
    { LOUPE_LOOP(21) for (int i = 0; i < n; i++)
        { LOUPE_ITERATION(22) { LOUPE_STATEMENT(23) size[i] = say(i); } } }
    return s + size[0];
}

extern int declared(int x) __asm__("renamed");
int declared(int x) { LOUPE_PROCEDURE(24) return (LOUPE_CALL(25), say(x)) + 1; }

int main(void)
{ LOUPE_PROCEDURE(26)
    int v[] = {1, 2, 3}, s = not_me(1) + small(2) + leaf(3) + (LOUPE_CALL(27), long_leaf(4)) + (LOUPE_CALL(28), looping(v, 3));
    s += targeted(5) + slow(6) + assembled(7) + (LOUPE_CALL(29), format("%d %s\n", (LOUPE_CALL(30), say(8)), "x")) + (LOUPE_CALL(31), library("text"));
    if (s < 0)
        (LOUPE_CALL(32), unlikely((LOUPE_CALL(33), must_use(1))));
    bare();
    return (s + (LOUPE_CALL(34), vla(2)) + (LOUPE_CALL(35), declared(9))) & 0;
}
