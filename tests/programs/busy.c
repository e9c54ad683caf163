/* SPDX-License-Identifier: MIT */
/*
 * Rank 0 makes CALLS calls before each of three collectives, ROUNDS times, which the others make
 * at once: what watching costs there makes them wait, and without it nobody would.
 *
 *     busy ROUNDS CALLS
 */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size, rounds = argument(argc, argv, 1, 10), calls = argument(argc, argv, 2, 100);
    long mine, sum = 0;
    uint64_t check = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < calls && rank == 0; k++)
                MPI_Comm_size(MPI_COMM_WORLD, &size); /* @call */
            mine = rank + round + i;
            if (i == 0)
                MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); /* @allreduce */
            else if (i == 1)
                MPI_Bcast(&sum, 1, MPI_LONG, 0, MPI_COMM_WORLD); /* @bcast */
            else
                MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, size - 1,
                           MPI_COMM_WORLD); /* @reduce */
            check = mix(check, &sum, sizeof sum);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier */
    }
    print_checksum(check);
    MPI_Finalize();
    return 0;
}
