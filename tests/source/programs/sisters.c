/* SPDX-License-Identifier: MIT */
/* Two calls in one expression: the order in which a compiler prepares them is its own business. */
#include "work.h"

static double took[2]; /* each of them, by its own clock */

static int once(int units)
{
    double begin = work_clock();
    work(units);
    took[0] += work_clock() - begin;
    return 1;
}

static int twice(int units)
{
    double begin = work_clock();
    work(2 * units);
    took[1] += work_clock() - begin;
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
    printf("sum %d\nonce %.9f\ntwice %.9f\n", sum, took[0], took[1]);
    return 0;
}
