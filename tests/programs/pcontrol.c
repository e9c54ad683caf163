/* SPDX-License-Identifier: MIT */
/* MPI_Pcontrol: 0 off, 1 on, 2 reset. */
#include "checksum.h"

int main(int argc, char **argv)
{
    int value = 1, sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++)
        /* @before-reset */
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(2);
    for (int i = 0; i < 30; i++) {
        if (i == 10)
            MPI_Pcontrol(0);
        if (i == 20)
            MPI_Pcontrol(1);
        /* @measured */
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Pcontrol(0);
    for (int i = 0; i < 5; i++)
        /* @off */
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Pcontrol(1);
    /* @on-again */
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    print_checksum((uint64_t)sum);
    MPI_Finalize();
    return 0;
}
