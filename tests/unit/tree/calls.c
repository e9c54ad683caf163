/* SPDX-License-Identifier: MIT */
/* A small table of functions, so that numbers in these tests do not change with the real one. */
#include "record/calls.h"

const char *const record_call_names[] = {"MPI_Send", "MPI_Recv", "MPI_Init", "MPI_Finalize",
                                         "MPI_Barrier"};
const uint32_t record_call_count = 5;
