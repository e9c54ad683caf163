/* SPDX-License-Identifier: MIT */
/* A rank that forks: children that exit, that _exit, and that exec. Their doings are not the
 * rank's. */
#include "checksum.h"
#include <sys/wait.h>
#include <unistd.h>

static void child(int way)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (way == 0)
            exit(0);
        if (way == 1)
            _exit(0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    if (status)
        printf("wrong status %d\n", status);
}

int main(int argc, char **argv)
{
    int rank, token = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        /* @before */
        MPI_Sendrecv_replace(&token, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        child(1 + i % 2);
        /* @after */
        MPI_Sendrecv_replace(&token, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    print_checksum((uint64_t)token);
    MPI_Finalize();
    child(0);
    return 0;
}
