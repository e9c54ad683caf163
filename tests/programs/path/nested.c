/* SPDX-License-Identifier: MIT */
/* Items inside items: called by each other, by themselves, and a loop. Rank 1 waits. */
#include "unit.h"

enum { ROUNDS = 3, TURNS = 2, DEPTH = 3 };

static void inner(void)
{
    units(3);
}

static void middle(void)
{
    units(2);
    inner();
}

static void outer(void)
{
    units(1);
    middle();
}

static void deeper(int depth)
{
    units(1);
    if (depth > 1)
        deeper(depth - 1);
}

static void there(int depth);

static void back(int depth)
{
    units(1);
    if (depth > 1)
        there(depth - 1);
}

static void there(int depth)
{
    units(1);
    back(depth);
}

static void turns(void)
{
    for (int i = 0; i < TURNS; i++) /* @loop */
        inner();
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (unit.rank == 0) {
            outer();
            deeper(DEPTH);
            there(2);
            turns();
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return unit_end();
}
