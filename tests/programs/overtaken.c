/* SPDX-License-Identifier: MIT */
/*
 * Rank 1 sends at once, after many calls of MPI; rank 2 sleeps a while and then sends. Rank 0 takes
 * what comes first. Where every call is made slow enough, rank 2 overtakes rank 1.
 */
#include "checksum.h"

#include <time.h>

enum { CALLS = 30, TAG = 7 };

static void sleep_a_while(void)
{
    struct timespec while_ = {.tv_nsec = 180 * 1000 * 1000};
    nanosleep(&while_, NULL);
}

static void send(int round)
{
    /* @send */
    MPI_Send(&round, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
}

static void say(int source)
{
    static int received;
    printf("message %d from %d\n", received++, source);
}

static void receive_two(int tag, uint64_t *sum)
{
    for (int i = 0; i < 2; i++) {
        int round;
        MPI_Status status;
        /* @any */
        MPI_Recv(&round, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        *sum += (uint64_t)(round * status.MPI_SOURCE);
        say(status.MPI_SOURCE);
    }
}

static void wait_for_two(uint64_t *sum)
{
    int rounds[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&rounds[i], 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++) {
        MPI_Status status;
        /* @wait */
        MPI_Wait(&requests[i], &status);
        *sum += (uint64_t)(rounds[i] * status.MPI_SOURCE);
        say(status.MPI_SOURCE);
    }
}

int main(int argc, char **argv)
{
    int rank;
    uint64_t sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && round == 2)
            wait_for_two(&sum);
        else if (rank == 0)
            receive_two(round ? MPI_ANY_TAG : TAG, &sum);
        for (int i = 0; rank == 1 && i < CALLS; i++)
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 2)
            sleep_a_while();
        if (rank == 1 || rank == 2)
            send(round);
    }
    if (rank == 0)
        printf("checksum %llu\n", (unsigned long long)sum);
    MPI_Finalize();
    return 0;
}
