/* SPDX-License-Identifier: MIT */
/* The stubs of the preloaded library: slots of MPI_X, then of PMPI_X, then of Fortran names. */
#ifndef LOUPE_MPI_STUB_H
#define LOUPE_MPI_STUB_H

#include <stdint.h>

extern const uint32_t stub_calls;
extern const char *const stub_symbols[]; /* "MPI_Send", ... by call */
extern const char *const stub_fortran_symbols[];
extern const uint32_t stub_fortran_count;

extern void *loupe_slots[] __attribute__((visibility("hidden")));

/* Where the stub with this slot shall jump from now on; called by resolve.S at its first use. */
void *stub_target(uint64_t slot);

#endif
