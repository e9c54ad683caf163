/* SPDX-License-Identifier: MIT */
/* An allreduce for which one rank is late, in turn: who is early is never on the path. */
#include "unit.h"

enum { ROUNDS = 6 };

static void much(void)
{
    units(4);
}

static void little(void)
{
    units(2);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == unit.rank)
            much();
        else
            little();
        int sum, one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    return unit_end();
}
