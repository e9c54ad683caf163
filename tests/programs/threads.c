/* SPDX-License-Identifier: MIT */
/* Threads that call MPI at once (MPI_THREAD_MULTIPLE).
 *   exchange T N   T threads, each swaps N messages with the same thread of the other rank
 *   churn T        T threads one after the other, each sends itself a message
 *   living T       T threads that are alive at once, each sends itself a message */
#include "checksum.h"
#include <pthread.h>
#include <string.h>

enum { MOST = 256 };
static int rank, rounds;
static MPI_Comm comms[MOST];
static pthread_barrier_t barrier;

static void *exchange(void *arg)
{
    int id = (int)(intptr_t)arg, out[4] = {id, rank, 0, 0}, in[4];
    for (int i = 0; i < rounds; i++) {
        out[2] = i;
        if (rank == 0) {
            /* @send0 */
            MPI_Send(out, id + 1, MPI_INT, 1, id, comms[id]);
            /* @recv0 */
            MPI_Recv(in, 4, MPI_INT, MPI_ANY_SOURCE, id, comms[id], MPI_STATUS_IGNORE);
        } else {
            MPI_Request r;
            /* @irecv1 */
            MPI_Irecv(in, 4, MPI_INT, 0, id, comms[id], &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            /* @send1 */
            MPI_Send(out, id + 1, MPI_INT, 0, id, comms[id]);
        }
    }
    return NULL;
}

static void *alone(void *living)
{
    int out = 1, in;
    if (living)
        pthread_barrier_wait(&barrier);
    /* @alone */
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (living)
        pthread_barrier_wait(&barrier);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[MOST];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3 || provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int count = atoi(argv[2]);
    rounds = argument(argc, argv, 3, 10);
    if (strcmp(argv[1], "churn") == 0) {
        for (int i = 0; i < count; i++) {
            pthread_create(&threads[0], NULL, alone, NULL);
            pthread_join(threads[0], NULL);
        }
    } else {
        int living = strcmp(argv[1], "living") == 0;
        pthread_barrier_init(&barrier, NULL, (unsigned)count);
        for (int i = 0; i < count && !living; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (int i = 0; i < count; i++)
            pthread_create(&threads[i], NULL, living ? alone : exchange,
                           living ? &barrier : (void *)(intptr_t)i);
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < count && !living; i++)
            MPI_Comm_free(&comms[i]);
    }
    print_checksum((uint64_t)count);
    MPI_Finalize();
    return 0;
}
