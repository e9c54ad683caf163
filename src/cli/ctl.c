/* SPDX-License-Identifier: MIT */
/* loupe ctl: switches measurement of a running job. */
#include "base/log.h"
#include "cli/command.h"
#include "cli/control.h"
#include "tree/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum what { ON, OFF, RESET, BUDGET };

struct action {
    enum what what;
    bool path;       /* the critical path, not measurement */
    uint32_t budget; /* in 1/100 %, or RECORD_BUDGET_OFF */
};

/* The program may change the same word by MPI_Pcontrol at the same moment. */
static void apply(struct record_control *control, const void *data)
{
    struct action action = *(const struct action *)data;
    uint32_t before = __atomic_load_n(&control->word, __ATOMIC_RELAXED), after;
    if (action.what == BUDGET) { /* threads look at it at their next choice */
        __atomic_store_n(&control->budget, action.budget, __ATOMIC_RELAXED);
        return;
    }
    do {
        after = before;
        if (action.what == ON)
            after &= ~RECORD_CONTROL_OFF;
        else if (action.what == OFF)
            after |= RECORD_CONTROL_OFF;
        else
            after += 1u << RECORD_CONTROL_RESET_SHIFT;
    } while (!__atomic_compare_exchange_n(&control->word, &before, after, false, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
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
    if (strcmp(what, "budget") == 0)
        return parse_budget(value, action);
    action->path = strcmp(what, "critical-path") == 0;
    if (!action->path && strcmp(what, "measurement") != 0)
        return command_misused(
            &cmd_ctl, "unknown \"%s\"; possible: measurement, critical-path, budget", what);
    static const char *const names[] = {"on", "off", "reset"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            action->what = (enum what)i;
            return 0;
        }
    }
    return command_misused(&cmd_ctl, "%s \"%s\"; possible: on, off, reset", what, value);
}

static int run(int argc, char **argv)
{
    struct action action = {.what = ON};
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
    int count = action.path ? control_path(job, (enum control_path)action.what)
                            : control_each(job, true, apply, &action);
    if (count == -ENODATA)
        log_error("job %s: the critical path is off; switch it on first", job->id);
    else if (count < 0)
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
    .usage = "JOB measurement|critical-path on|off|reset, or JOB budget N%|off",
    .details =
        "JOB is an identity from loupe ps, its beginning, or the PID of one of its processes.\n"
        "measurement: the same as MPI_Pcontrol(1), (0) and (2) in the program.\n"
        "critical-path: MPI_Pcontrol(3), (4) and (5); without --items or --top before, on looks "
        "for\n"
        "the 10 greatest items.\n"
        "budget: what timing the probes of loupe cc may take of the run; off times everything.\n",
    .run = run,
};
