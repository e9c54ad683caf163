/* SPDX-License-Identifier: MIT */
/* Code that is included in the middle of something, or twice. */
#include <stdio.h>

static int say(int x)
{
    printf("%d\n", x);
    return x;
}

static int uses(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
#include "fragments-body.inc"
    }
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
{
    return say(x) + say(x + 1);
}
#line 33 "fragments.c"

int main(void)
{
    return (uses(2) + first(1) + second(2) + moved(3)) & 0;
}
