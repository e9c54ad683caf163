/* SPDX-License-Identifier: MIT */
/* A Monte Carlo loop over a procedure of a few nanoseconds: pi from random points. */
#include "watch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static double draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

__attribute__((noinline)) static int hit(void)
{
    double x = draw(), y = draw();
    return x * x + y * y < 1;
}

static double estimate(long points)
{
    long hits = 0;
    for (long i = 0; i < points; i++)
        hits += hit();
    return 4.0 * (double)hits / (double)points;
}

int main(int argc, char **argv)
{
    long points = argc > 1 ? atol(argv[1]) : 200000000;
    double begin = watch();
    double pi = estimate(points);
    printf("seconds %.6f\nresult %.9f\n", watch() - begin, pi);
    return 0;
}
