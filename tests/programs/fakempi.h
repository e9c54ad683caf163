/* SPDX-License-Identifier: MIT */
/* An MPI that is neither Open MPI nor MPICH: other handles, one process. */
#ifndef LOUPE_TESTS_FAKEMPI_H
#define LOUPE_TESTS_FAKEMPI_H

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Get_library_version(char *version, int *length);
int MPI_Barrier(long comm);
int PMPI_Init(int *argc, char ***argv);
int PMPI_Finalize(void);
int PMPI_Get_library_version(char *version, int *length);
int PMPI_Barrier(long comm);

#endif
