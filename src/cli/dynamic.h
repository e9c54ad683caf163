/* SPDX-License-Identifier: MIT */
/* Procedure records without recompiling (--dynamic): a process beside the program that inserts the
 * probes before it begins, and into libraries that it loads later; or into one that runs. */
#ifndef LOUPE_CLI_DYNAMIC_H
#define LOUPE_CLI_DYNAMIC_H

#include "graph/unit.h"
#include "inject/attach.h"
#include "tree/job.h"

#include <stddef.h>

/* To be called right before this process becomes the program: starts the other one, if probes are
 * asked for, and leaves a socket to it open for the runtime. What goes wrong is said: the program
 * runs in any case. */
void dynamic_begin(const struct job *job);

/* The same for a job that is attached to: as attach_redirect, with what is asked for. `wait` waits
 * for the next MPI call of each process; -errno: it is given up. */
int dynamic_redirect(const struct job *job, struct attach *attach, int (*wait)(void *data),
                     void *data, struct target_pause *pause, struct attach_error *error);

/* Adds the procedures of a program that are asked for, as far as names and keys go. */
void dynamic_procedures(const char *path, struct unit *unit);

/* The globs of a list, between commas or semicolons that stand in no brackets. `list` is cut into
 * pieces; free() the result. */
size_t dynamic_globs(char *list, const char ***globs);

#endif
