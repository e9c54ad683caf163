/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into programs that run on several hosts with MPICH over UCX and TCP, which hangs in
 * MPI_Finalize about every other time: closing a connection waits there for an answer from the
 * other side, which gives none once its own connections are closed. A rank that closes while others
 * are still inside MPI gets its answers early and is gone when they ask. So all leave MPI alone for
 * a moment first.
 */
#include <mpi.h>
#include <time.h>

int MPI_Finalize(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    return PMPI_Finalize();
}
