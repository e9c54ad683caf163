/* SPDX-License-Identifier: MIT */
/* A procedure that is cheap from one place and dear from another, called in turn. */
#include "work.h"

static void step(int units)
{
    if (units > 0)
        work(units);
    else
        work_sink += 1;
}

int main(void)
{
    double cheap = 0, dear = 0;
    for (int i = 0; i < 200; i++) {
        double begin = work_clock();
        for (int k = 0; k < 1000; k++)
            step(0); /* @cheap */
        double middle = work_clock();
        step(10); /* @dear */
        cheap += middle - begin;
        dear += work_clock() - middle;
    }
    printf("cheap %.6f\ndear %.6f\n", cheap, dear);
    return 0;
}
