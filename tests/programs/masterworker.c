/* SPDX-License-Identifier: MIT */
/* TASKS tasks; whoever is ready gets the next one. Which worker does which is not fixed, so the
 * master prints what each of them sent. */
#include "checksum.h"

enum { TASK, STOP };

static uint64_t master(int tasks, int workers)
{
    uint64_t sum = 0;
    long *done = calloc((size_t)workers + 1, sizeof *done);
    long *bytes = calloc((size_t)workers + 1, sizeof *bytes);
    double answer[8];
    int next = 0, open = workers;
    for (int w = 1; w <= workers; w++, next++)
        /* @first-task */
        MPI_Send(&next, 1, MPI_INT, w, TASK, MPI_COMM_WORLD);
    while (open > 0) {
        MPI_Status status;
        int n;
        /* @recv-any */
        MPI_Recv(answer, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &n);
        if (n != 1 + status.MPI_TAG % 5)
            printf("wrong length %d of task %d\n", n, status.MPI_TAG);
        sum += mix((uint64_t)status.MPI_TAG, answer, (size_t)n * sizeof *answer);
        done[status.MPI_SOURCE]++;
        bytes[status.MPI_SOURCE] += n * (long)sizeof *answer;
        if (next < tasks) {
            /* @next-task */
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
            next++;
        } else {
            /* @stop */
            MPI_Send(NULL, 0, MPI_INT, status.MPI_SOURCE, STOP, MPI_COMM_WORLD);
            open--;
        }
    }
    for (int w = 1; w <= workers; w++)
        printf("worker %d %ld %ld\n", w, done[w], bytes[w]);
    free(done);
    free(bytes);
    return sum;
}

static void worker(void)
{
    double answer[8];
    for (;;) {
        MPI_Status status;
        int task;
        /* @recv-task */
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            return;
        for (int i = 0; i < 8; i++)
            answer[i] = task * 3.0 + i;
        /* @answer */
        MPI_Send(answer, 1 + task % 5, MPI_DOUBLE, 0, task, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    uint64_t sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        sum = master(argument(argc, argv, 1, 50), size - 1);
    else
        worker();
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
