/* SPDX-License-Identifier: MIT */
/* A token of COUNT ints goes round the ring ROUNDS times. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 10), count = argument(argc, argv, 2, 8);
    int *token = calloc((size_t)count, sizeof *token);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            /* @first-send */
            MPI_Send(token, count, MPI_INT, right, i, MPI_COMM_WORLD);
            /* @last-recv */
            MPI_Recv(token, count, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            /* @recv */
            MPI_Recv(token, count, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < count; k++)
                token[k] += rank * (k + 1);
            /* @send */
            MPI_Send(token, count, MPI_INT, right, i, MPI_COMM_WORLD);
        }
    }
    print_checksum(mix(1, token, (size_t)count * sizeof *token));
    free(token);
    MPI_Finalize();
    return 0;
}
