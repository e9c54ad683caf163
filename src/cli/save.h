/* SPDX-License-Identifier: MIT */
/* Keeping a run: its file, wherever it can be written, and the report at the end. */
#ifndef LOUPE_CLI_SAVE_H
#define LOUPE_CLI_SAVE_H

#include "metric/run.h"
#include "tree/job.h"

#include <stdbool.h>

/*
 * Writes the run file where the job says, else under $TMPDIR; says on standard error where it went
 * if that is not what was asked for. `part` (NULL: none) tells the files of one job apart, where
 * each node writes its own. *path is owned by the caller. -errno: it could not be written at all.
 */
int save_run(const struct job *job, const struct run *run, bool force, const char *part,
             char **path);
/* Before the start: -EEXIST if `output` is there already, which is said; if its directory cannot be
 * written to, that is said and no error. NULL: the current directory is looked at. */
int save_check(const char *output, bool force);

/* The short report to standard error. */
void save_report(const struct run *run, int top);
/* Colours: only for a terminal, and not with NO_COLOR. */
bool save_color(int fd);
/* Columns of the terminal that fd is; else COLUMNS, else so many that a file loses no name. */
int save_width(int fd);

/* Saves a job and removes it; with `keep` it stays, for its processes still run. The name of the
 * file in *path, NULL if there was nothing to save. -errno: said on standard error. */
int save_job(struct job *job, bool keep, char **path);
/* Whether somebody is still at it: the keeper, or a process of its own. */
bool save_in_use(const struct job *job);
/* Saves what ended runs have left behind, one line on standard error each; how many lines, or
 * -errno if the jobs cannot be listed. When the user has `asked` for it, young jobs, which may
 * still be in the making, are no exception, and every job that stays is told with the reason. */
int save_abandoned(bool asked);

#endif
