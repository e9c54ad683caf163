/* SPDX-License-Identifier: MIT */
/* loupe ctl: switches measurement of a running job. */
#include "base/log.h"
#include "cli/command.h"
#include "record/place.h"
#include "record/reader.h"
#include "tree/job.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum what { MEASUREMENT_ON, MEASUREMENT_OFF, MEASUREMENT_RESET, BUDGET };

struct action {
    enum what what;
    uint32_t budget; /* in 1/100 %, or RECORD_BUDGET_OFF */
};

/* The program may change the same word by MPI_Pcontrol at the same moment. */
static void apply(struct record_control *control, struct action action)
{
    uint32_t before = __atomic_load_n(&control->word, __ATOMIC_RELAXED), after;
    if (action.what == BUDGET) { /* threads look at it at their next choice */
        __atomic_store_n(&control->budget, action.budget, __ATOMIC_RELAXED);
        return;
    }
    do {
        after = before;
        if (action.what == MEASUREMENT_ON)
            after &= ~RECORD_CONTROL_OFF;
        else if (action.what == MEASUREMENT_OFF)
            after |= RECORD_CONTROL_OFF;
        else
            after += 1u << RECORD_CONTROL_RESET_SHIFT;
    } while (!__atomic_compare_exchange_n(&control->word, &before, after, false, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
}

/* All processes whose header is in this directory of the job; how many, or -errno. */
static int apply_in(const struct job *job, const char *path, struct action action)
{
    int fd = place_open_dir(path), count = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return fd < 0 ? fd : -errno;
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = strlen(e->d_name), suffix = strlen(PLACE_HEADER_SUFFIX);
        struct record_control *control = NULL;
        if (len <= suffix || strcmp(e->d_name + len - suffix, PLACE_HEADER_SUFFIX) != 0)
            continue;
        e->d_name[len - suffix] = 0;
        int err = record_control(dirfd(dir), e->d_name, &control);
        if (err < 0) {
            log_warn("segment %s of job %s is left out: %s", e->d_name, job->id, strerror(-err));
            continue;
        }
        apply(control, action);
        record_control_close(control);
        count++;
    }
    closedir(dir);
    return count;
}

/* All processes of the job on this node. A header is under $TMPDIR where shared memory had no room
 * even for that. */
static int apply_to_job(const struct job *job, struct action action)
{
    int count = apply_in(job, job->dir, action);
    bool spill = job->spill_dir && strcmp(job->spill_dir, job->dir) != 0;
    int spilled = count >= 0 && spill ? apply_in(job, job->spill_dir, action) : 0;
    return spilled > 0 ? count + spilled : count;
}

static int parse_budget(const char *value, struct action *action)
{
    double percent;
    if (!options_percent(value, &percent))
        return command_misused(&cmd_ctl, "budget \"%s\"; possible: 0.01%% to 100%%, or off", value);
    action->what = BUDGET;
    action->budget =
        percent == OPTION_PERCENT_OFF ? RECORD_BUDGET_OFF : (uint32_t)(percent * 100 + 0.5);
    return 0;
}

static int parse_action(const char *what, const char *value, struct action *action)
{
    if (strcmp(what, "critical-path") == 0)
        return command_misused(&cmd_ctl, "%s does not exist yet; possible: measurement, budget",
                               what);
    if (strcmp(what, "budget") == 0)
        return parse_budget(value, action);
    if (strcmp(what, "measurement") != 0)
        return command_misused(&cmd_ctl, "unknown \"%s\"; possible: measurement, budget", what);
    static const char *const names[] = {"on", "off", "reset"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            action->what = (enum what)i;
            return 0;
        }
    }
    return command_misused(&cmd_ctl, "measurement \"%s\"; possible: on, off, reset", value);
}

static int run(int argc, char **argv)
{
    struct action action = {.what = MEASUREMENT_ON};
    struct job *job = NULL;
    if (argc != 3)
        return command_misused(&cmd_ctl, "which job, what, and how?");
    int err = parse_action(argv[1], argv[2], &action);
    if (err)
        return err;
    err = job_find(argv[0], &job);
    if (err < 0) {
        log_error("%s: %s; loupe ps lists the jobs there are", argv[0],
                  err == -ENOENT ? "no such job" : strerror(-err));
        return EXIT_LOUPE;
    }
    int count = apply_to_job(job, action);
    if (count < 0)
        log_error("job %s: %s", job->id, strerror(-count));
    else if (count == 0)
        log_error("job %s has no monitored process yet; try again when it has begun", job->id);
    else
        log_info("%s %s in %d process%s of job %s", argv[1], argv[2], count, count == 1 ? "" : "es",
                 job->id);
    job_free(job);
    return count > 0 ? 0 : EXIT_LOUPE;
}

const struct command cmd_ctl = {
    .name = "ctl",
    .summary = "switch measurement while a program runs",
    .usage = "JOB measurement on|off|reset, or JOB budget N%|off",
    .details =
        "JOB is an identity from loupe ps, its beginning, or the PID of one of its processes.\n"
        "measurement: the same as MPI_Pcontrol(1), (0) and (2) in the program.\n"
        "budget: what timing the probes of loupe cc may take of the run; off times everything.\n",
    .run = run,
};
