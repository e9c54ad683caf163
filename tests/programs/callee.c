/* SPDX-License-Identifier: MIT */
/* A library that calls MPI, built twice (WHICH is 1 or 2), opened and closed by dlopens.c. */
#include <mpi.h>

int call_mpi(int value)
{
    int sum = 0;
#if WHICH == 1
    /* @first */
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#else
    long other = value, total = 0;
    /* @second */
    MPI_Allreduce(&other, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum = (int)total;
#endif
    return sum + WHICH;
}
