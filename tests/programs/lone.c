/* SPDX-License-Identifier: MIT */
/* Ranks that work and communicate each with itself alone: whatever is done to one, by nobody else.
 * It says how long the work took. */
#include "checksum.h"
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t work(uint64_t x, int steps)
{
    for (int i = 0; i < steps; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t in = 1, out = 1;
    double worked = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < rounds; i++) {
        double began = seconds();
        out = work(out ^ in, 20000);
        worked += seconds() - began;
        /* @sendrecv */
        MPI_Sendrecv(&out, 1, MPI_UINT64_T, 0, 0, &in, 1, MPI_UINT64_T, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Request r;
        /* @irecv */
        MPI_Irecv(&in, 1, MPI_UINT64_T, 0, 0, MPI_COMM_SELF, &r);
        /* @send */
        MPI_Send(&out, 1, MPI_UINT64_T, 0, 0, MPI_COMM_SELF);
        /* @wait */
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    print_checksum(out);
    printf("worked %.6f\n", worked);
    MPI_Finalize();
    return 0;
}
