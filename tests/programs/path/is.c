/* SPDX-License-Identifier: MIT */
/*
 * An integer sort in the manner of NAS IS. Rank 0 generates all keys, alone; then all ranks rank
 * theirs, again and again: keys are counted by bucket, go to whose range they are in, and are
 * counted there. Generating a key takes DRAWS steps of a random number generator; ranking takes as
 * many of the same steps on each key as make a rank's work 1.5 times the generation's. So the
 * generation has 1 / 2.5 = 40 % of the path, and of the processors' time 1 / (1 + 1.5 ranks): 12 %
 * with 5 ranks.
 */
#include "unit.h"

#include <string.h>

enum { KEYS = 1 << 17, MOST = 1 << 12, DRAWS = 400, TURNS = 6 };

static int all[KEYS], mine[KEYS], whose[KEYS], bucketed[KEYS], got[KEYS], count[MOST];
static int to_count[64], from_count[64], to_at[64], from_at[64];

static inline uint64_t drawn(uint64_t state, int draws)
{
    for (int i = 0; i < draws; i++)
        state = state * 6364136223846793005u + 1442695040888963407u;
    return state;
}

static void create_seq(void)
{
    uint64_t state = 314159265;
    for (int i = 0; i < KEYS; i++) {
        state = drawn(state, DRAWS);
        all[i] = (int)(state >> 33) % MOST;
    }
}

/* The rank in whose range a key is; the steps are work only. */
static inline int owner(int key)
{
    int draws = 3 * DRAWS * unit.ranks / (2 * TURNS);
    uint64_t state = drawn((uint64_t)key, draws);
    __asm__ volatile("" : : "r"(state));
    return (int)((long)key * unit.ranks / MOST);
}

static void to_buckets(int keys)
{
    int at[64];
    memset(to_count, 0, sizeof to_count);
    for (int i = 0; i < keys; i++)
        to_count[whose[i] = owner(mine[i])]++;
    for (int r = 0, sum = 0; r < unit.ranks; sum += to_count[r++])
        at[r] = to_at[r] = sum;
    for (int i = 0; i < keys; i++)
        bucketed[at[whose[i]]++] = mine[i];
}

static long do_rank(int keys)
{
    long sum = 0;
    to_buckets(keys);
    MPI_Alltoall(to_count, 1, MPI_INT, from_count, 1, MPI_INT, MPI_COMM_WORLD);
    int here = 0;
    for (int r = 0; r < unit.ranks; here += from_count[r++])
        from_at[r] = here;
    MPI_Alltoallv(bucketed, to_count, to_at, MPI_INT, got, from_count, from_at, MPI_INT,
                  MPI_COMM_WORLD);
    memset(count, 0, sizeof count);
    for (int i = 0; i < here; i++)
        count[got[i]]++;
    for (int i = 1; i < MOST; i++)
        count[i] += count[i - 1];
    for (int i = 0; i < here; i += 97)
        sum += count[got[i]];
    return sum;
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    int keys = KEYS / unit.ranks;
    if (unit.rank == 0)
        create_seq();
    MPI_Scatter(all, keys, MPI_INT, mine, keys, MPI_INT, 0, MPI_COMM_WORLD);
    long sum = 0;
    for (int i = 0; i < TURNS; i++)
        sum += do_rank(keys);
    long total;
    MPI_Reduce(&sum, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (unit.rank == 0)
        printf("checksum of the ranks %ld\n", total);
    return unit_end();
}
