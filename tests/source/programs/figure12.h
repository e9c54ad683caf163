/* SPDX-License-Identifier: MIT */
/* What surrounds the example program of paper 1, Figure 12, so that its lines are the paper's. Work
 * is a multiple of one unit, so that times can be told from each other. */
#include "work.h"

#include <mpi.h>

static int rank, ranks;
static void P1(void), P2(void), P3(int turns), P4(void);

__attribute__((constructor)) static inline void begin(void)
{
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

__attribute__((destructor)) static inline void end(void)
{
    MPI_Finalize();
}
