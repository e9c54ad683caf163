/* SPDX-License-Identifier: MIT */
/* COMMS communicators come and go, with the two ranks exchanged in every second one. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    int comms = argument(argc, argv, 1, 500);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < comms; i++) {
        int r;
        MPI_Comm dup, pair;
        /* @dup */
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        /* @split */
        MPI_Comm_split(dup, 0, i % 2 ? rank : -rank, &pair);
        MPI_Comm_rank(pair, &r);
        token += r;
        /* @swap */
        MPI_Sendrecv_replace(&token, 1, MPI_INT, 1 - r, 0, 1 - r, 0, pair, MPI_STATUS_IGNORE);
        /* @bcast */
        MPI_Bcast(&r, 1, MPI_INT, 0, pair);
        /* @free-dup */
        MPI_Comm_free(&dup);
        /* @free-pair */
        MPI_Comm_free(&pair);
    }
    print_checksum((uint64_t)token);
    MPI_Finalize();
    return 0;
}
