/* SPDX-License-Identifier: MIT */
/* Four ranks; the peer of a message is a rank of the world, whatever the communicator: one with
 * the ranks reversed, halves, an intercommunicator between them. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, r, size, token[4] = {0};
    MPI_Comm reversed, half, inter, merged;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    token[0] = rank;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &r);
    /* @reversed */
    MPI_Sendrecv_replace(token, 4, MPI_INT, (r + 1) % size, 0, (r + size - 1) % size, 0, reversed,
                         MPI_STATUS_IGNORE);
    /* @bcast-reversed */
    MPI_Bcast(token, 2, MPI_INT, 0, reversed);

    /* @split */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &r);
    if (r == 0)
        /* @half-send */
        MPI_Send(token, 3, MPI_INT, 1, 0, half);
    else
        /* @half-recv */
        MPI_Recv(token, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half, MPI_STATUS_IGNORE);

    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (rank + 1) % 2, 7, &inter);
    if (rank % 2 == 0)
        /* @inter-send */
        MPI_Send(token, 1, MPI_INT, 1 - r, 0, inter);
    else
        /* @inter-recv */
        MPI_Recv(token, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE);
    int root = rank % 2 ? 0 : r == 0 ? MPI_ROOT : MPI_PROC_NULL;
    /* @inter-bcast */
    MPI_Bcast(token, 4, MPI_INT, root, inter);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    /* @merged */
    MPI_Allreduce(MPI_IN_PLACE, token, 1, MPI_INT, MPI_SUM, merged);
    print_checksum(mix(1, token, sizeof token));
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
