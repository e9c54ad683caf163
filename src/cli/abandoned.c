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

bool save_in_use(const struct job *job)
{
    return job_keeper_alive(job) || procs_alive(job) > 0;
}

/* Jobs that have just been made may have no process yet. A clock that was set back makes old jobs
 * look new: those `loupe collect` takes, which does not ask. */
static bool young(const struct job *job)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec - 1e-9 * (double)job->started_ns <= 2;
}

/* As save_in_use, and tells the user who it is. */
static bool said_in_use(const struct job *job)
{
    struct strbuf pids = {0};
    bool kept = job_keeper_alive(job); /* first: what it starts meanwhile is seen below */
    procs_name_living(job, &pids);
    if (pids.len && kept)
        log_info("job %s still runs (PID %s); process %d saves it when it ends", job->id, pids.text,
                 (int)job->keeper);
    else if (pids.len)
        log_info("job %s still runs (PID %s); loupe collect %s saves it as it stands", job->id,
                 pids.text, job->id);
    else if (kept)
        log_info("job %s is just being started or saved by process %d", job->id, (int)job->keeper);
    bool in_use = kept || pids.len > 0;
    strbuf_free(&pids);
    return in_use;
}

/* True if the user was told something about it. */
static bool save_one(struct job *job, bool asked)
{
    char *path = NULL;
    if (asked ? said_in_use(job) : save_in_use(job))
        return asked;
    int err = job_claim(job);
    if (err == -EBUSY && asked)
        log_info("job %s is just being collected by another loupe", job->id);
    else if (err < 0 && err != -ENOENT && asked)
        log_warn("job %s cannot be claimed in %s: %s", job->id, job->dir, strerror(-err));
    if (err < 0)
        return asked && err != -ENOENT;
    err = save_job(job, false, &path);
    if (err == 0 && path)
        log_info("saved what an earlier run left behind: %s", path);
    else if (err == 0 && asked)
        log_info("job %s has no statistics; removed", job->id);
    free(path);
    return true;
}

int save_abandoned(bool asked)
{
    struct job **jobs = NULL;
    int told = 0;
    int err = jobs_list(&jobs);
    for (struct job **j = jobs; err == 0 && jobs && *j; j++)
        if (asked || !young(*j))
            told += save_one(*j, asked);
    jobs_free(jobs);
    return err ? err : told;
}
