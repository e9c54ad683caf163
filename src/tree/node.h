/* SPDX-License-Identifier: MIT */
/* Reads all processes of a job on this node into a run. */
#ifndef LOUPE_TREE_NODE_H
#define LOUPE_TREE_NODE_H

#include "metric/run.h"
#include "tree/job.h"

/*
 * Fills a new run from the job's segments: ranks with their states (a process that is gone while
 * its segment says running was killed), one graph node per (module, offset, call) with module,
 * build-id and offset but without procedure, file and line (see view/resolve), values and peers.
 * Segments that cannot be read become warnings. -errno: -ENOENT if the job has no segments.
 */
int node_read(const struct job *job, struct run **run);

/*
 * Words the warnings about ranks that were killed, aborted or ended without MPI_Finalize anew, in
 * place of those that node_read made: call it after filling in signals of ranks.
 */
void node_warn_endings(struct run *run);

#endif
