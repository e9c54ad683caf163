/* SPDX-License-Identifier: MIT */
/* Two ranks play ping-pong until the file STOP appears; READY is written when it has begun. */
#include "checksum.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, ball[4] = {1, 2, 3, 4};
    long rounds = 0;
    MPI_Init(&argc, &argv);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (; ball[0]; rounds++) {
        if (rank == 0) {
            if (rounds == 100)
                fclose(fopen(argv[1], "w"));
            if (rounds % 1000 == 999 && access(argv[2], F_OK) == 0)
                ball[0] = 0;
            /* @ping */
            MPI_Send(ball, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
            /* @pong-recv */
            MPI_Recv(ball, 4, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            /* @ping-recv */
            MPI_Recv(ball, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            /* @pong */
            MPI_Send(ball, 4, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("rounds %ld\n", rounds);
    MPI_Finalize();
    return 0;
}
