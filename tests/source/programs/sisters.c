/* SPDX-License-Identifier: MIT */
/* Two calls in one expression: the order in which a compiler prepares them is its own business. */
#include "work.h"

static int once(int units)
{
    work(units);
    return 1;
}

static int twice(int units)
{
    work(2 * units);
    return 2;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 200; i++)
        sum += once(2) + twice(2); /* @sisters */
    sum += once(1);
    sum +=
        twice(1); /* called from two places each: a statement that is the only one has no probe */
    printf("sum %d\n", sum);
    return 0;
}
