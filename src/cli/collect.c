/* SPDX-License-Identifier: MIT */
/* loupe collect: saves what an ended or killed run left behind. */
#include "base/log.h"
#include "cli/command.h"
#include "cli/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One job by name: also while it runs, then as it stands now. */
static int collect_named(const char *name)
{
    struct job *job = NULL;
    char *path = NULL;
    int err = job_find(name, &job);
    if (err < 0) {
        log_error("%s: %s; loupe ps lists the jobs there are", name,
                  err == -ENOENT ? "no such job" : strerror(-err));
        return EXIT_LOUPE;
    }
    bool busy = save_in_use(job);
    if (!busy && job_claim(job) < 0) {
        log_error("job %s is just being collected by another loupe", job->id);
        err = -EBUSY;
    } else {
        err = save_job(job, busy, &path);
    }
    if (err == 0 && path)
        printf("%s\n", path);
    else if (err == 0)
        log_info("job %s has no statistics%s", job->id, busy ? " yet" : "; removed");
    if (err == 0 && busy && path)
        log_info("job %s goes on; the file holds it as of now", job->id);
    free(path);
    job_free(job);
    return err ? EXIT_LOUPE : 0;
}

static int collect_all(void)
{
    int told = save_abandoned(true);
    if (told < 0)
        log_error("the jobs cannot be listed: %s; see loupe doctor", strerror(-told));
    else if (told == 0)
        log_info("nothing to collect");
    return told < 0 ? EXIT_LOUPE : 0;
}

static int run(int argc, char **argv)
{
    if (argc > 1)
        return command_misused(&cmd_collect, "one job at most");
    return argc == 1 ? collect_named(argv[0]) : collect_all();
}

const struct command cmd_collect = {
    .name = "collect",
    .summary = "save what an ended or killed run left behind",
    .usage = "[JOB]",
    .details =
        "Without JOB, every run of yours on this machine that has ended without being saved.\n"
        "JOB is an identity from loupe ps, its beginning, or the PID of one of its processes;\n"
        "a job that still runs is saved as it stands and goes on.\n",
    .flags = COMMAND_NO_COLLECT,
    .run = run,
};
