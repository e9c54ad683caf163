/* SPDX-License-Identifier: MIT */
/* A receive is posted, measurement goes off, it completes, measurement goes on: its handle is
 * then that of something else. A region ends while measurement is off. */
#define _GNU_SOURCE
#include "checksum.h"
#include <dlfcn.h>
#include <unistd.h>

/* As loupe.h does, if Loupe is there. */
static void region(const char *what)
{
    void (*act)(const char *) = NULL;
    *(void **)&act = dlsym(RTLD_DEFAULT, what);
    if (act)
        act("across");
}

static void regions(void)
{
    region("loupe_runtime_begin");
    MPI_Pcontrol(0);
    region("loupe_runtime_begin");
    region("loupe_runtime_end");
    region("loupe_runtime_end");
    usleep(200000);
    MPI_Pcontrol(1);
    for (int i = 0; i < 3; i++) {
        region("loupe_runtime_begin");
        region("loupe_runtime_end");
    }
}

int main(int argc, char **argv)
{
    int a = 3, b = 0;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    /* @recv */
    MPI_Irecv(&b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    MPI_Pcontrol(0);
    MPI_Send(&a, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    for (int i = 0; i < 20; i++) {
        /* @send */
        MPI_Isend(&a, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r);
        MPI_Recv(&b, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    regions();
    print_checksum((uint64_t)b);
    MPI_Finalize();
    return 0;
}
