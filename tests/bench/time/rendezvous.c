/* SPDX-License-Identifier: MIT */
/* Messages of 1 MiB, which wait for their receiver. For some steps the sender is late, for some the
   receiver; the probes are now on the one side, now on the other. */
#include "stage.h"

enum { BYTES = 1 << 20 };

static char buffer[BYTES];

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

static void send_block(void)
{
    MPI_Send(buffer, BYTES, MPI_CHAR, run.rank + 1, 0, MPI_COMM_WORLD);
}

static void receive_block(void)
{
    MPI_Recv(buffer, BYTES, MPI_CHAR, run.rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Who has the fine share changes every 8 steps, who has more to do every 16. */
static uint64_t share(uint64_t x, long i, int side)
{
    double begin = clock_now();
    long grains = (i / 16 + side) % 2 ? 37500 : 25000;
    if ((i / 8 + side) % 2) {
        x = fine_share(x, grains + grains / 3);
        stage("fine_share", begin);
    } else {
        x = coarse_share(x, grains);
        stage("coarse_share", begin);
    }
    return x;
}

int main(int argc, char **argv)
{
    long steps = scale(argc, argv, 384);
    run_begin(&argc, &argv);
    memset(buffer, run.rank, sizeof buffer);
    uint64_t x = (uint64_t)run.rank + 1;
    for (long i = 0; i < steps; i++) {
        x = share(x, i, run.rank % 2);
        double begin = clock_now();
        if (run.rank % 2) {
            receive_block();
            stage("receive_block", begin);
        } else if (run.rank + 1 < run.ranks) {
            send_block();
            stage("send_block", begin);
        }
    }
    return run_end(x);
}
