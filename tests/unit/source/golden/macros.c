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
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("%d\n", x); }
    return x;
}

MAKE(made)

static int uses(int n)
{ LOUPE_PROCEDURE(2)
    { LOUPE_LOOP(3) EACH(i, n) { LOUPE_ITERATION(4) { { LOUPE_STATEMENT(5) say(i); } } } }
    { LOUPE_LOOP(6) EACH(i, n) { LOUPE_ITERATION(7) (LOUPE_CALL(8), say(i)); } }
    { LOUPE_LOOP(9) EACH(i, n) EACH(j, 2) (LOUPE_CALL(10), say(i + j)); }
    EACH(i, n) TWICE(n);
    { LOUPE_LOOP(11) EACH(i, n) TWICE_SAFE(i); }
    IF_EACH(n, i, 2) (LOUPE_CALL(12), say(i));
    { DECLARE_EACH(k, n) { { LOUPE_STATEMENT(13) say(k); } } { LOUPE_STATEMENT(14) say(k); } }
    { LOUPE_LOOP(15) WHOLE(i, n); }
    { LOUPE_LOOP(16) for (int i = 0; i < n; i++) SAY(i); }
    for (int i = 0; i < n; i++) BEGIN (LOUPE_CALL(17), say(i)); END
    CALL(3);
    CALL ARGUMENTS;
    say ARGUMENTS;
    TEXT(say(4));
    assert(say(1) == 1);
    EMPTY (LOUPE_CALL(18), say(6));
    n = PLUS (LOUPE_CALL(19), say(7));
    MPI_DO(say(8));
    { LOUPE_LOOP(20) UNTIL(n) { LOUPE_ITERATION(21) n += (LOUPE_CALL(22), say(2)); } }
    if (n) EMPTY (LOUPE_CALL(23), say(9));
    return n;
}

static int conditional(int n)
{ LOUPE_PROCEDURE(24)
    int s = 0;
#if 1
    for (int i = 0; i < n; i++)
#else
    while (never this)
#endif
        { LOUPE_STATEMENT(25) s += say(i); }
#ifdef NEVER
    if (n > 5)
#endif
        { LOUPE_STATEMENT(26) say(s); }
    { LOUPE_STATEMENT(27) s += say(
#ifdef NEVER
        1
#else
        2
#endif
    ); }
    for (int i = 0; i < n; i++) {
#ifdef NEVER
        say(100);
    }
#else
        { LOUPE_STATEMENT(28) say(i); }
    }
#endif
#if 1
    { LOUPE_STATEMENT(29) say(1); }
#endif
    s = (LOUPE_CALL(30), say(1))
#if 1
        + (LOUPE_CALL(31), say(2))
#endif
        ;
    return s;
}

static int /* a comment */ odd /* here */ (int n) /* and here */
{ LOUPE_PROCEDURE(32) // the brace
    /* before */ { LOUPE_STATEMENT(33) say /* between */ ( /* inside */ n /* after */ ) /* ; */ ; }
    { LOUPE_STATEMENT(34) sa\
y(1); }
    { LOUPE_STATEMENT(35) say(2); } { LOUPE_STATEMENT(36) say(3); } // say(4);
    { LOUPE_LOOP(37) for /* ( */ (int i = 0; /* ) { */ i < n; i++) // comment
        /* { */ { LOUPE_ITERATION(38) { LOUPE_STATEMENT(39) say(i); } } } /* } */
    const char *text = "{ say(5); } // \" ('"; char c = '"';
    int \
i = (LOUPE_CALL(40), say(6)), ü = (LOUPE_CALL(41), say(7));
    return *text + c + i + ü;
}

int main(void)
{ LOUPE_PROCEDURE(42)
    return (made(1) + (LOUPE_CALL(43), uses(3)) + (LOUPE_CALL(44), conditional(2)) + (LOUPE_CALL(45), odd(2))) & 0;
}
