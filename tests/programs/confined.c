/* SPDX-License-Identifier: MIT */
/* Gives up what monitoring may want later, then makes new statements and threads.
 *   user      becomes nobody             root      changes its root directory
 *   files     may open no more files     memory    may map no more memory
 *   none      gives up nothing */
#include "checksum.h"
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int give_up(const char *what, const char *dir)
{
    struct rlimit none = {0, 0};
    if (!strcmp(what, "user"))
        return setgid(65534) || setuid(65534);
    if (!strcmp(what, "root"))
        return chroot(dir) || chdir("/");
    if (!strcmp(what, "files"))
        return setrlimit(RLIMIT_NOFILE, &none) || setrlimit(RLIMIT_FSIZE, &none);
    if (!strcmp(what, "memory"))
        return setrlimit(RLIMIT_AS, &none);
    return 0;
}

static void *more(void *sum)
{
    /* @thread */
    MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    return sum;
}

#define ASK    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#define ASK8   ASK ASK ASK ASK ASK ASK ASK ASK
#define ASK64  ASK8 ASK8 ASK8 ASK8 ASK8 ASK8 ASK8 ASK8
#define ASK512 ASK64 ASK64 ASK64 ASK64 ASK64 ASK64 ASK64 ASK64

int main(int argc, char **argv)
{
    int rank, level, sum = 1;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* @before */
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (give_up(argv[1], argv[2]))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < 50; i++)
        /* @after */
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    ASK512;
    ASK512;
    if (!pthread_create(&thread, NULL, more, &sum))
        pthread_join(thread, NULL);
    print_checksum((uint64_t)sum);
    MPI_Finalize();
    return 0;
}
