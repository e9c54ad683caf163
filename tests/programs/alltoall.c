/* SPDX-License-Identifier: MIT */
/* All-to-all in all its forms. Rank i sends (i + j + 1) elements to j in the v and w variants;
 * w takes ints to even ranks and doubles to odd ones. */
#include "checksum.h"

enum { MOST = 8 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 3), n = argument(argc, argv, 2, 4);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t room = (size_t)(size * (n + 2 * size));
    double *out = calloc(room, sizeof *out), *in = calloc(room, sizeof *in);
    int scount[MOST], rcount[MOST], at[MOST], sbytes[MOST], rbytes[MOST];
    MPI_Datatype stype[MOST], rtype[MOST];
    for (int j = 0, s = 0; j < size; j++, s += 2 * size) {
        scount[j] = rcount[j] = rank + j + 1;
        at[j] = s;
        sbytes[j] = rbytes[j] = s * (int)sizeof(double);
        stype[j] = j % 2 ? MPI_DOUBLE : MPI_INT;
        rtype[j] = rank % 2 ? MPI_DOUBLE : MPI_INT;
    }
    for (size_t i = 0; i < room; i++)
        out[i] = (double)i + 1000.0 * rank;
    uint64_t sum = 1;
    for (int i = 0; i < rounds; i++) {
        MPI_Request r;
        /* @alltoall */
        MPI_Alltoall(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, MPI_COMM_WORLD);
        sum = mix(sum, in, (size_t)(n * size) * sizeof *in);
        /* @in-place */
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_DOUBLE, MPI_COMM_WORLD);
        sum = mix(sum, in, (size_t)(n * size) * sizeof *in);
        /* @alltoallv */
        MPI_Alltoallv(out, scount, at, MPI_DOUBLE, in, rcount, at, MPI_DOUBLE, MPI_COMM_WORLD);
        /* @alltoallw */
        MPI_Alltoallw(out, scount, sbytes, stype, in, rcount, rbytes, rtype, MPI_COMM_WORLD);
        sum = mix(sum, in, room * sizeof *in);
        /* @ialltoall */
        MPI_Ialltoall(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, MPI_COMM_WORLD, &r);
        /* @wait */
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        /* @ialltoallv */
        MPI_Ialltoallv(out, scount, at, MPI_INT, in, rcount, at, MPI_INT, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        /* @ialltoallw */
        MPI_Ialltoallw(out, scount, sbytes, stype, in, rcount, rbytes, rtype, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        sum = mix(sum, in, room * sizeof *in);
    }
    print_checksum(sum);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
