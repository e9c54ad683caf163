/* SPDX-License-Identifier: MIT */
/* ALSO: --all */
/* Procedures that are left alone, and calls without a probe. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int say(int x)
{
    printf("%d\n", x);
    return x;
}

__attribute__((no_instrument_function)) static int not_me(int x) { return say(x) + say(1); }
static inline int small(int x) { return say(x); }
static int leaf(int x) { int y = x * 2; y++; return y; }
static int long_leaf(int x)
{
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
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += v[i];
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
{
    va_list args;
    va_start(args, text);
    int n = vprintf(text, args);
    va_end(args);
    return n;
}

__attribute__((format_arg(1))) static const char *translate(const char *text)
{
    puts("translated");
    return text;
}

__attribute__((warn_unused_result)) static int must_use(int x) { return say(x); }
__attribute__((cold, noinline)) static void unlikely(int x) { say(x); }

static int library(const char *text)
{
    double root = sqrt(strlen(text)) + fabs(-1.0);
    char *copy = malloc(strlen(text) + 1);
    strcpy(copy, text);
    copy[0] = (char)toupper(copy[0]);
    puts(copy);
    if (__builtin_expect(say(1) == 1, 1))
        puts(translate("likely"));
    printf(translate("%d\n"), 3);
    free(copy);
    return (int)root;
}

static int vla(int n)
{
    int size[say(n)], s = (int)sizeof(int[say(n)]);
    for (int i = 0; i < n; i++)
        size[i] = say(i);
    return s + size[0];
}

static int chosen_one(int x) { return say(x) + 100; }
static int (*choose(void))(int)
{
    int (*one)(int) = chosen_one;
    for (volatile int i = 0; i < 20; i++)
        ;
    return one;
}
int chosen(int x) __attribute__((ifunc("choose")));

static int asm_goto(int x)
{
    for (int i = 0; i < 2; i++) {
        __asm__ goto("test %0, %0; jz %l[zero]" : : "r"(x) : "cc" : zero);
        say(i);
    }
    return 1;
zero:
    return say(0);
}

extern int declared(int x) __asm__("renamed");
int declared(int x) { return say(x) + 1; }

int main(void)
{
    int v[] = {1, 2, 3}, s = not_me(1) + small(2) + leaf(3) + long_leaf(4) + looping(v, 3);
    s += targeted(5) + slow(6) + assembled(7) + format("%d %s\n", say(8), "x") + library("text");
    if (s < 0)
        unlikely(must_use(1));
    bare();
    s += chosen(3) + asm_goto(1) + asm_goto(0);
    return (s + vla(2) + declared(9)) & 0;
}
