/* SPDX-License-Identifier: MIT */
/* Another tool on the profiling interface: counts the program's sends and says so at the end. */
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool rank %d sends %d\n", rank, sends);
    fflush(stdout);
    return PMPI_Finalize();
}
