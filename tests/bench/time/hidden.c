/* SPDX-License-Identifier: MIT */
/*
 * Probes whose cost is hidden: in a tiny procedure every operation waits for the one before, and
 * the processor works on the probe meanwhile. What a loop of probes alone takes is no measure of
 * what they cost here: with that constant taken out, the times are far too short.
 */
#include "stage.h"

__attribute__((noinline)) static uint64_t chain(uint64_t x)
{
    MIX(x), MIX(x), MIX(x), MIX(x), MIX(x), MIX(x), MIX(x), MIX(x);
    MIX(x), MIX(x), MIX(x), MIX(x), MIX(x), MIX(x), MIX(x), MIX(x);
    return x;
}

static uint64_t follow(uint64_t x, long times)
{
    for (long i = 0; i < times; i++)
        x = chain(x);
    return x;
}

static uint64_t compare(uint64_t x)
{
    uint64_t sum;
    MPI_Allreduce(&x, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    long steps = scale(argc, argv, 40);
    run_begin(&argc, &argv);
    uint64_t x = (uint64_t)run.rank + 1;
    for (long i = 0; i < steps; i++) {
        double begin = clock_now();
        x = follow(x, 1000000);
        stage("follow", begin);
        begin = clock_now();
        x += compare(x);
        stage("compare", begin);
    }
    return run_end(x);
}
