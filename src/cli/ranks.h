/* SPDX-License-Identifier: MIT */
/* The processes of an MPI job that was started without us. */
#ifndef LOUPE_CLI_RANKS_H
#define LOUPE_CLI_RANKS_H

#include "tree/job.h"

#include <stddef.h>
#include <sys/types.h>

struct ranks {
    pid_t *pids;
    size_t count, room;
    char **command;       /* of what was named first, NULL-terminated */
    struct job **earlier; /* jobs that some of them are in, whose keeper is gone */
    size_t earlier_count, earlier_room;
};

/* Adds the process, or a job's processes, and what descends from them, as far as they use MPI.
 * -errno: said on standard error. */
int ranks_add(struct ranks *r, const char *pid_or_job);
/* Whether somebody looks after one of them already: said on standard error. */
int ranks_check(struct ranks *r);
void ranks_free(struct ranks *r);

#endif
