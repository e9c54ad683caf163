/* SPDX-License-Identifier: MIT */
/*
 * Whether all ranks of the world are watched. What ranks agree on in MPI_Init is collective: if one
 * of them runs without this library (part of a command line without `loupe exec`, a static program
 * among others), the others would wait for it for ever. So it is asked first, without MPI.
 *
 * On one node by the headers in the job's directory: once MPI_Init is over, every rank that is
 * watched has one that says so. Those who see all of them, or give up waiting, settle it in one
 * word of rank 0's, so that all come to the same answer. Across nodes nobody sees all: there it is
 * `loupe run` that knows, if it has put itself before the one program that the launcher starts.
 */
#ifndef LOUPE_MPI_TOGETHER_H
#define LOUPE_MPI_TOGETHER_H

#include "record/layout.h"

#include <stdbool.h>

/* `h`: this rank's header, with rank and size; NULL: it has none. */
bool together(struct record_header *h, int size);

#endif
