/* SPDX-License-Identifier: MIT */
/* A procedure that has nearly half of the processors' time, and nothing of the path: as much as is
 * possible with two ranks. */
#include "unit.h"

enum { ROUNDS = 3 };

static void lead(void)
{
    units(10);
}

static void aside(void)
{
    units(9);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (unit.rank == 0)
            lead();
        else
            aside();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return unit_end();
}
