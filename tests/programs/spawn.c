/* SPDX-License-Identifier: MIT */
/* Starts two more of itself; parents and children send to each other and take part in collectives
 * between the two worlds. */
#include "checksum.h"

static uint64_t with(MPI_Comm inter, int parent)
{
    int rank, remote, a[4], b[4] = {0};
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    for (int i = 0; i < 4; i++)
        a[i] = 10 * rank + i + 100 * parent;
    if (rank < remote) {
        MPI_Request r[2];
        /* @irecv */
        MPI_Irecv(b, 4, MPI_INT, MPI_ANY_SOURCE, 0, inter, &r[0]);
        /* @isend */
        MPI_Isend(a, 4, MPI_INT, rank, 0, inter, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    int root = !parent ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    /* @bcast */
    MPI_Bcast(b, 2, MPI_INT, root, inter);
    /* @allreduce */
    MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, inter);
    MPI_Comm all;
    MPI_Intercomm_merge(inter, !parent, &all);
    /* @merged */
    MPI_Bcast(b, 4, MPI_INT, 0, all);
    MPI_Comm_free(&all);
    return mix(1, b, sizeof b);
}

int main(int argc, char **argv)
{
    MPI_Comm inter, up;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&up);
    if (up != MPI_COMM_NULL) {
        with(up, 0);
        MPI_Comm_disconnect(&up);
    } else {
        /* @spawn */
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        uint64_t sum = with(inter, 1);
        MPI_Comm_disconnect(&inter);
        print_checksum(sum);
    }
    MPI_Finalize();
    return 0;
}
