/* SPDX-License-Identifier: MIT */
/* A token goes round; whoever has it works, the others have a little of their own to do and wait.
   All probes lie on one path that crosses ranks at every step. */
#include "stage.h"

static uint64_t turn(uint64_t token, long grains)
{
    uint64_t sum = token;
    for (long i = 0; i < grains; i++)
        sum += grain(token + (uint64_t)i);
    return sum;
}

static uint64_t meanwhile(uint64_t own, long grains)
{
    return solid(own, grains);
}

static uint64_t receive_token(void)
{
    uint64_t token;
    MPI_Recv(&token, 1, MPI_UINT64_T, (run.rank + run.ranks - 1) % run.ranks, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return token;
}

static void pass_on(uint64_t token)
{
    MPI_Send(&token, 1, MPI_UINT64_T, (run.rank + 1) % run.ranks, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    long rounds = scale(argc, argv, 2000);
    run_begin(&argc, &argv);
    uint64_t token = 1, own = 2;
    for (long i = 0; i < rounds; i++) {
        double begin;
        if (run.rank > 0 || i > 0) {
            begin = clock_now();
            token = receive_token();
            stage("receive_token", begin);
        }
        begin = clock_now();
        token = turn(token, run.rank ? 3900 : 2600);
        stage("turn", begin);
        pass_on(token);
        begin = clock_now();
        own = meanwhile(own, 650);
        stage("meanwhile", begin);
    }
    if (run.rank == 0)
        token = receive_token();
    return run_end(token + own);
}
