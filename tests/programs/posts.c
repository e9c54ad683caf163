/* SPDX-License-Identifier: MIT */
/* Messages to oneself, posted as fast as can be. */
#include "checksum.h"

int main(int argc, char **argv)
{
    long sum = 0;
    MPI_Init(&argc, &argv);
    int exchanges = argument(argc, argv, 1, 1000);
    for (int i = 0; i < exchanges; i++) {
        MPI_Request requests[2];
        int in = 0;
        MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]); /* @irecv */
        MPI_Isend(&i, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]);  /* @isend */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                 /* @waitall */
        sum += in;
    }
    print_checksum(mix(1, &sum, sizeof sum));
    MPI_Finalize();
    return 0;
}
