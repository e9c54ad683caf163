/* SPDX-License-Identifier: MIT */
/* Statements of C wherever they can stand: bodies without braces, labels, switch, expressions. */
#include "statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

static int step(int x)
{ LOUPE_PROCEDURE(6)
    calls++;
    { LOUPE_STATEMENT(7) printf("step %d\n", x); }
    return x + 1;
}

static void note(const char *text) { LOUPE_PROCEDURE(8) calls++; { LOUPE_STATEMENT(9) puts(text); } }

static int (*volatile pointer)(int) = step;

struct pair {
    int a, b;
};

static struct pair make(int a)
{ LOUPE_PROCEDURE(10)
    struct pair p;
    { LOUPE_STATEMENT(11) p.a = step(a); }
    { LOUPE_STATEMENT(12) p.b = step(a + 1); }
    return p;
}

/* a definition in the old style */
static int old(a, b)
int a;
int b;
{ LOUPE_PROCEDURE(13)
    return (LOUPE_CALL(14), step(a)) + (LOUPE_CALL(15), step(b));
}

static int bodies(int n)
{ LOUPE_PROCEDURE(16)
    int i, s = 0;
    { LOUPE_LOOP(17) for (i = 0; i < n; i++) { LOUPE_ITERATION(18) { LOUPE_STATEMENT(19) s += step(i); } } }
    { LOUPE_LOOP(20) for (i = 0; i < n; i++)
        { LOUPE_ITERATION(21) { LOUPE_LOOP(22) for (s = 0; s < 2; s++) { LOUPE_ITERATION(23) { LOUPE_STATEMENT(24) step(s); } } } } }
    { LOUPE_LOOP(25) for (i = 0; i < n; i++) { LOUPE_ITERATION(26) if (i & 1) { LOUPE_STATEMENT(27) step(i); } else { LOUPE_STATEMENT(28) note("even"); } } }
    if (n) { LOUPE_LOOP(29) for (i = 0; i < n; i++) { LOUPE_ITERATION(30) { LOUPE_STATEMENT(31) step(i); } } } else { LOUPE_STATEMENT(32) note("none"); }
    { LOUPE_LOOP(33) while (s < 12) { LOUPE_ITERATION(34) { LOUPE_STATEMENT(35) s = step(s); } } }
    { LOUPE_LOOP(36) do { LOUPE_ITERATION(37) { LOUPE_STATEMENT(38) s = step(s); } } while (s < 15); }
    { LOUPE_LOOP(39) do { LOUPE_ITERATION(40) { { LOUPE_STATEMENT(41) s += step(s); } } } while (s < 20); }
    do { { LOUPE_STATEMENT(42) note("once"); } } while (0);
    if (n) { LOUPE_STATEMENT(43) note("yes"); } else if (s) { LOUPE_STATEMENT(44) note("maybe"); } else { LOUPE_STATEMENT(45) note("no"); }
    if (n) ; else { LOUPE_STATEMENT(46) note("empty"); }
    { LOUPE_LOOP(47) for (;;) { LOUPE_ITERATION(48) { if ((LOUPE_CALL(49), step(s)) > 3) break; } } }
    { LOUPE_LOOP(50) while ((LOUPE_CALL(52), step(n--)) > 3) { LOUPE_ITERATION(51) ; } }
    { LOUPE_LOOP(53) for (i = (LOUPE_CALL(55), step(0)); (LOUPE_CALL(56), step(i)) < 5; i = (LOUPE_CALL(57), step(i))) { LOUPE_ITERATION(54) continue; } }
    { { LOUPE_STATEMENT(58) note("block"); } } { ; { LOUPE_STATEMENT(59) note("another"); } } { LOUPE_STATEMENT(60) note("same"); } { LOUPE_STATEMENT(61) note("line"); }
    return s;
}

static int labels(int n)
{ LOUPE_PROCEDURE(62)
    int i = 0;
    goto in;
again:
    { LOUPE_STATEMENT(63) note("again"); }
    if (++i < 2)
        goto again;
in: { LOUPE_STATEMENT(64) step(n); }
    switch (n) {
    case 0:
        { LOUPE_STATEMENT(65) note("zero"); }
        break;
    case 1: case 2: { LOUPE_STATEMENT(66) note("one or two"); } /* fall through */
    case 3: { LOUPE_LOOP(67) for (i = 0; i < 2; i++) { LOUPE_ITERATION(68) { LOUPE_STATEMENT(69) step(i); } } } break;
    case 4: { { LOUPE_STATEMENT(70) note("four"); } break; }
    case 5 ... 7: { LOUPE_STATEMENT(71) step(n); } break;
    default: { LOUPE_STATEMENT(72) note("other"); }
    }
    switch (n) case 1: { LOUPE_STATEMENT(73) note("bare"); }
    if (n > 3) goto out;
    { LOUPE_STATEMENT(74) note("stays"); }
out:
    return n;
}

static int expressions(int n)
{ LOUPE_PROCEDURE(75)
    int s = n ? (LOUPE_CALL(76), step(n)) : (LOUPE_CALL(77), old(1, 2));
    int a[3] = {(LOUPE_CALL(78), step(1)), (LOUPE_CALL(79), step(2))}, b = (LOUPE_CALL(80), step(3)), c = (LOUPE_CALL(81), step((LOUPE_CALL(82), step((LOUPE_CALL(83), step(4))))));
    struct pair p = (LOUPE_CALL(84), make(5)), q = {.a = (LOUPE_CALL(85), step(6))};
    int value = ({ int t = (LOUPE_CALL(86), step(7)); { LOUPE_STATEMENT(87) note("inside"); } t + (LOUPE_CALL(88), step(8)); });
    int last = ({ { LOUPE_STATEMENT(89) note("value"); } (LOUPE_CALL(90), step(9)); });
    { LOUPE_STATEMENT(91) (void)step(10); }
    { LOUPE_STATEMENT(92) (step)(11); }
    ((void)0, (LOUPE_CALL(93), note("comma")));
    s += a[(LOUPE_CALL(94), step(0)) - 1] + (LOUPE_CALL(95), make(12)).b + (int)sizeof(step(13)) + ((LOUPE_CALL(96), step(14)) && (LOUPE_CALL(97), step(15))) + !(LOUPE_CALL(98), step(16));
    s = (LOUPE_CALL(99), step(17)) ?: (LOUPE_CALL(100), step(18));
    s -= -(LOUPE_CALL(101), step(19));
    { LOUPE_STATEMENT(102) a[1] = step(20); }
    a[(LOUPE_CALL(103), step(0))] = 2;
    { LOUPE_STATEMENT(104) *(&s) = step(21); }
    { LOUPE_STATEMENT(105) s = c = step(22); }
    { LOUPE_LOOP(106) for (struct pair *r = &(struct pair){(LOUPE_CALL(108), step(23)), 0}; r; r = NULL) { LOUPE_ITERATION(107) { LOUPE_STATEMENT(109) note("literal"); } } }
    __typeof__(step(1)) typed = 1;
    return s + b + p.b + q.a + value + last + typed + (LOUPE_CALL(110), pointer(24)) + (LOUPE_CALL(111), (*pointer)(25)) +
           _Generic(step(26), int: 1, default: 2);
}

static void finish(void)
{ LOUPE_PROCEDURE(112)
    { LOUPE_STATEMENT(113) printf("%d calls\n", calls); }
}

int main(int argc, char **argv)
{ LOUPE_PROCEDURE(114)
    int x = (int)strlen(argv[0]) * 0 + argc;
    { LOUPE_STATEMENT(115) atexit(finish); }
    { LOUPE_STATEMENT(116) bodies(3); }
    { LOUPE_LOOP(117) for (int i = 0; i < 9; i++)
        { LOUPE_ITERATION(118) { LOUPE_STATEMENT(119) labels(i); } } }
    { LOUPE_STATEMENT(120) expressions(x); }
    { LOUPE_STATEMENT(121) in_header(2); }
    if (x == 1)
        (LOUPE_CALL(122), exit((LOUPE_CALL(123), step(2))));
    return 0;
}
