/* SPDX-License-Identifier: MIT */
/* One-sided: fence and lock epochs; and a window on a communicator with the ranks reversed, where
 * target 0 is the last rank of the world. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int rank, size, *base, *back, got[16] = {0}, mine[16], one = 1, old = 0, zero = 0;
    MPI_Win win, reversed;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 4), n = argument(argc, argv, 2, 8);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &back, &reversed);
    for (int i = 0; i < 64; i++)
        base[i] = back[i] = 0;
    for (int i = 0; i < 16; i++)
        mine[i] = rank * 100 + i;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < rounds; i++) {
        MPI_Request r;
        /* @fence */
        MPI_Win_fence(0, win);
        /* @put */
        MPI_Put(mine, n, MPI_INT, right, 0, n, MPI_INT, win);
        /* @accumulate */
        MPI_Accumulate(mine, n, MPI_INT, left, 16, n, MPI_INT, MPI_SUM, win);
        MPI_Win_fence(0, win);
        /* @get */
        MPI_Get(got, n, MPI_INT, left, 0, n, MPI_INT, win);
        MPI_Win_fence(0, win);
        /* @lock */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        /* @fetch-op */
        MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 32, MPI_SUM, win);
        /* @compare-swap */
        MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, 0, 33, win);
        /* @unlock */
        MPI_Win_unlock(0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        /* @rput */
        MPI_Rput(mine, 2, MPI_INT, right, 40, 2, MPI_INT, win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Win_unlock(right, win);
        MPI_Win_fence(0, reversed);
        /* @put-reversed */
        MPI_Put(mine, 1, MPI_INT, 0, rank, 1, MPI_INT, reversed);
        /* @put-null */
        MPI_Put(mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, reversed);
        MPI_Win_fence(0, reversed);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t sum = mix(1, got, sizeof got);
    sum = mix(mix(sum, base, 64 * sizeof(int)), back, 64 * sizeof(int));
    MPI_Win_free(&win);
    MPI_Win_free(&reversed);
    MPI_Comm_free(&comm);
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
