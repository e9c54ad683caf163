/* SPDX-License-Identifier: MIT */
/* Computes in pieces, with an Allreduce after each, and tells what the kernel knows of it: how long
 * each rank has waited for its processor outside MPI and inside, and computed outside.
 *   preempted PIECES MODE    plain    each piece is 4 ms of the processor's time
 *                            blocks   and then sleeps for 2 ms
 *                            off      with measurement off in the second half
 *                            early    and calls MPI before MPI_Init, between pieces of its own */
#define _GNU_SOURCE
#include "checksum.h"
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct usage {
    double waited, computed;
};

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct usage usage(void)
{
    char text[128] = "";
    unsigned long long ran = 0, waited = 0;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 ||
        sscanf(text, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    close(fd);
    return (struct usage){1e-9 * (double)waited, cpu()};
}

static void add(struct usage *sum, const struct usage *from, const struct usage *to)
{
    sum->waited += to->waited - from->waited;
    sum->computed += to->computed - from->computed;
}

static void settle(size_t core)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &one);
    sched_setaffinity(0, sizeof one, &one);
}

static uint64_t compute(void)
{
    volatile uint64_t sum = 0;
    double begin = cpu();
    while (cpu() - begin < 0.004)
        for (int i = 0; i < 1000; i++)
            sum += (uint64_t)i;
    return 1;
}

/* As libraries do that begin MPI if nobody has. All ranks on one core. */
static void start_up(void)
{
    int known;
    settle(0);
    for (int i = 0; i < 25; i++) {
        MPI_Initialized(&known);
        compute();
    }
    MPI_Initialized(&known);
}

int main(int argc, char **argv)
{
    int rank, ranks, pieces = argument(argc, argv, 1, 100);
    const char *mode = argc > 2 ? argv[2] : "plain";
    struct usage outside = {0, 0}, inside = {0, 0}, last, now;
    uint64_t done = 0, all = 0;
    const struct timespec nap = {0, 2000000};
    if (!strcmp(mode, "early"))
        start_up();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    settle((size_t)rank);
    MPI_Barrier(MPI_COMM_WORLD);
    last = usage();
    for (int i = 0; i < pieces; i++) {
        if (!strcmp(mode, "off") && i == pieces / 2)
            MPI_Pcontrol(0);
        done += compute();
        if (!strcmp(mode, "blocks"))
            nanosleep(&nap, NULL);
        now = usage();
        if (strcmp(mode, "off") || i < pieces / 2)
            add(&outside, &last, &now);
        MPI_Allreduce(&done, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        last = usage();
        if (strcmp(mode, "off") || i < pieces / 2)
            add(&inside, &now, &last);
    }
    printf("kernel %d %f %f %f\n", rank, outside.waited, inside.waited, outside.computed);
    fflush(stdout);
    print_checksum(all);
    MPI_Finalize();
    return 0;
}
