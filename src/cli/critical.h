/* SPDX-License-Identifier: MIT */
/* Who looks after the critical path of a job: says which items it has, and searches for them. Used
 * by `loupe run` and the watcher of `loupe exec`. */
#ifndef LOUPE_CLI_CRITICAL_H
#define LOUPE_CLI_CRITICAL_H

#include "tree/job.h"

#include <stdbool.h>

enum { CRITICAL_TICK_MS = 50 };

struct critical;

/* Before the program starts: makes the first plan as the settings say. It may be switched on later
 * in any case. `sole`: nobody on another node looks after ranks of this job, so whichever are here
 * are searched. -EINVAL: the settings make no sense, which was said; *critical is NULL then. */
int critical_begin(struct critical **critical, const struct job *job, const char *program,
                   bool sole);
/* Does what is to be done; to be called some 20 times a second. Accepts NULL. */
void critical_tick(void *critical);
void critical_free(struct critical *critical); /* accepts NULL */

#endif
