/* SPDX-License-Identifier: MIT */
/* A program on the MPI of fakempi.c. */
#include "fakempi.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    char version[256];
    int length, wrong = MPI_Init(&argc, &argv);
    wrong += MPI_Get_library_version(version, &length);
    for (int i = 0; i < 3; i++)
        wrong += MPI_Barrier(0x123456789a);
    wrong += MPI_Finalize();
    printf("checksum %s %d\n", version, wrong);
    return 0;
}
