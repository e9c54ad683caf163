/* SPDX-License-Identifier: MIT */
/*
 * Puts a run that comes straight from the segments into the program's structure: looks up the
 * source of every statement, merges statements that are one in the source (same kind, name, file,
 * line, procedure), and hangs them below procedures and the program.
 *
 * Afterwards node 0 is the program (time: the ranks' times; self: outside MPI), below it the
 * regions and the procedures, below a procedure its communication statements. What a procedure
 * shows is the sum of its statements, where no probe times the procedure itself.
 *
 * Where the program was built with `loupe cc`, the tables in its binaries give the structure:
 * procedures, and in them loops, calls and communications as they are written (metric/run.h). What
 * was never executed is left out. Communications are found there by file and line.
 */
#ifndef LOUPE_VIEW_STRUCTURE_H
#define LOUPE_VIEW_STRUCTURE_H

#include "metric/run.h"

struct resolver;

/* Statements that cannot be resolved are named `binary+0xoffset` and have no file. */
void structure_run(struct run *run, struct resolver *resolver);

#endif
