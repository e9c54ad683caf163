/* SPDX-License-Identifier: MIT */
/*
 * The path that is longest without an item differs from item to item. In each round one rank has
 * 5 + 3 + 1 = 9 units in alpha, beta, delta, the other 1 + 6 = 7 in alpha and gamma. Without
 *
 *     alpha   the other one's is longer: 6
 *     beta    so it is: 7, not the 6 that are left here
 *     delta   this one still is: 8
 *     gamma   nothing changes: 9
 *
 * and in the next round the ranks change places, so no path is that of one rank alone.
 */
#include "unit.h"

enum { ROUNDS = 4 };

static void alpha(int count)
{
    units(count);
}

static void beta(void)
{
    units(3);
}

static void gamma_part(void)
{
    units(6);
}

static void delta(void)
{
    units(1);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == unit.rank) {
            alpha(5);
            beta();
            delta();
        } else {
            alpha(1);
            gamma_part();
        }
        int theirs, mine = unit.rank;
        MPI_Sendrecv(&mine, 1, MPI_INT, 1 - unit.rank, 0, &theirs, 1, MPI_INT, 1 - unit.rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return unit_end();
}
