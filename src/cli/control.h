/* SPDX-License-Identifier: MIT */
/* The control words of a job's processes on this node. */
#ifndef LOUPE_CLI_CONTROL_H
#define LOUPE_CLI_CONTROL_H

#include "record/layout.h"
#include "tree/job.h"

typedef void control_act(struct record_control *control, const void *data);
/* Calls `act` for each; segments that cannot be had are left out, with a warning if `warn`. How
 * many there were, or -errno. */
int control_each(const struct job *job, bool warn, control_act *act, const void *data);

/* Tells all of them that the plan of the critical path has this generation. */
int control_tell(const struct job *job, uint32_t generation);

/* Off, or on with what was selected before (else the search); a reset is a new beginning with the
 * same. Processes of the job that begin later see the plan. How many know it already; -ENODATA: it
 * is off and cannot be reset, -errno. */
enum control_path { CONTROL_PATH_ON, CONTROL_PATH_OFF, CONTROL_PATH_RESET };
int control_path(const struct job *job, enum control_path what);

#endif
