/* SPDX-License-Identifier: MIT */
/* A pipeline: every rank takes an item from the one before it, works on it, and passes it on. Ranks
   are slower the further behind they stand, so that the ones in front run ahead, but not for long:
   each waits for a word from behind before it begins another dozen. */
#include "stage.h"

enum { ITEM = 1, WORD = 2, DOZEN = 12 };

static uint64_t refine(uint64_t item, long grains)
{
    uint64_t sum = item;
    for (long i = 0; i < grains; i++)
        sum += grain(item + (uint64_t)i);
    return sum;
}

static uint64_t take_item(void)
{
    uint64_t item;
    MPI_Recv(&item, 1, MPI_UINT64_T, run.rank - 1, ITEM, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return item;
}

static void wait_for_word(void)
{
    int word;
    MPI_Recv(&word, 1, MPI_INT, run.rank + 1, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void neighbours(long i, uint64_t item)
{
    if (run.rank + 1 < run.ranks)
        MPI_Send(&item, 1, MPI_UINT64_T, run.rank + 1, ITEM, MPI_COMM_WORLD);
    if (run.rank > 0 && i % DOZEN == DOZEN - 1)
        MPI_Send(&(int){1}, 1, MPI_INT, run.rank - 1, WORD, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    long items = scale(argc, argv, 2400);
    items -= items % DOZEN;
    run_begin(&argc, &argv);
    uint64_t sum = 0, item;
    for (long i = 0; i < items; i++) {
        double begin;
        if (run.rank + 1 < run.ranks && i % DOZEN == 0 && i > 0) {
            begin = clock_now();
            wait_for_word();
            stage("wait_for_word", begin);
        }
        item = (uint64_t)i + 1;
        if (run.rank > 0) {
            begin = clock_now();
            item = take_item();
            stage("take_item", begin);
        }
        begin = clock_now();
        item = refine(item, 2600 + 2400L * run.rank);
        stage("refine", begin);
        neighbours(i, item);
        sum += item;
    }
    return run_end(sum);
}
