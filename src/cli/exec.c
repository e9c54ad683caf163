/* SPDX-License-Identifier: MIT */
/* loupe exec: becomes a program that is monitored; for use inside a launcher. */
#include "base/log.h"
#include "cli/command.h"
#include "cli/launcher.h"
#include "cli/procs.h"
#include "cli/settings.h"
#include "cli/target.h"
#include "cli/watcher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_entry options[] = {
    {.name = "job",
     .letter = 'j',
     .kind = OPTION_STRING,
     SETTING(job),
     .value = "ID",
     .help = "the job it belongs to (default: one per launcher)"},
    {.name = "alike",
     .kind = OPTION_FLAG,
     SETTING(alike),
     .help = "every rank, also on other nodes, is started by loupe exec"},
    SETTINGS_COMMON,
    OPTIONS_END,
};

static void hash_add(uint64_t *hash, const char *text)
{
    for (; *text; text++)
        *hash = (*hash ^ (unsigned char)*text) * 1099511628211u;
    *hash = (*hash ^ 0xff) * 1099511628211u;
}

/*
 * Ranks of one launch find each other without talking: they descend from the same launcher's
 * process, and where one launcher runs several jobs it says which in the environment.
 */
static bool job_of_launcher(char id[17])
{
    static const char *const variables[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    struct proc_stat stat;
    pid_t pid = getppid();
    while (pid > 1 && proc_stat(pid, &stat) == 0 && !launcher_daemon(stat.name))
        pid = stat.parent;
    if (pid <= 1 || proc_stat(pid, &stat) < 0)
        return false;
    uint64_t hash = 14695981039346656037u;
    char text[64];
    snprintf(text, sizeof text, "%d %llu", (int)pid, stat.started);
    hash_add(&hash, text);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        hash_add(&hash, value ? value : "");
    }
    snprintf(id, 17, "%016" PRIx64, hash);
    return true;
}

/* Joins the job, or is the first of it here: then a watcher is started. */
static int enter_job(char *const argv[], struct job **job)
{
    char id[17];
    const char *name = settings.job;
    if (!name && job_of_launcher(id))
        name = id;
    int err = -ENOENT;
    /* The first makes the directory and then writes into it; the watcher of an earlier program may
     * just be removing it: so, several tries. */
    for (int tries = 0; tries < 100; tries++) {
        if (name) {
            err = job_open(name, job);
            if (err == 0 && (err = procs_register(*job)) == 0)
                return 0;
            if (err == 0 || *job) {
                job_free(*job);
                *job = NULL;
            }
        }
        err = job_create(job, name, argv, settings.output);
        if (err == 0) {
            struct critical *critical = NULL;
            err = procs_register(*job);
            if (!err) /* what is wrong with the items was said: it goes on without */
                critical_begin(&critical, *job, argv[0], false);
            if (!err)
                err = watcher_start(*job, critical, settings.job != NULL);
            critical_free(critical);
            return err;
        }
        if (err != -EEXIST)
            return err;
        usleep(10000);
    }
    return err;
}

/* Open MPI finds a program without a slash in the working directory too; we stand between. */
static void as_launcher_finds(char **argv, char *room, size_t size)
{
    char *found = strchr(argv[0], '/') ? NULL : program_find(argv[0]);
    if (!found && !strchr(argv[0], '/') && access(argv[0], X_OK) == 0) {
        snprintf(room, size, "./%s", argv[0]);
        argv[0] = room;
    }
    free(found);
}

/* Said once per job, and again in its report: a launcher starts many of us. */
static int cannot_start(const char *why)
{
    struct job *job = NULL;
    if (!settings.job || job_open(settings.job, &job) < 0 || procs_warn(job, why))
        log_error("%s", why);
    job_free(job);
    return EXIT_LOUPE;
}

static int run(int argc, char **argv)
{
    if (argc == 0)
        return command_misused(&cmd_exec, "which program?");
    if (!settings.job && settings_check())
        return EXIT_LOUPE;
    struct target target = {0};
    struct job *job = NULL;
    char here[4096];
    if (settings.job)
        as_launcher_finds(argv, here, sizeof here);
    int err = target_prepare(argv[0], &target);
    if (err) {
        err = cannot_start(target.program.why.text);
        target_clear(&target);
        return err;
    }
    err = enter_job(argv, &job);
    if (err) {
        log_warn("%s runs unmonitored: the statistics have no place in shared memory (%s); see "
                 "loupe doctor",
                 argv[0], strerror(-err));
        if (!settings.alike) { /* else the others wait for this one in MPI_Init */
            free(target.library);
            target.library = NULL;
        }
    } else if (target.program.why.text && procs_warn(job, target.program.why.text)) {
        log_warn("%s", target.program.why.text);
    }
    err = target_exec(&target, job, argv);
    log_error("%s cannot be started: %s", argv[0],
              err == -ENOEXEC ? "it is no program for this machine" : strerror(-err));
    return EXIT_LOUPE;
}

const struct command cmd_exec = {
    .name = "exec",
    .summary = "the same from inside the launcher: mpirun -n 4 loupe exec ./app",
    .usage = "[options] [--] PROGRAM [ARGS]",
    .details =
        "Becomes PROGRAM, monitored. Without --job, the processes of one launcher are one job,\n"
        "and a process beside them writes the run file and prints the report at their end.\n",
    .options = options,
    .values = &settings,
    .flags = COMMAND_STOP | COMMAND_NO_COLLECT,
    .run = run,
};
