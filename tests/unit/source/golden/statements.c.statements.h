/* SPDX-License-Identifier: MIT */
/* A header with a procedure that is not inline, and one that is. */
#include <stdio.h>

static int helper(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("helper %d\n", x); }
    return x;
}

static inline int twice(int x)
{
    return helper(x) + helper(x);
}

static int in_header(int n)
{ LOUPE_PROCEDURE(2)
    int s = 0;
    { LOUPE_LOOP(3) for (int i = 0; i < n; i++)
        { LOUPE_ITERATION(4) s += twice((LOUPE_CALL(5), helper(i))); } }
    return s;
}
