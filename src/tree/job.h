/* SPDX-License-Identifier: MIT */
/* A job on this node: its directory, what it runs, who looks after it. */
#ifndef LOUPE_TREE_JOB_H
#define LOUPE_TREE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file `job` in the job's directory: one "key value" line each, arguments escaped. */
struct job {
    char *id;        /* name of the directory */
    char *dir;       /* absolute path in shared memory */
    char *spill_dir; /* absolute path under $TMPDIR; NULL: none could be made */
    char **command;  /* NULL-terminated */
    char *cwd;       /* where the run file goes if `output` is relative */
    char *output;    /* -o, or NULL for the default name */
    int64_t started_ns;
    int32_t keeper;          /* process that will collect: `loupe run`, or the watcher of `exec` */
    uint64_t keeper_started; /* its start time, as PIDs are reused */
    uint32_t keeper_namespace;
    int claim; /* descriptor that holds the claim, -1: not claimed by us */
};

/* Creates a new job with directories and job file, all at once for others to see; `id` NULL: a
 * random one. -EEXIST if it is there (then job_open it), -EINVAL: not a name for a job. The keeper
 * is the calling process. */
int job_create(struct job **job, const char *id, char *const command[], const char *output);
/* Names this process (or `pid`) as keeper and writes the job file anew, atomically. */
int job_set_keeper(struct job *job, int32_t pid);
int job_open(const char *id, struct job **job);
/* All jobs of this user, newest first; *jobs is NULL-terminated and freed with jobs_free. */
int jobs_list(struct job ***jobs);
void jobs_free(struct job **jobs);
void job_free(struct job *job); /* accepts NULL */
/* By id, PID of one of its processes or of its keeper, or unique beginning of an id; -ENOENT,
 * -ENOTUNIQ: several ids begin so. */
int job_find(const char *id_or_pid, struct job **job);

bool job_keeper_alive(const struct job *job);
/* Number of its processes that are alive; total may be NULL. */
int job_alive(const struct job *job, int *total);
/*
 * Claims a job so that only one process collects it: 0; -EBUSY: another one has it; -ENOENT: was
 * collected meanwhile. A lock on a file in its directory, which the kernel gives back when the
 * claimer is gone (or by job_free): there are no stale claims. A keeper needs none: nobody takes a
 * job whose keeper is alive. Whether that is so is the caller's question.
 */
int job_claim(struct job *job);
/* Removes the job's directories and all files in them; the job file goes last, so that a removal
 * that is interrupted can be repeated. */
int job_remove(struct job *job);

#endif
