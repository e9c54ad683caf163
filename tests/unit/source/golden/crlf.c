/* SPDX-License-Identifier: MIT */
/* Lines that end with CR and LF, and a mark at the beginning. */
#include <stdio.h>
static int größe(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("%d\n", x); } \
    return x;
}
int main(void)
{ LOUPE_PROCEDURE(2)
    { LOUPE_LOOP(3) for (int i = 0; i < 2; i++) // comment \
    größe(5);
        { LOUPE_ITERATION(4) { LOUPE_STATEMENT(5) größe(i); } } }
    return (LOUPE_CALL(6), größe(0));
}