/* SPDX-License-Identifier: MIT */
/* A run to look at: from a job that is (or was) running here, or from a run file. */
#ifndef LOUPE_CLI_LOAD_H
#define LOUPE_CLI_LOAD_H

#include "base/strbuf.h"
#include "metric/run.h"
#include "tree/job.h"

/* The job's segments with the source looked up (node_read and structure_run); -errno. */
int load_live(const struct job *job, struct run **run);
/* Looks the source up for a run that was made here. */
void load_structure(struct run *run);
/* A run file; -errno as store_read, and then `error` says in one line what is wrong and what to do.
 */
int load_file(const char *path, struct run **run, struct strbuf *error);

#endif
