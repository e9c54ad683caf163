/* SPDX-License-Identifier: MIT */
/* For ids_f08.f90. */
#define _GNU_SOURCE
#include "ids.h"

void print_id_of(const char *name, const MPI_Fint *comm);

void print_id_of(const char *name, const MPI_Fint *comm)
{
    print_id(name, MPI_Comm_f2c(*comm));
    fflush(stdout);
}
