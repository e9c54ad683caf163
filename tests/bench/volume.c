/* SPDX-License-Identifier: MIT */
/* Sends ARG messages to itself: the segment must be as large after 10^8 as after 10^6. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000;
    int out = 1, in;
    MPI_Init(&argc, &argv);
    for (long i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
        MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}
