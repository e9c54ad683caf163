/* SPDX-License-Identifier: MIT */
/* Code that is included in the middle of something, or twice. */
#include <stdio.h>

static int say(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("%d\n", x); }
    return x;
}

static int uses(int n)
{ LOUPE_PROCEDURE(2)
    int s = 0;
    { LOUPE_LOOP(3) for (int i = 0; i < n; i++) {
#include "fragments-body.inc"
    } }
    for (int i = 0; i < n; i++)
#include "fragments-body.inc"
    return s;
}

#define NAME first
#include "fragments-twice.inc"
#undef NAME
#define NAME second
#include "fragments-twice.inc"

#line 1000 "elsewhere.y"
static int moved(int x)
{ LOUPE_PROCEDURE(4)
    return (LOUPE_CALL(5), say(x)) + (LOUPE_CALL(6), say(x + 1));
}
#line 33 "fragments.c"

int main(void)
{ LOUPE_PROCEDURE(7)
    return ((LOUPE_CALL(8), uses(2)) + first(1) + second(2) + (LOUPE_CALL(9), moved(3))) & 0;
}
