/* SPDX-License-Identifier: MIT */
/* The file `job` in a job's directory, for job.c alone. */
#ifndef LOUPE_TREE_JOBFILE_H
#define LOUPE_TREE_JOBFILE_H

#include "tree/job.h"

#define JOB_FILE "job"

/* `dir` is a descriptor of the job's directory; id and dir of the job are not in the file. */
int jobfile_write(const struct job *job, int dir);
/* -EPROTO: not a job file, or damaged; -ENOTSUP: of another version. */
int jobfile_read(struct job *job, int dir);

#endif
