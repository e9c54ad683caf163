/* SPDX-License-Identifier: MIT */
/* A daemon's habit: closes every descriptor it did not open itself, before MPI_Init, but for those
 * that the launcher names in the environment. */
#include "checksum.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, value = 1, sum = 0;
    const char *keep = getenv("PMI_FD");
    for (int fd = 3; fd < 1024; fd++)
        if (!keep || fd != atoi(keep))
            close(fd);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        /* @allreduce */
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    print_checksum((uint64_t)sum);
    MPI_Finalize();
    return 0;
}
