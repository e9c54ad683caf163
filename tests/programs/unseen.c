/* SPDX-License-Identifier: MIT */
/* A receive is posted, measurement goes off, it completes, measurement goes on: its handle is
 * then that of something else. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int a = 3, b = 0;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    /* @recv */
    MPI_Irecv(&b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    MPI_Pcontrol(0);
    MPI_Send(&a, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    for (int i = 0; i < 20; i++) {
        /* @send */
        MPI_Isend(&a, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r);
        MPI_Recv(&b, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    print_checksum((uint64_t)b);
    MPI_Finalize();
    return 0;
}
