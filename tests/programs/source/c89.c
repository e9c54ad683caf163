/* SPDX-License-Identifier: MIT */
/* FLAGS: -std=c90 */
/* C of 1989: declarations stand first in every block. */
#include <stdio.h>

static int say(x)
int x;
{
    int copy = x;
    printf("%d\n", copy);
    return copy;
}

static int blocks(int n)
{
    int i, s = 0;
    for (i = 0; i < n; i++) {
        int square = i * i;
        int same;
        same = say(square);
        s += same;
    }
    while (n > 0) {
        int half = say(n) / 2;
        n = half;
    }
    do {
        int k = say(s);
        s -= k + 1;
    } while (s > 0);
    {
        int last = say(1);
        s += last;
    }
    return s;
}

static int implicit(n)
int n;
{
    return say(n);
}

int main(void)
{
    int (*f)(int) = 0;
    f = implicit;
    return (blocks(3) + implicit(2) + (*f)(3)) & 0;
}
