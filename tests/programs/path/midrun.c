/* SPDX-License-Identifier: MIT */
/*
 * Switches the critical path by MPI_Pcontrol, from rank 0 alone: midrun on|off|reset|FILE
 *
 *     on     off (4), 5 rounds, on (3), 12 rounds
 *     off    12 rounds, off (4), 5 rounds
 *     reset  5 rounds, reset (5), 12 rounds; all are to be started with it on
 *     FILE   rounds until there is such a file: somebody outside has switched it
 */
#include "unit.h"

#include <string.h>
#include <unistd.h>

static void left(void)
{
    units(2);
}

static void right(void)
{
    units(1);
}

/* One after the other: 3 units of the path. */
static void turn(void)
{
    int word = 0;
    if (unit.rank == 0) {
        left();
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right();
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

static void rounds(int count)
{
    for (int i = 0; i < count; i++)
        turn();
}

static void control(int level)
{
    if (unit.rank == 0)
        MPI_Pcontrol(level);
}

static void until(const char *file)
{
    for (int seen = 0; !seen;) {
        rounds(4);
        seen = access(file, F_OK) == 0;
        MPI_Bcast(&seen, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "on";
    if (strcmp(what, "on") == 0) {
        control(4);
        rounds(5);
        control(3);
        rounds(12);
    } else if (strcmp(what, "off") == 0) {
        rounds(12);
        control(4);
        rounds(5);
    } else if (strcmp(what, "reset") == 0) {
        rounds(5);
        control(5);
        rounds(12);
    } else {
        until(what);
    }
    return unit_end();
}
