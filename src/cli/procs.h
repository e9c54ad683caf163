/* SPDX-License-Identifier: MIT */
/*
 * Notes in a job's directory that processes leave before (or without) having a segment:
 *     pid-PID-STARTTIME   `loupe exec` became this process
 *     warning-HASH        one line for the report, said by the first that had reason to
 */
#ifndef LOUPE_CLI_PROCS_H
#define LOUPE_CLI_PROCS_H

#include "base/strbuf.h"
#include "metric/run.h"
#include "tree/job.h"

#include <sys/types.h>

/* Parent, start time (clock ticks since boot) and name of a process; -ESRCH also for zombies. */
struct proc_stat {
    pid_t parent;
    unsigned long long started;
    char name[32];
};
int proc_stat(pid_t pid, struct proc_stat *stat);

/* Notes that this process belongs to the job; -errno. */
int procs_register(const struct job *job);
/* How many registered processes are alive; how many there ever were (may be NULL). */
int procs_registered(const struct job *job, int *total);
/* Processes of the job that are alive, registered or with a segment. */
int procs_alive(const struct job *job);
/* Their PIDs, to be freed; how many. Those of other PID namespaces are not among them. */
size_t procs_living(const struct job *job, pid_t **pids);
/* Their PIDs, for a message; none if they have ended by now. */
void procs_name_living(const struct job *job, struct strbuf *out);

/* Leaves the line for the report. True for the first who says it: it may also print it. */
bool procs_warn(const struct job *job, const char *text);
/* It is not so any more. */
void procs_unwarn(const struct job *job, const char *text);
/* Adds the lines left so to the run's warnings. */
void procs_warnings(const struct job *job, struct run *run);
/* Removes all notes, so that the directory can be removed. */
void procs_clear(const struct job *job);

#endif
