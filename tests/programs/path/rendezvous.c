/* SPDX-License-Identifier: MIT */
/*
 * Messages that move only when both are there. First the sender is late, then the receiver: the
 * path goes from rank 0 to 1 and back, the latter without a message in that direction.
 */
#include "unit.h"

enum { ROUNDS = 2, BYTES = 1 << 20 };

static char data[BYTES];

static void slow(void)
{
    units(16);
}

static void quick(void)
{
    units(4);
}

static void busy(void)
{
    units(16);
}

static void after(void)
{
    units(8);
}

static void sender(void)
{
    slow();
    MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    quick();
    MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    after();
}

static void receiver(void)
{
    quick();
    MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    busy();
    MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (unit.rank == 0)
            sender();
        else
            receiver();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return unit_end();
}
