/* SPDX-License-Identifier: MIT */
/* Threads of each rank make communicators of the same ranks at once, told apart by the tag alone;
 * in what order is different on each rank. */
#define _GNU_SOURCE
#include "ids.h"

#include <pthread.h>

enum { THREADS = 3, EACH = 8 };

static void *run(void *number)
{
    int tag = (int)(intptr_t)number;
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < EACH; i++) {
        MPI_Comm c;
        char name[32];
        MPI_Comm_create_group(MPI_COMM_WORLD, all, tag, &c);
        snprintf(name, sizeof name, "thread-%d.%d", tag, i);
        print_id(name, c);
        MPI_Comm_free(&c);
    }
    MPI_Group_free(&all);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    print_id("world", MPI_COMM_WORLD);
    for (int i = 0; level == MPI_THREAD_MULTIPLE && i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)(intptr_t)((rank + i) % THREADS));
    for (int i = 0; level == MPI_THREAD_MULTIPLE && i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
