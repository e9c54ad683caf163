/* SPDX-License-Identifier: MIT */
/* A five-point stencil on blocks of N x N: rows go as they are, columns as a derived datatype.
 * At the border of the grid the neighbour is MPI_PROC_NULL. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size, dims[2] = {0, 0}, periods[2] = {0, 0}, up, down, left, right;
    MPI_Comm grid;
    MPI_Datatype column;
    MPI_Init(&argc, &argv);
    int steps = argument(argc, argv, 1, 5), n = argument(argc, argv, 2, 16), w = n + 2;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    MPI_Type_vector(n, 1, w, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    double *a = calloc((size_t)(w * w), sizeof *a), *b = calloc((size_t)(w * w), sizeof *b);
    for (int i = 0; i < w * w; i++)
        a[i] = b[i] = i * (rank + 1);
    for (int s = 0; s < steps; s++) {
        MPI_Request r[8];
        /* @recv-up */
        MPI_Irecv(a + 1, n, MPI_DOUBLE, up, 1, grid, &r[0]);
        /* @recv-down */
        MPI_Irecv(a + (n + 1) * w + 1, n, MPI_DOUBLE, down, 0, grid, &r[1]);
        /* @recv-left */
        MPI_Irecv(a + w, 1, column, left, 3, grid, &r[2]);
        /* @recv-right */
        MPI_Irecv(a + w + n + 1, 1, column, right, 2, grid, &r[3]);
        /* @send-up */
        MPI_Isend(a + w + 1, n, MPI_DOUBLE, up, 0, grid, &r[4]);
        /* @send-down */
        MPI_Isend(a + n * w + 1, n, MPI_DOUBLE, down, 1, grid, &r[5]);
        /* @send-left */
        MPI_Isend(a + w + 1, 1, column, left, 2, grid, &r[6]);
        /* @send-right */
        MPI_Isend(a + w + n, 1, column, right, 3, grid, &r[7]);
        /* @waitall */
        MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
        for (int i = 1; i <= n; i++)
            for (int j = i * w + 1; j <= i * w + n; j++)
                b[j] = (a[j] + a[j - 1] + a[j + 1] + a[j - w] + a[j + w]) / 5;
        double *t = a;
        a = b;
        b = t;
    }
    print_checksum(mix(1, a, (size_t)(w * w) * sizeof *a));
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);
    free(a);
    free(b);
    MPI_Finalize();
    return 0;
}
