/* SPDX-License-Identifier: MIT */
/*
 * The last rank receives late: ROUNDS times rank 0 sends it 1 MiB, which waits for its receive, by
 * each of three calls; the receive begins MS milliseconds after both were together. Prints how long
 * rank 0 waited in truth, from the beginning of its call to that of the receive: the hosts of the
 * tests are one machine, whose clock the answers carry.
 *
 *     patient MS ROUNDS
 */
#include "checksum.h"
#include <time.h>

enum { BYTES = 1 << 20, CALLS = 3 };
static char data[BYTES];

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t send(int how, int to)
{
    int64_t since = now_ns();
    MPI_Request request;
    if (how == 0) {
        MPI_Send(data, BYTES, MPI_CHAR, to, 1, MPI_COMM_WORLD); /* @send */
    } else if (how == 1) {
        MPI_Ssend(data, BYTES, MPI_CHAR, to, 1, MPI_COMM_WORLD); /* @ssend */
    } else {
        MPI_Isend(data, BYTES, MPI_CHAR, to, 1, MPI_COMM_WORLD, &request);
        since = now_ns();
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* @wait */
    }
    return since;
}

static int64_t receive(int how, int ms)
{
    MPI_Request request;
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
    int64_t since = now_ns();
    if (how == 1) {
        MPI_Irecv(data, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request); /* @irecv */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @recv */
    }
    return since;
}

int main(int argc, char **argv)
{
    int rank, size, ms = argument(argc, argv, 1, 50), rounds = argument(argc, argv, 2, 3);
    int64_t since, began, waited[CALLS] = {0};
    uint64_t check = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < CALLS * rounds; i++) {
        data[0] = (char)i;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            since = send(i % CALLS, size - 1);
            MPI_Recv(&began, 1, MPI_INT64_T, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            waited[i % CALLS] += began > since ? began - since : 0;
        } else if (rank == size - 1) {
            began = receive(i % CALLS, ms);
            MPI_Send(&began, 1, MPI_INT64_T, 0, 2, MPI_COMM_WORLD);
            check = mix(check, data, sizeof data);
        }
    }
    for (int how = 0; how < CALLS && rank == 0; how++)
        printf("waited %d %lld\n", how, (long long)waited[how]);
    fflush(stdout);
    print_checksum(check);
    MPI_Finalize();
    return 0;
}
