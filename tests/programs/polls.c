/* SPDX-License-Identifier: MIT */
/* A thread that asks until MPI is there, and then uses MPI_COMM_WORLD at once, while the thread
 * that has called MPI_Init_thread may still be on its way out of it. */
#include "checksum.h"
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static int all[64];

static void *ask(void *unused)
{
    int there = 0, rank;
    for (; !there; sched_yield())
        MPI_Initialized(&there);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* What else is under way on the world comes after this on one rank, before it on another. */
    usleep(100000 * (rank % 2));
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    if (pthread_create(&thread, NULL, ask, NULL))
        return 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_join(thread, NULL);
    print_checksum(mix(1, all, sizeof all));
    MPI_Finalize();
    return 0;
}
