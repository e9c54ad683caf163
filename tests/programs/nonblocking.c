/* SPDX-License-Identifier: MIT */
/* The nonblocking collectives, all pending at once. ROOT is 1; part i of the v variants has i + 1
 * elements. */
#include "checksum.h"

enum { MOST = 8, ROOT = 1, ALL = 14, ROOM = 64 };

int main(int argc, char **argv)
{
    int rank, size, counts[MOST], at[MOST], total = 0;
    static double a[ROOM], b[ALL][ROOM];
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 3), n = argument(argc, argv, 2, 4);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        at[i] = total;
        total += counts[i];
    }
    for (int i = 0; i < ROOM; i++)
        a[i] = rank * 7 + i;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype d = MPI_DOUBLE;
    for (int i = 0; i < rounds; i++) {
        MPI_Request r[ALL];
        for (int k = 0; k < n; k++)
            b[1][k] = a[k];
        /* @ibarrier */
        MPI_Ibarrier(w, &r[0]);
        /* @ibcast */
        MPI_Ibcast(b[1], n, d, ROOT, w, &r[1]);
        /* @igather */
        MPI_Igather(a, n, d, b[2], n, d, ROOT, w, &r[2]);
        /* @igatherv */
        MPI_Igatherv(a, rank + 1, d, b[3], counts, at, d, ROOT, w, &r[3]);
        /* @iscatter */
        MPI_Iscatter(a, n, d, b[4], n, d, ROOT, w, &r[4]);
        /* @iscatterv */
        MPI_Iscatterv(a, counts, at, d, b[5], rank + 1, d, ROOT, w, &r[5]);
        /* @iallgather */
        MPI_Iallgather(a, n, d, b[6], n, d, w, &r[6]);
        /* @iallgatherv */
        MPI_Iallgatherv(a, rank + 1, d, b[7], counts, at, d, w, &r[7]);
        /* @ireduce */
        MPI_Ireduce(a, b[8], n, d, MPI_SUM, ROOT, w, &r[8]);
        /* @iallreduce */
        MPI_Iallreduce(a, b[9], n, d, MPI_MAX, w, &r[9]);
        /* @ireduce-scatter */
        MPI_Ireduce_scatter(a, b[10], counts, d, MPI_SUM, w, &r[10]);
        /* @ireduce-scatter-block */
        MPI_Ireduce_scatter_block(a, b[11], n, d, MPI_SUM, w, &r[11]);
        /* @iscan */
        MPI_Iscan(a, b[12], n, d, MPI_SUM, w, &r[12]);
        /* @iexscan */
        MPI_Iexscan(a, b[13], n, d, MPI_SUM, w, &r[13]);
        /* @waitall */
        MPI_Waitall(ALL, r, MPI_STATUSES_IGNORE);
        for (int k = 0; k < ROOM; k++)
            a[k] += b[9][k] / 8;
    }
    print_checksum(mix(mix(1, a, sizeof a), b, sizeof b));
    MPI_Finalize();
    return 0;
}
