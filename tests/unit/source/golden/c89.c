/* SPDX-License-Identifier: MIT */
/* FLAGS: -std=c90 */
/* C of 1989: declarations stand first in every block. */
#include <stdio.h>

static int say(x)
int x;
{ LOUPE_PROCEDURE(0)
    int copy = x;
    { LOUPE_STATEMENT(1) printf("%d\n", copy); }
    return copy;
}

static int blocks(int n)
{ LOUPE_PROCEDURE(2)
    int i, s = 0;
    { LOUPE_LOOP(3) for (i = 0; i < n; i++) { LOUPE_ITERATION(4) {
        int square = i * i;
        int same;
        { LOUPE_STATEMENT(5) same = say(square); }
        s += same;
    } } }
    { LOUPE_LOOP(6) while (n > 0) { LOUPE_ITERATION(7) {
        int half = (LOUPE_CALL(8), say(n)) / 2;
        n = half;
    } } }
    { LOUPE_LOOP(9) do { LOUPE_ITERATION(10) {
        int k = (LOUPE_CALL(11), say(s));
        s -= k + 1;
    } } while (s > 0); }
    {
        int last = (LOUPE_CALL(12), say(1));
        s += last;
    }
    return s;
}

static int implicit(n)
int n;
{ LOUPE_PROCEDURE(13)
    return (LOUPE_CALL(14), say(n));
}

int main(void)
{ LOUPE_PROCEDURE(15)
    int (*f)(int) = 0;
    f = implicit;
    return ((LOUPE_CALL(16), blocks(3)) + (LOUPE_CALL(17), implicit(2)) + (LOUPE_CALL(18), (*f)(3))) & 0;
}
