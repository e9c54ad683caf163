/* SPDX-License-Identifier: MIT */
/* ALSO: --all */
/* Statements of C wherever they can stand: bodies without braces, labels, switch, expressions. */
#include "statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

static int step(int x)
{
    calls++;
    printf("step %d\n", x);
    return x + 1;
}

static void note(const char *text) { calls++; puts(text); }

static int (*volatile pointer)(int) = step;

struct pair {
    int a, b;
};

static struct pair make(int a)
{
    struct pair p;
    p.a = step(a);
    p.b = step(a + 1);
    return p;
}

/* a definition in the old style */
static int old(a, b)
int a;
int b;
{
    return step(a) + step(b);
}

static int bodies(int n)
{
    int i, s = 0;
    for (i = 0; i < n; i++) s += step(i);
    for (i = 0; i < n; i++)
        for (s = 0; s < 2; s++) step(s);
    for (i = 0; i < n; i++) if (i & 1) step(i); else note("even");
    if (n) for (i = 0; i < n; i++) step(i); else note("none");
    while (s < 12) s = step(s);
    do s = step(s); while (s < 15);
    do { s += step(s); } while (s < 20);
    do { note("once"); } while (0);
    if (n) note("yes"); else if (s) note("maybe"); else note("no");
    if (n) ; else note("empty");
    for (;;) { if (step(s) > 3) break; }
    while (step(n--) > 3) ;
    for (i = step(0); step(i) < 5; i = step(i)) continue;
    { note("block"); } { ; note("another"); } note("same"); note("line");
    return s;
}

static int labels(int n)
{
    int i = 0;
    goto in;
again:
    note("again");
    if (++i < 2)
        goto again;
in: step(n);
    switch (n) {
    case 0:
        note("zero");
        break;
    case 1: case 2: note("one or two"); /* fall through */
    case 3: for (i = 0; i < 2; i++) step(i); break;
    case 4: { note("four"); break; }
    case 5 ... 7: step(n); break;
    default: note("other");
    }
    switch (n) case 1: note("bare");
    if (n > 3) goto out;
    note("stays");
out:
    return n;
}

static int expressions(int n)
{
    int s = n ? step(n) : old(1, 2);
    int a[3] = {step(1), step(2)}, b = step(3), c = step(step(step(4)));
    struct pair p = make(5), q = {.a = step(6)};
    int value = ({ int t = step(7); note("inside"); t + step(8); });
    int last = ({ note("value"); step(9); });
    (void)step(10);
    (step)(11);
    ((void)0, note("comma"));
    s += a[step(0) - 1] + make(12).b + (int)sizeof(step(13)) + (step(14) && step(15)) + !step(16);
    s = step(17) ?: step(18);
    s -= -step(19);
    a[1] = step(20);
    a[step(0)] = 2;
    *(&s) = step(21);
    s = c = step(22);
    for (struct pair *r = &(struct pair){step(23), 0}; r; r = NULL) note("literal");
    __typeof__(step(1)) typed = 1;
    return s + b + p.b + q.a + value + last + typed + pointer(24) + (*pointer)(25) +
           _Generic(step(26), int: 1, default: 2);
}

static int (*table[256])(int);

static int named(int n)
{
    table['\\'] = table["\"x"[0]] = step;
    return table['\\'](n) + table["\"x"[0]](n);
}

static void finish(void)
{
    printf("%d calls\n", calls);
}

int main(int argc, char **argv)
{
    int x = (int)strlen(argv[0]) * 0 + argc;
    atexit(finish);
    bodies(3);
    for (int i = 0; i < 9; i++)
        labels(i);
    expressions(x);
    in_header(2);
    named(1);
    if (x == 1)
        exit(step(2));
    return 0;
}
