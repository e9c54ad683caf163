/* SPDX-License-Identifier: MIT */
/* Neighbourhood collectives with other topologies than a distributed graph: a Cartesian line
 * without wrap-around, whose ends have neighbours that are nobody, and a graph; and collectives
 * that are made once and started often. */
#include "checksum.h"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#define PERSISTENT(x) MPIX_##x
#elif MPI_VERSION >= 4
#define PERSISTENT(x) MPI_##x
#endif

static uint64_t line(int rank, int size)
{
    int a[4] = {rank, rank + 1, rank + 2, rank + 3}, b[4] = {-1, -1, -1, -1}, periodic = 0;
    int counts[2] = {1, 2}, at[2] = {0, 1}, from[2] = {2, 1}, into[2] = {0, 2};
    MPI_Comm cart;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &cart);
    for (int i = 0; i < 3; i++) {
        /* @line-alltoall */
        MPI_Neighbor_alltoall(a, 2, MPI_INT, b, 2, MPI_INT, cart);
        /* @line-alltoallv */
        MPI_Neighbor_alltoallv(a, counts, at, MPI_INT, b, from, into, MPI_INT, cart);
        /* @line-allgather */
        MPI_Neighbor_allgather(a, 2, MPI_INT, b, 2, MPI_INT, cart);
    }
    MPI_Comm_free(&cart);
    return mix(1, b, sizeof b);
}

/* Rank 0 in the middle of a star. */
static uint64_t star(int rank, int size)
{
    int a[8], b[8] = {0}, index[8], edges[16], n = 0;
    MPI_Comm graph;
    for (int r = 0; r < size; r++) {
        for (int k = 1; r == 0 && k < size; k++)
            edges[n++] = k;
        if (r > 0)
            edges[n++] = 0;
        index[r] = n;
    }
    for (int i = 0; i < 8; i++)
        a[i] = rank + i;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    /* @star-alltoall */
    MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
    return mix(1, b, sizeof b);
}

static uint64_t persistent(int rank)
{
    int a[4] = {rank, 1, 2, 3}, b[4] = {0};
#ifdef PERSISTENT
    MPI_Request r[2];
    /* @allreduce-init */
    PERSISTENT(Allreduce_init)(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    PERSISTENT(Bcast_init)(a, 4, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    for (int i = 0; i < 5; i++) {
        /* @start-collective */
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        /* @startall-collective */
        MPI_Startall(1, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
#endif
    return mix(mix(1, b, sizeof b), a, sizeof a);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    print_checksum(line(rank, size));
    print_checksum(star(rank, size));
    print_checksum(persistent(rank));
    MPI_Finalize();
    return 0;
}
