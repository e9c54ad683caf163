/* SPDX-License-Identifier: MIT */
/* One procedure whose visits take a few nanoseconds in one phase and microseconds in another. */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static double work(double x, int length)
{
    for (int i = 0; i < length; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

static double phase(double x, long visits, int length)
{
    for (long i = 0; i < visits; i++)
        x = work(x, length);
    return x;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    double begin = watch(), x = 1;
    for (int r = 0; r < rounds; r++) {
        x = phase(x, 4000000, 1);
        x = phase(x, 20000, 400);
    }
    printf("seconds %.6f\nresult %.9f\n", watch() - begin, x);
    return 0;
}
