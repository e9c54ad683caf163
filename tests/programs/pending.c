/* SPDX-License-Identifier: MIT */
/* N receives from anyone and N sends are pending at once, and are completed out of order. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    int n = argument(argc, argv, 1, 5000);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *a = calloc((size_t)n * 3, sizeof *a), *b = calloc((size_t)n * 3, sizeof *b);
    MPI_Request *r = calloc((size_t)n, sizeof *r), *s = calloc((size_t)n, sizeof *s);
    for (int i = 0; i < n; i++)
        /* @irecv */
        MPI_Irecv(b + 3 * i, 3, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < n; i++) {
        a[3 * i] = rank + i;
        /* @isend */
        MPI_Isend(a + 3 * i, 1 + i % 3, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &s[i]);
    }
    for (int i = n - 1; i >= n / 2; i--)
        /* @wait */
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    for (int left = n / 2; left > 0;) {
        int done, *index = calloc((size_t)n, sizeof *index);
        /* @waitsome */
        MPI_Waitsome(n / 2, r, &done, index, MPI_STATUSES_IGNORE);
        free(index);
        left -= done;
        for (int any; left > n / 4 && left % 7;) {
            /* @waitany */
            MPI_Waitany(n / 2, r, &any, MPI_STATUS_IGNORE);
            left--;
        }
    }
    /* @waitall */
    MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
    print_checksum(mix(1, b, (size_t)n * 3 * sizeof *b));
    free(a);
    free(b);
    free(r);
    free(s);
    MPI_Finalize();
    return 0;
}
