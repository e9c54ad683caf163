/* SPDX-License-Identifier: MIT */
/* Names of the MPI functions by number; generated from src/mpi/calls.txt. */
#ifndef LOUPE_RECORD_CALLS_H
#define LOUPE_RECORD_CALLS_H

#include <stdint.h>

extern const char *const record_call_names[]; /* "MPI_Send", ... */
extern const uint32_t record_call_count;

#endif
