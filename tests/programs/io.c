/* SPDX-License-Identifier: MIT */
/* MPI-IO: every rank writes its part of FILE in several ways and reads its neighbour's. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size, a[64], b[64] = {0};
    MPI_File f;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    int n = argument(argc, argv, 2, 8);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 64; i++)
        a[i] = rank * 64 + i;
    MPI_Offset mine = (MPI_Offset)rank * n * (MPI_Offset)sizeof(int);
    MPI_Offset next = (MPI_Offset)((rank + 1) % size) * n * (MPI_Offset)sizeof(int);
    /* @open */
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    /* @write-at */
    MPI_File_write_at(f, mine, a, n, MPI_INT, MPI_STATUS_IGNORE);
    /* @write-at-all */
    MPI_File_write_at_all(f, mine, a, n, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(f, mine, MPI_SEEK_SET);
    /* @write-all */
    MPI_File_write_all(f, a, n, MPI_INT, MPI_STATUS_IGNORE);
    /* @iwrite-at */
    MPI_File_iwrite_at(f, mine, a, n, MPI_INT, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(f);
    /* @read-at */
    MPI_File_read_at(f, next, b, n, MPI_INT, MPI_STATUS_IGNORE);
    /* @read-at-all */
    MPI_File_read_at_all(f, next, b + 16, n, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(f, next, MPI_SEEK_SET);
    /* @read */
    MPI_File_read(f, b + 32, n, MPI_INT, MPI_STATUS_IGNORE);
    /* @iread-at */
    MPI_File_iread_at(f, next, b + 48, n, MPI_INT, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    /* @close */
    MPI_File_close(&f);
    print_checksum(mix(1, b, sizeof b));
    MPI_Finalize();
    return 0;
}
