/* SPDX-License-Identifier: MIT */
/* The program whose report is compared word by word: two ranks, fixed counts. */
#include "checksum.h"

static void exchange(int other, int *data, int count)
{
    if (other) {
        MPI_Send(data, count, MPI_INT, other, 0, MPI_COMM_WORLD);
        MPI_Recv(data, count, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, count, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, count, MPI_INT, other, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, data[1024] = {0}, sum[4] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 200; i++)
        exchange(1 - rank, data, 1024);
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(data, sum, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
