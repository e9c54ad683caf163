/* SPDX-License-Identifier: MIT */
/* Procedures with a single caller: one in a hot loop, one that a callback reaches too. */
#include "work.h"

#include <stdlib.h>

static int step(int units)
{
    if (units % 100 == 0)
        work(1);
    work_sink += 1;
    return units & 1;
}

static int compare(const void *a, const void *b)
{
    work(1);
    return *(const int *)a - *(const int *)b;
}

static void dear(int units)
{
    work(units);
    if (units > 20)
        work_sink += 1;
}

int main(void)
{
    int odd = 0, numbers[8] = {8, 1, 7, 2, 6, 3, 5, 4};
    double begin = work_clock();
    for (int i = 0; i < 20000; i++)
        odd += step(i); /* @step */
    double middle = work_clock();
    for (int i = 0; i < 50; i++)
        dear(20); /* @dear */
    double end = work_clock();
    qsort(numbers, 8, sizeof *numbers, compare);
    odd += compare(&numbers[0], &numbers[1]) > 0; /* @compare */
    printf("steps %.6f\ndear %.6f\nodd %d\n", middle - begin, end - middle, odd);
    return 0;
}
