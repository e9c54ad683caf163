/* SPDX-License-Identifier: MIT */
/* Macros that are loops, calls, braces, parts of statements; conditional compilation; comments and
 * line ends between tokens. */
#include <assert.h>
#include <stdio.h>

#define EACH(i, n)      for (int i = 0; i < (n); i++)
#define TWICE(x)        say(x); say(x)
#define TWICE_SAFE(x)   do { say(x); say(x); } while (0)
#define CALL            say
#define ARGUMENTS       (5)
#define BEGIN           {
#define END             }
#define IF_EACH(c, i, n) if (c) EACH(i, n)
#define DECLARE_EACH(i, n) int i; for (i = 0; i < (n); i++)
#define TEXT(x)         printf("%s = %d\n", #x, x)
#define WHOLE(i, n)     for (int i = 0; i < (n); i++) say(i)
#define SAY(x)          say(x)
#define MAKE(name)      static int name(int x) { return say(x) + say(x); }
#define MPI_DO(x)       MPI_Barrier(x)
#define EMPTY
#define PLUS            say(1) +
#define UNTIL(x)        while ((x) < 10)

static int MPI_Barrier(int x)
{
    return x;
}

static int say(int x)
{
    printf("%d\n", x);
    return x;
}

MAKE(made)

static int uses(int n)
{
    EACH(i, n) { say(i); }
    EACH(i, n) say(i);
    EACH(i, n) EACH(j, 2) say(i + j);
    EACH(i, n) TWICE(n);
    EACH(i, n) TWICE_SAFE(i);
    IF_EACH(n, i, 2) say(i);
    { DECLARE_EACH(k, n) { say(k); } say(k); }
    WHOLE(i, n);
    for (int i = 0; i < n; i++) SAY(i);
    for (int i = 0; i < n; i++) BEGIN say(i); END
    CALL(3);
    CALL ARGUMENTS;
    say ARGUMENTS;
    TEXT(say(4));
    assert(say(1) == 1);
    EMPTY say(6);
    n = PLUS say(7);
    MPI_DO(say(8));
    UNTIL(n) n += say(2);
    if (n) EMPTY say(9);
    return n;
}

static int conditional(int n)
{
    int s = 0;
#if 1
    for (int i = 0; i < n; i++)
#else
    while (never this)
#endif
        s += say(i);
#ifdef NEVER
    if (n > 5)
#endif
        say(s);
    s += say(
#ifdef NEVER
        1
#else
        2
#endif
    );
    for (int i = 0; i < n; i++) {
#ifdef NEVER
        say(100);
    }
#else
        say(i);
    }
#endif
#if 1
    say(1);
#endif
    s = say(1)
#if 1
        + say(2)
#endif
        ;
    return s;
}

static int /* a comment */ odd /* here */ (int n) /* and here */
{ // the brace
    /* before */ say /* between */ ( /* inside */ n /* after */ ) /* ; */ ;
    sa\
y(1);
    say(2); say(3); // say(4);
    for /* ( */ (int i = 0; /* ) { */ i < n; i++) // comment
        /* { */ say(i); /* } */
    const char *text = "{ say(5); } // \" ('"; char c = '"';
    int \
i = say(6), ü = say(7);
    return *text + c + i + ü;
}

int main(void)
{
    return (made(1) + uses(3) + conditional(2) + odd(2)) & 0;
}
