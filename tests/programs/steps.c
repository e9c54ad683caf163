/* SPDX-License-Identifier: MIT */
/* Does ten Allreduces each time a line arrives in the named pipe that rank 0 reads, and says so;
 * ends with the pipe. For what others do to it in between. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, go = 1, sum = 0;
    char line[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *pipe = rank == 0 && argc > 1 ? fopen(argv[1], "r") : NULL;
    for (int step = 0;; step++) {
        if (rank == 0)
            go = pipe && fgets(line, sizeof line, pipe) != NULL;
        /* @go */
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!go)
            break;
        for (int i = 0; i < 10; i++)
            /* @work */
            MPI_Allreduce(&go, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            printf("step %d\n", step);
            fflush(stdout);
        }
    }
    print_checksum((uint64_t)sum);
    MPI_Finalize();
    return 0;
}
