/* SPDX-License-Identifier: MIT */
/* A header with a procedure that is not inline, and one that is. */
#include <stdio.h>

static int helper(int x)
{
    printf("helper %d\n", x);
    return x;
}

static inline int twice(int x)
{
    return helper(x) + helper(x);
}

static int in_header(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += twice(helper(i));
    return s;
}
