/* SPDX-License-Identifier: MIT */
/* The large-count variants of MPI 4. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, a[64], b[64] = {0};
    MPI_Request r[2];
    MPI_Init(&argc, &argv);
    MPI_Count n = argument(argc, argv, 1, 8);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 64; i++)
        a[i] = rank * 64 + i;
    if (rank == 0)
        /* @send */
        MPI_Send_c(a, n, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        /* @recv */
        MPI_Recv_c(b, 64, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* @irecv */
    MPI_Irecv_c(b, 64, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &r[0]);
    /* @isend */
    MPI_Isend_c(a, n, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    /* @bcast */
    MPI_Bcast_c(b, n, MPI_INT, 0, MPI_COMM_WORLD);
    /* @allreduce */
    MPI_Allreduce_c(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Count counts[2] = {1, 2};
    MPI_Aint at[2] = {0, 8};
    if (rank == 1)
        counts[0] = 2, counts[1] = 3;
    /* @alltoallv */
    MPI_Alltoallv_c(a, counts, at, MPI_INT, b, counts, at, MPI_INT, MPI_COMM_WORLD);
    print_checksum(mix(1, b, sizeof b));
    MPI_Finalize();
    return 0;
}
