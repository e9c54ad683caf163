/* SPDX-License-Identifier: MIT */
/* Neighbourhood collectives on a directed ring whose ranks are those of the world reversed: each
 * sends to the next two, and receives from the two before. Then a line, at whose ends one neighbour
 * is MPI_PROC_NULL. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size, unequal[2] = {1, 2}, at[2] = {0, 8};
    double a[64], b[64] = {0};
    MPI_Aint bytes[2] = {0, 64};
    MPI_Comm reversed, ring, line;
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 3), n = argument(argc, argv, 2, 4);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &rank);
    MPI_Comm_size(reversed, &size);
    int to[2] = {(rank + 1) % size, (rank + 2) % size};
    int from[2] = {(rank + size - 1) % size, (rank + size - 2) % size};
    MPI_Dist_graph_create_adjacent(reversed, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Cart_create(reversed, 1, &size, (int[]){0}, 0, &line);
    for (int i = 0; i < 64; i++)
        a[i] = rank * 64 + i;
    MPI_Datatype d = MPI_DOUBLE, types[2] = {MPI_DOUBLE, MPI_DOUBLE};
    for (int i = 0; i < rounds; i++) {
        MPI_Request r;
        int equal[2] = {n, n};
        /* @allgather */
        MPI_Neighbor_allgather(a, n, d, b, n, d, ring);
        /* @allgatherv */
        MPI_Neighbor_allgatherv(a, n, d, b, equal, at, d, ring);
        /* @alltoall */
        MPI_Neighbor_alltoall(a, n, d, b, n, d, ring);
        /* @alltoallv */
        MPI_Neighbor_alltoallv(a, unequal, at, d, b, unequal, at, d, ring);
        /* @alltoallw */
        MPI_Neighbor_alltoallw(a, unequal, bytes, types, b, unequal, bytes, types, ring);
        /* @ialltoall */
        MPI_Ineighbor_alltoall(a, n, d, b, n, d, ring, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        /* @line */
        MPI_Neighbor_alltoall(a, n, d, b, n, d, line);
        /* @linev */
        MPI_Neighbor_alltoallv(a, equal, at, d, b, equal, at, d, line);
        for (int k = 0; k < 64; k++)
            a[k] += b[k] / 8;
    }
    print_checksum(mix(1, a, sizeof a));
    MPI_Comm_free(&line);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
