/* SPDX-License-Identifier: MIT */
/* Unequal shares and an Allreduce: who is last changes from step to step, and the one with the
   longer time has not always the more probes. */
#include "stage.h"

static uint64_t fine_share(uint64_t x, long grains)
{
    uint64_t sum = x;
    for (long i = 0; i < grains; i++)
        sum += grain(x + (uint64_t)i);
    return sum;
}

static uint64_t coarse_share(uint64_t x, long grains)
{
    return solid(x, grains);
}

static uint64_t reduce_all(uint64_t x)
{
    uint64_t sum;
    MPI_Allreduce(&x, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    long steps = scale(argc, argv, 2000);
    run_begin(&argc, &argv);
    uint64_t x = (uint64_t)run.rank + 1;
    for (long i = 0; i < steps; i++) {
        /* The fine share is the longer one two times out of three, with probes always. */
        int turn = (int)((i + run.rank) % run.ranks);
        double begin = clock_now();
        if (turn == 0) {
            x = fine_share(x, i % 3 ? 7500 : 3750);
            stage("fine_share", begin);
        } else {
            x = coarse_share(x, 5600);
            stage("coarse_share", begin);
        }
        begin = clock_now();
        x += reduce_all(x);
        stage("reduce_all", begin);
    }
    return run_end(x);
}
