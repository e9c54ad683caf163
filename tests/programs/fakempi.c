/* SPDX-License-Identifier: MIT */
#include "fakempi.h"

#include <string.h>

int PMPI_Init(int *argc, char ***argv)
{
    return argc && argv ? 0 : 1;
}

int PMPI_Finalize(void)
{
    return 0;
}

int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "Third MPI 0.1");
    *length = (int)strlen(version);
    return 0;
}

int PMPI_Barrier(long comm)
{
    return comm == 0x123456789a ? 0 : 1;
}

int MPI_Init(int *argc, char ***argv) __attribute__((weak, alias("PMPI_Init")));
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
int MPI_Get_library_version(char *version, int *length)
    __attribute__((weak, alias("PMPI_Get_library_version")));
int MPI_Barrier(long comm) __attribute__((weak, alias("PMPI_Barrier")));
