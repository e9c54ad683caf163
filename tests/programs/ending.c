/* SPDX-License-Identifier: MIT */
/* After 10 messages to the right, rank LAST ends in the way it is told to; the others wait for
 * what becomes of it, as far as the way lets them. */
#include "checksum.h"
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, token = 1;
    MPI_Init(&argc, &argv);
    const char *way = argc > 1 ? argv[1] : "finish";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, last = rank == size - 1;
    for (int i = 0; i < 10; i++)
        /* @shift */
        MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 0, left, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    /* @barrier */
    MPI_Barrier(MPI_COMM_WORLD);
    /* Nobody may still be inside the barrier when the last rank brings all of them down. */
    if (last)
        for (int i = 1; i < size; i++)
            MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    if (last && strcmp(way, "exit") == 0)
        exit(3);
    if (last && strcmp(way, "_exit") == 0)
        _exit(4);
    if (last && strcmp(way, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (last && strcmp(way, "segv") == 0)
        *(volatile int *)8 = 0;
    if (last && strcmp(way, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "loop") == 0) {
        /* READY says that all ranks are here; then 2 s without MPI, a mark of having gone on. */
        if (last) /* who has heard from everyone; rank 0 may be ahead of others */
            fclose(fopen(argv[2], "w"));
        for (int i = 0; i < 20; i++)
            pause_ms(100);
        if (rank == 0)
            fclose(fopen(argv[3], "w"));
    } else if (strcmp(way, "finish") != 0) {
        for (int i = 0; i < 100; i++)
            pause_ms(100);
    }
    print_checksum((uint64_t)token);
    MPI_Finalize();
    return 0;
}
