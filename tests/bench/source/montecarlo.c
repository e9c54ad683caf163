/* SPDX-License-Identifier: MIT */
/* A Monte Carlo loop over a procedure of a few nanoseconds: pi from random points. */
#include "watch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

/* Two random numbers, and whether their point lies in the circle: some four nanoseconds. */
__attribute__((noinline)) static int hit(void)
{
    double point[2];
    for (int i = 0; i < 2; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        point[i] = (double)(state >> 11) * 0x1p-53;
    }
    return point[0] * point[0] + point[1] * point[1] < 1;
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
