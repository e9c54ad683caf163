/* SPDX-License-Identifier: MIT */
/* Rank 0 sleeps 200 ms before each of three messages, to see where rank 1's waiting is booked: in
 * MPI_Recv, in MPI_Wait and not where the receive was posted, and in MPI_Barrier. */
#include "checksum.h"
#include <time.h>

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

int main(int argc, char **argv)
{
    int rank, value = 1;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sleep_ms(200);
        /* @send */
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        sleep_ms(200);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        sleep_ms(200);
    } else {
        /* @recv */
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* @irecv */
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
        /* @wait */
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    /* @barrier */
    MPI_Barrier(MPI_COMM_WORLD);
    print_checksum((uint64_t)value);
    MPI_Finalize();
    return 0;
}
