/* SPDX-License-Identifier: MIT */
/* The sum over all ranks of what they computed, printed by rank 0: it must be the same with and
 * without Loupe. */
#ifndef LOUPE_TESTS_CHECKSUM_H
#define LOUPE_TESTS_CHECKSUM_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((unused)) static void print_checksum(uint64_t mine)
{
    uint64_t sum = 0;
    int rank;
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("checksum %llu\n", (unsigned long long)sum);
        fflush(stdout);
    }
}

/* Depends on order and content. */
__attribute__((unused)) static uint64_t mix(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ p[i]) * 1099511628211u;
    return sum;
}

__attribute__((unused)) static int argument(int argc, char **argv, int n, int otherwise)
{
    return n < argc ? atoi(argv[n]) : otherwise;
}

#endif
