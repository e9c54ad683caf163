/* SPDX-License-Identifier: MIT */
/*
 * Visits that are too short to be timed each: two ranks in turn, one with many short visits of
 * often(), half of which is in visits of little() of some 50 ns; the other with a long one of
 * much(), of as many multiplications. Says what each took in seconds.
 */
#include "talk.h"
#include "unit.h"

enum { ROUNDS = 4000, OFTEN = 60, TURNS = 160, LITTLE = 4 };

static uint64_t turns(uint64_t x, int count)
{
    for (int i = 0; i < count; i++)
        x = x * 0x9e3779b97f4a7c15u + 2;
    return x;
}

static __attribute__((noinline)) uint64_t little(uint64_t x)
{
    return turns(x, TURNS / LITTLE);
}

static __attribute__((noinline)) uint64_t often(uint64_t x)
{
    x = turns(x, TURNS);
    for (int i = 0; i < LITTLE; i++)
        x = little(x);
    return x;
}

static __attribute__((noinline)) uint64_t much(uint64_t x)
{
    return turns(x, 2 * TURNS * OFTEN);
}

int main(int argc, char **argv)
{
    uint64_t x = 1;
    int64_t spent = 0;
    unit_begin(&argc, &argv);
    int other = 1 - unit.rank;
    for (int i = 0; i < ROUNDS; i++) {
        if (unit.rank == 1)
            hear(other);
        int64_t begin = unit_time(CLOCK_MONOTONIC);
        if (unit.rank == 0)
            for (int k = 0; k < OFTEN; k++)
                x = often(x);
        else
            x = much(x);
        spent += unit_time(CLOCK_MONOTONIC) - begin;
        say(other);
        if (unit.rank == 0)
            hear(other);
    }
    __asm__ volatile("" : : "r"(x));
    printf("spent %d %.6f\n", unit.rank, (double)spent / 1e9);
    return unit_end();
}
