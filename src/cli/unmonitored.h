/* SPDX-License-Identifier: MIT */
/* A run of which no process has left statistics: what its keeper knows of it. */
#ifndef LOUPE_CLI_UNMONITORED_H
#define LOUPE_CLI_UNMONITORED_H

#include "metric/run.h"
#include "tree/job.h"

#include <sys/types.h>

/* `program` NULL: the command's own name; `status` as waitpid gives it. */
struct run *unmonitored_run(const struct job *job, const char *program, pid_t pid, int status);

#endif
