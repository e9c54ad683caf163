/* SPDX-License-Identifier: MIT */
/* A pipeline of two stages: the first is done early, the second is always behind. */
#include "unit.h"

enum { PIECES = 10 };

static void produce(void)
{
    units(2);
}

static void consume(void)
{
    units(3);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int piece = 0; piece < PIECES; piece++) {
        if (unit.rank == 0) {
            produce();
            MPI_Send(&piece, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            int got;
            MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            consume();
        }
    }
    return unit_end();
}
