/* SPDX-License-Identifier: MIT */
/* What runs have left behind whose keeper is gone. */
#include "base/log.h"
#include "cli/load.h"
#include "cli/procs.h"
#include "cli/save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int save_job(struct job *job, bool keep, char **path)
{
    struct run *run = NULL;
    *path = NULL;
    int err = load_live(job, &run);
    if (err == 0)
        err = save_run(job, run, false, NULL, path);
    else if (err == -ENOENT)
        err = 0; /* no process has got as far as having statistics */
    else
        log_warn("job %s cannot be read: %s", job->id, strerror(-err));
    run_free(run);
    if (err == 0 && !keep) {
        procs_clear(job);
        err = job_remove(job);
        if (err < 0)
            log_warn("job %s cannot be removed from %s: %s", job->id, job->dir, strerror(-err));
    }
    return err;
}

static bool abandoned(const struct job *job, bool young)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double age = (double)now.tv_sec - 1e-9 * (double)job->started_ns;
    /* A clock that was set back makes old jobs look new; they are collected by name then. */
    return (young || age > 2) && !job_keeper_alive(job) && procs_alive(job) == 0;
}

int save_abandoned(bool young)
{
    struct job **jobs = NULL;
    int count = 0;
    if (jobs_list(&jobs) < 0)
        return 0;
    for (struct job **j = jobs; jobs && *j; j++) {
        char *path = NULL;
        if (!abandoned(*j, young) || job_claim(*j) < 0)
            continue;
        if (save_job(*j, false, &path) == 0 && path) {
            log_info("saved what an earlier run left behind: %s", path);
            count++;
        }
        free(path);
    }
    jobs_free(jobs);
    return count;
}
