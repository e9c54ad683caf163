/* SPDX-License-Identifier: MIT */
/* The blocking collectives. ROOT is 1; part i of the v variants has i + 1 elements. */
#include "checksum.h"

enum { MOST = 8, ROOT = 1 };

int main(int argc, char **argv)
{
    int rank, size, counts[MOST], at[MOST], total = 0;
    double a[256], b[256] = {0};
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
    MPI_Datatype d = MPI_DOUBLE;
    for (int i = 0; i < rounds; i++) {
        /* @barrier */
        MPI_Barrier(w);
        /* @bcast */
        MPI_Bcast(a, n, d, ROOT, w);
        /* @gather */
        MPI_Gather(a, n, d, b, n, d, ROOT, w);
        /* @gatherv */
        MPI_Gatherv(a, rank + 1, d, b, counts, at, d, ROOT, w);
        /* @scatter */
        MPI_Scatter(a, n, d, b, n, d, ROOT, w);
        /* @scatterv */
        MPI_Scatterv(a, counts, at, d, b, rank + 1, d, ROOT, w);
        /* @allgather */
        MPI_Allgather(a, n, d, b, n, d, w);
        /* @allgatherv */
        MPI_Allgatherv(a, rank + 1, d, b, counts, at, d, w);
        /* @reduce */
        MPI_Reduce(a, b, n, d, MPI_SUM, ROOT, w);
        /* @allreduce */
        MPI_Allreduce(a, b, n, d, MPI_MAX, w);
        /* @reduce-scatter */
        MPI_Reduce_scatter(a, b, counts, d, MPI_SUM, w);
        /* @reduce-scatter-block */
        MPI_Reduce_scatter_block(a, b, n, d, MPI_SUM, w);
        /* @scan */
        MPI_Scan(a, b, n, d, MPI_SUM, w);
        /* @exscan */
        MPI_Exscan(a, b, n, d, MPI_SUM, w);
        for (int k = 0; k < 256; k++)
            a[k] += b[k] / 8;
    }
    print_checksum(mix(1, a, sizeof a));
    MPI_Finalize();
    return 0;
}
