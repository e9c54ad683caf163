/* SPDX-License-Identifier: MIT */
/* The collectives with MPI_IN_PLACE. ROOT is 1; part i of the v variants has i + 1 elements. */
#include "checksum.h"

enum { MOST = 8, ROOT = 1 };

int main(int argc, char **argv)
{
    int rank, size, counts[MOST], at[MOST], total = 0;
    double a[256];
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 3), n = argument(argc, argv, 2, 4);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        at[i] = total;
        total += counts[i];
    }
    for (int i = 0; i < 256; i++)
        a[i] = rank * 7 + i;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype d = MPI_DOUBLE, none = MPI_DATATYPE_NULL;
    void *in_place = MPI_IN_PLACE;
    for (int i = 0; i < rounds; i++) {
        if (rank == ROOT) {
            /* @gather-root */
            MPI_Gather(in_place, 0, none, a, n, d, ROOT, w);
            /* @gatherv-root */
            MPI_Gatherv(in_place, 0, none, a, counts, at, d, ROOT, w);
            /* @scatter-root */
            MPI_Scatter(a, n, d, in_place, 0, none, ROOT, w);
            /* @scatterv-root */
            MPI_Scatterv(a, counts, at, d, in_place, 0, none, ROOT, w);
            /* @reduce-root */
            MPI_Reduce(in_place, a, n, d, MPI_SUM, ROOT, w);
        } else {
            /* @gather */
            MPI_Gather(a, n, d, NULL, 0, none, ROOT, w);
            /* @gatherv */
            MPI_Gatherv(a, rank + 1, d, NULL, NULL, NULL, none, ROOT, w);
            /* @scatter */
            MPI_Scatter(NULL, 0, none, a, n, d, ROOT, w);
            /* @scatterv */
            MPI_Scatterv(NULL, NULL, NULL, none, a, rank + 1, d, ROOT, w);
            /* @reduce */
            MPI_Reduce(a, NULL, n, d, MPI_SUM, ROOT, w);
        }
        /* @allgather */
        MPI_Allgather(in_place, 0, none, a, n, d, w);
        /* @allgatherv */
        MPI_Allgatherv(in_place, 0, none, a, counts, at, d, w);
        /* @allreduce */
        MPI_Allreduce(in_place, a, n, d, MPI_MAX, w);
        /* @reduce-scatter */
        MPI_Reduce_scatter(in_place, a, counts, d, MPI_MAX, w);
        /* @reduce-scatter-block */
        MPI_Reduce_scatter_block(in_place, a, n, d, MPI_MAX, w);
        /* @scan */
        MPI_Scan(in_place, a, n, d, MPI_MAX, w);
        /* @exscan */
        MPI_Exscan(in_place, a, n, d, MPI_MAX, w);
    }
    print_checksum(mix(1, a, sizeof a));
    MPI_Finalize();
    return 0;
}
