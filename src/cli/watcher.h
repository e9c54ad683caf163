/* SPDX-License-Identifier: MIT */
/* The keeper of a job that was started without `loupe run`: a process beside it. */
#ifndef LOUPE_CLI_WATCHER_H
#define LOUPE_CLI_WATCHER_H

#include "cli/critical.h"
#include "tree/job.h"

#include <stdbool.h>

/*
 * Starts the watcher, which waits until the job's processes on this node have ended, writes the
 * run file and prints the report. `part`: other nodes write files of their own, so this one's name
 * gets the host's. Returns at once, in the caller only; -errno.
 */
int watcher_start(struct job *job, struct critical *critical, bool part);

#endif
