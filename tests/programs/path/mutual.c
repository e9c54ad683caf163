/* SPDX-License-Identifier: MIT */
/*
 * Procedures that call each other, 4 rounds: rank 0 goes into the circle through even(), four steps
 * deep, then rank 1 through odd(), two steps, and does the rest. Each even() is a unit, each odd()
 * one and one of leaf(). So a round is 6 units here, 3 and 2 there.
 */
#include "unit.h"

static void even(int depth);

static void leaf(void)
{
    units(1);
}

static void odd(int depth)
{
    units(1);
    leaf();
    if (depth > 0)
        even(depth - 1); /* @inside */
}

static void even(int depth)
{
    units(1);
    if (depth > 0)
        odd(depth - 1);
}

static void rest(void)
{
    units(2);
}

int main(int argc, char **argv)
{
    int word = 0;
    unit_begin(&argc, &argv);
    for (int i = 0; i < 4; i++) {
        if (unit.rank == 0) {
            even(3);
            MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            odd(1);
            rest();
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    return unit_end();
}
