/* SPDX-License-Identifier: MIT */
/* The static tables of procedures whose probes were inserted into their machine code. */
#ifndef LOUPE_TREE_INSERTED_H
#define LOUPE_TREE_INSERTED_H

#include "metric/run.h"

/* Reads all that are in the job's directory. What is damaged is left out, with a warning. */
void inserted_read(struct run *run, int dir);

#endif
