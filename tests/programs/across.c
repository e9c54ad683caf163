/* SPDX-License-Identifier: MIT */
/* For ranks on two hosts, the first half on one of them: every pair exchanges ROUNDS messages, then
 * each rank of the first half and its partner in the second make each other wait, LATE times for
 * MS milliseconds each way. Prints where the ranks are, and how long they waited for a send to
 * begin: the hosts are one machine in truth, whose clock the messages carry. Last,
 * FLOOD messages are sent before any of them is received. */
#include "checksum.h"
#include <time.h>

enum { ITEMS = 16 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t later(int64_t sent, int64_t since)
{
    return sent > since ? sent - since : 0;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static uint64_t exchange(int rank, int size, int rounds)
{
    uint64_t sum = 1;
    int out[ITEMS], in[ITEMS];
    for (int i = 0; i < rounds; i++)
        for (int k = 1; k < size; k++) {
            for (int j = 0; j < ITEMS; j++)
                out[j] = rank * 1000 + i * 10 + j;
            /* @exchange */
            MPI_Sendrecv(out, ITEMS, MPI_INT, (rank + k) % size, k, in, ITEMS, MPI_INT,
                         (rank + size - k) % size, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum = mix(sum, in, sizeof in);
        }
    return sum;
}

static int64_t first_is_late(int rank, int half, int late, int ms)
{
    int64_t sent, waited = 0;
    for (int i = 0; i < late; i++) {
        if (rank < half) {
            sleep_ms(ms);
            sent = now_ns();
            /* @late-send */
            MPI_Send(&sent, 1, MPI_INT64_T, rank + half, i, MPI_COMM_WORLD);
        } else {
            int64_t since = now_ns();
            /* @late-recv */
            MPI_Recv(&sent, 1, MPI_INT64_T, rank - half, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            waited += later(sent, since);
        }
    }
    return waited;
}

static int64_t second_is_late(int rank, int half, int late, int ms)
{
    int64_t sent, waited = 0;
    MPI_Request request;
    for (int i = 0; i < late; i++) {
        if (rank >= half) {
            sleep_ms(ms);
            sent = now_ns();
            /* @late-isend */
            MPI_Isend(&sent, 1, MPI_INT64_T, rank - half, i, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            /* @late-irecv */
            MPI_Irecv(&sent, 1, MPI_INT64_T, rank + half, i, MPI_COMM_WORLD, &request);
            int64_t since = now_ns();
            /* @late-wait */
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            waited += later(sent, since);
        }
    }
    return waited;
}

/* The first half sends all of it before the second half receives any. */
static uint64_t flood(int rank, int half, int count)
{
    uint64_t sum = 0;
    for (int i = 0; i < count && rank < half; i++)
        MPI_Send(&i, 1, MPI_INT, rank + half, 1000, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0, value; i < count && rank >= half; i++) {
        MPI_Recv(&value, 1, MPI_INT, rank - half, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum = mix(sum, &value, sizeof value);
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size, len;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 20), late = argument(argc, argv, 2, 5),
        ms = argument(argc, argv, 3, 20);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &len);
    printf("rank %d on %s\n", rank, name);
    fflush(stdout);
    uint64_t sum = exchange(rank, size, rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t waited = first_is_late(rank, size / 2, late, ms);
    MPI_Barrier(MPI_COMM_WORLD);
    waited += second_is_late(rank, size / 2, late, ms);
    printf("waited %d %lld\n", rank, (long long)waited);
    fflush(stdout);
    sum += flood(rank, size / 2, argument(argc, argv, 4, 0));
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
