/* SPDX-License-Identifier: MIT */
/* Persistent requests round a ring: one pair by Startall, a synchronous one by Start. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size, a[64] = {0}, b[64] = {0}, c[64] = {0}, d[64] = {0};
    MPI_Request r[2], s[2];
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 10), n = argument(argc, argv, 2, 8);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    /* @send-init */
    MPI_Send_init(a, n, MPI_INT, right, 1, MPI_COMM_WORLD, &r[0]);
    /* @recv-init */
    MPI_Recv_init(b, 64, MPI_INT, left, 1, MPI_COMM_WORLD, &r[1]);
    /* @ssend-init */
    MPI_Ssend_init(c, 2 * n, MPI_INT, left, 2, MPI_COMM_WORLD, &s[0]);
    /* @recv-any-init */
    MPI_Recv_init(d, 64, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &s[1]);
    uint64_t sum = 1;
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 2 * n; k++)
            a[k] = c[k] = i * 100 + rank * 10 + k;
        /* @startall */
        MPI_Startall(2, r);
        /* @waitall */
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        /* @start-recv */
        MPI_Start(&s[1]);
        /* @start-send */
        MPI_Start(&s[0]);
        MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
        sum = mix(mix(sum, b, sizeof b), d, sizeof d);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&r[i]);
        MPI_Request_free(&s[i]);
    }
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
