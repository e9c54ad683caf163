/* SPDX-License-Identifier: MIT */
/* Procedures that compute and communicate, each a known number of times: procedures STEPS. Rank 0
 * computes longer than the others, who wait for it. */
#include "checksum.h"

#include <time.h>

#ifdef __clang__
#define PROCEDURE __attribute__((noinline))
#else
#define PROCEDURE __attribute__((noinline, noclone))
#endif
#define ROOM __asm__ volatile("nopl 0(%%rax,%%rax)\n\tnopl 0(%%rax,%%rax)" ::: "memory")

static int rank, size;

PROCEDURE uint64_t compute(uint64_t sum)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec <
           (rank == 0 ? 2000000L : 500000L));
    ROOM;
    return mix(sum, &rank, sizeof rank);
}

PROCEDURE uint64_t exchange(uint64_t sum)
{
    uint64_t other = 0;
    MPI_Sendrecv(&sum, 1, MPI_UINT64_T, (rank + 1) % size, 1, &other, 1, MPI_UINT64_T,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ROOM;
    return mix(sum, &other, sizeof other);
}

PROCEDURE uint64_t step(uint64_t sum)
{
    sum = compute(sum);
    sum = exchange(sum);
    ROOM;
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = argument(argc, argv, 1, 20); i > 0; i--)
        sum = step(sum);
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
