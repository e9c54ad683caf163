/* SPDX-License-Identifier: MIT */
/* Visits of few instructions that take long, as each waits for the one before: some 120 ns. */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static double divide(double x)
{
    for (int i = 0; i < 25; i++)
        x = 1 / (x + 1.5);
    return x;
}

static double visits(int count)
{
    double x = 1;
    for (int i = 0; i < count; i++)
        x += divide(x);
    return x;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2000000;
    double begin = watch(), x = visits(count);
    printf("seconds %.6f\nresult %.9f\n", watch() - begin, x);
    return 0;
}
