/* SPDX-License-Identifier: MIT */
/* loupe run: a program from its start to its end. */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/critical.h"
#include "cli/install.h"
#include "cli/launcher.h"
#include "cli/load.h"
#include "cli/procs.h"
#include "cli/save.h"
#include "cli/settings.h"
#include "cli/supervise.h"
#include "cli/target.h"
#include "cli/unmonitored.h"
#include "record/layout.h"
#include "record/place.h"
#include "tree/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct option_entry options[] = {SETTINGS_COMMON, OPTIONS_END};

/* Everything about the run that is decided before its start. */
struct start {
    char **argv; /* as the user typed it */
    enum launcher_kind kind;
    struct target target; /* a plain program */
    char **rewritten;     /* a launcher's command line, with loupe exec in it */
    char *self, *items, *dynamic;
    char peers[16], budget[32];
    bool alike; /* the launcher starts one program, everywhere by way of loupe exec */
    struct job *job;
    struct critical *critical;
};

static int create_job(struct start *s)
{
    int err = job_create(&s->job, NULL, s->argv, settings.output);
    if (err == 0)
        err = job_set_keeper(s->job, getpid());
    char root[PATH_MAX] = "shared memory";
    place_shm_root(root, sizeof root);
    if (!err && strncmp(s->job->dir, root, strlen(root)) != 0)
        log_warn("shared memory has no room, or cannot be used (see loupe doctor); the statistics "
                 "go to %s",
                 s->job->dir);
    else if (!err && !s->job->spill_dir)
        log_verbose("no directory in $TMPDIR for what does not fit into shared memory");
    if (err) {
        log_error("the statistics have no place in %s (%s%s); see loupe doctor, or set "
                  "LOUPE_SHM_DIR to a directory of yours",
                  root, strerror(-err),
                  err == -EPERM    ? ": not ours, or open to others"
                  : err == -EFBIG  ? ": ulimit -f"
                  : err == -EMFILE ? ": ulimit -n"
                                   : "");
    }
    return err;
}

/* What was asked for on the command line, which `loupe exec` does not see. */
static void add_options(struct start *s, char **to)
{
    int compensation = settings_compensation();
    if (settings.budget == OPTION_PERCENT_OFF)
        snprintf(s->budget, sizeof s->budget, "--budget=off");
    else
        snprintf(s->budget, sizeof s->budget, "--budget=%g%%", settings.budget);
    *to++ = s->budget;
    if (s->alike)
        *to++ = "--alike";
    if (compensation != RECORD_COMPENSATE_FULL)
        *to++ =
            compensation == RECORD_COMPENSATE_NONE ? "--no-compensation" : "--local-compensation";
    if (!settings_headers())
        *to++ = "--no-headers";
    if (settings.verbose)
        *to++ = "--verbose";
    if (settings_critical_path()) { /* for the nodes that we are not on */
        *to++ = "--critical-path";
        if (settings.items)
            *to++ = s->items = xasprintf("--items=%s", settings.items);
    }
    if (settings.dynamic)
        *to++ = s->dynamic = xasprintf("--dynamic=%s", settings.dynamic);
    *to++ = "--";
    *to = NULL;
}

/* Puts `loupe exec` before each program that the launcher starts. */
static int rewrite(struct start *s)
{
    snprintf(s->peers, sizeof s->peers, "%d", settings.peers);
    s->self = install_self();
    if (!s->self) {
        log_error("loupe cannot find its own file (/proc/self/exe: %s); mount /proc",
                  strerror(errno));
        return -ENOENT;
    }
    char *path = program_find(s->argv[0]);
    if (!path) {
        log_error("%s: %s; check the name, or give its path", s->argv[0], strerror(errno));
        return -ENOENT;
    }
    free(path);
    char *prefix[20] = {s->self, "exec", "--job", s->job->id, "--peers", s->peers};
    s->alike = !launcher_has_parts(s->argv);
    add_options(s, prefix + 6);
    struct strbuf error = {0};
    int err = launcher_rewrite(s->kind, s->argv, prefix, &s->rewritten, &error);
    if (err == -ENOENT)
        strbuf_printf(&error, "%s starts no program here; name one after its options", s->argv[0]);
    if (err)
        log_error("%s", error.text);
    strbuf_clear(&error);
    for (char **word = s->rewritten; !err && *word; word++)
        strbuf_printf(&error, " %s", *word);
    if (!err)
        log_verbose("starting%s", error.text);
    strbuf_free(&error);
    return err;
}

static int prepare(struct start *s)
{
    s->kind = launcher_recognise(s->argv[0]);
    int err = settings_check();
    if (err == 0)
        err = save_check(settings.output, settings.force);
    if (err == 0 && s->kind == LAUNCHER_NONE) {
        err = target_prepare(s->argv[0], &s->target);
        if (err)
            log_error("%s", s->target.program.why.text);
    }
    if (err == 0)
        err = create_job(s);
    if (err == 0 && s->kind != LAUNCHER_NONE)
        err = rewrite(s);
    if (err == 0) {
        const char *program =
            s->kind == LAUNCHER_NONE ? s->argv[0] : launcher_program(s->kind, s->argv);
        err = critical_begin(&s->critical, s->job, program, false);
    }
    if (err == 0 && s->target.library)
        log_verbose("job %s, starting %s with %s", s->job->id, s->target.program.path,
                    s->target.library);
    if (err == 0 && s->target.program.why.text) {
        log_warn("%s", s->target.program.why.text);
        procs_warn(s->job, s->target.program.why.text);
    }
    return err;
}

static _Noreturn void become_program(const struct start *s, const struct supervisor *supervisor,
                                     int report)
{
    int err;
    supervisor_child(supervisor);
    if (s->kind == LAUNCHER_NONE) {
        procs_register(s->job);
        err = target_exec(&s->target, s->job, s->argv);
    } else {
        execvp(s->rewritten[0], s->rewritten);
        err = -errno;
    }
    if (write(report, &err, sizeof err) < 0)
        log_error("%s cannot be started: %s", s->argv[0], strerror(-err));
    _exit(EXIT_LOUPE);
}

/* Forks; the pipe closes by itself when the child has become the program, else brings its errno. */
static int start(struct start *s, struct supervisor *supervisor)
{
    int fds[2], err = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    supervisor_begin(supervisor);
    supervisor->child = fork();
    if (supervisor->child == 0)
        become_program(s, supervisor, fds[1]);
    err = supervisor->child < 0 ? -errno : 0;
    close(fds[1]);
    if (!err && read(fds[0], &err, sizeof err) != (ssize_t)sizeof err)
        err = 0;
    close(fds[0]);
    if (err) {
        if (supervisor->child > 0)
            waitpid(supervisor->child, NULL, 0);
        log_error("%s cannot be started: %s", s->argv[0],
                  err == -ENOEXEC ? "it is no program for this machine" : strerror(-err));
    }
    return err;
}

/* Those of the job that are alive; also before they have become part of it, if the launcher has
 * left them to us that early. */
static int still_alive(const struct start *s)
{
    int total = 0, alive = procs_alive(s->job);
    if (alive || s->kind == LAUNCHER_NONE)
        return alive;
    procs_registered(s->job, &total);
    return total == 0 && supervisor_has_children();
}

/* Processes may outlive the launcher: a moment as a rule, for good if they are daemons. */
static int wait_for_all(const struct start *s, struct supervisor *supervisor)
{
    enum { STEP_MS = 20 };
    int alive = still_alive(s);
    for (double waited = 0; alive > 0 && waited < settings.grace; waited += STEP_MS / 1000.0) {
        if (supervisor_pause(supervisor, STEP_MS))
            break;
        alive = still_alive(s);
    }
    supervisor_pause(supervisor, 0);
    return procs_alive(s->job);
}

/* A killed process is over for its statistics before its parent can learn what killed it: it gives
 * back its memory first. */
static void wait_for_signals(const struct run *run, struct supervisor *supervisor)
{
    enum { STEP_MS = 10, LIMIT_MS = 2000 };
    int waited = 0;
    for (size_t i = 0; i < run->rank_count; i++)
        if (run->ranks[i].state == RUN_KILLED)
            for (; waited < LIMIT_MS && supervisor_expects(run->ranks[i].pid); waited += STEP_MS)
                if (supervisor_pause(supervisor, STEP_MS))
                    return;
}

/* What only the parent of a process knows: which signal ended it. */
static void fill_signals(struct run *run, struct supervisor *supervisor)
{
    int unknown = 0;
    wait_for_signals(run, supervisor);
    for (size_t i = 0; i < run->rank_count; i++) {
        struct run_rank *rank = &run->ranks[i];
        if (rank->state == RUN_KILLED && !rank->signal)
            rank->signal = supervisor_signal(supervisor, rank->pid);
        unknown += rank->state == RUN_KILLED && !rank->signal;
    }
    node_warn_endings(run);
    /* Launchers pass a rank's signal on as shells do; which rank it was they do not say. */
    int code = WIFEXITED(supervisor->status) ? WEXITSTATUS(supervisor->status) : 0;
    if (unknown && code > 128 && code < 128 + SIGRTMIN)
        run_warn(run, "the launcher reported signal %d", code - 128);
}

/* No `loupe exec` could start what it was to become, and has said so: there is nothing to keep. */
static bool nothing_started(const struct start *s, const struct supervisor *supervisor)
{
    int total = 0;
    procs_registered(s->job, &total);
    return s->kind != LAUNCHER_NONE && total == 0 && WIFEXITED(supervisor->status) &&
           WEXITSTATUS(supervisor->status) == EXIT_LOUPE;
}

static void collect(struct start *s, struct supervisor *supervisor, int alive)
{
    struct run *run = NULL;
    char *path = NULL;
    int err = load_live(s->job, &run);
    if (err == -ENOENT && nothing_started(s, supervisor)) {
        procs_clear(s->job);
        job_remove(s->job);
        return;
    }
    if (err == -ENOENT) {
        run = unmonitored_run(s->job, launcher_program(s->kind, s->argv), supervisor->child,
                              supervisor->status);
        err = 0;
    }
    if (err) {
        log_warn("the statistics cannot be read (%s); they stay in %s", strerror(-err),
                 s->job->dir);
        return;
    }
    fill_signals(run, supervisor);
    err = save_run(s->job, run, settings.force, NULL, &path);
    if (!settings.quiet)
        save_report(run, settings.top);
    if (err) {
        log_warn("the statistics stay in %s; when there is space, save them with: loupe collect %s",
                 s->job->dir, s->job->id);
    } else {
        if (!settings.quiet)
            log_info("run file: %s", path);
        if (alive)
            log_warn("%d process%s still run%s; save them later with: loupe collect %s", alive,
                     alive == 1 ? "" : "es", alive == 1 ? "s" : "", s->job->id);
        else
            procs_clear(s->job);
        if (!alive && job_remove(s->job) < 0)
            log_warn("%s cannot be removed", s->job->dir);
    }
    free(path);
    run_free(run);
}

static void start_free(struct start *s)
{
    target_clear(&s->target);
    free(s->rewritten);
    free(s->self);
    free(s->items);
    free(s->dynamic);
    job_free(s->job);
}

static int run(int argc, char **argv)
{
    struct start s = {.argv = argv};
    struct supervisor supervisor;
    if (argc == 0)
        return command_misused(&cmd_run, "which program?");
    int err = prepare(&s);
    if (err == 0)
        err = start(&s, &supervisor);
    if (err) {
        if (s.job) {
            procs_clear(s.job);
            job_remove(s.job);
        }
        critical_free(s.critical);
        start_free(&s);
        return EXIT_LOUPE;
    }
    supervisor_wait(&supervisor, CRITICAL_TICK_MS, critical_tick, s.critical);
    critical_free(s.critical);
    collect(&s, &supervisor, wait_for_all(&s, &supervisor));
    start_free(&s);
    supervisor_free(&supervisor);
    supervisor_end_alike(&supervisor);
}

const struct command cmd_run = {
    .name = "run",
    .summary = "monitor a program from its start to its end",
    .usage = "[-o FILE] [options] [--] COMMAND [ARGS]",
    .details =
        "COMMAND is a launcher (mpirun, mpiexec, srun) with its options, or a plain program.\n"
        "Writes the run file and prints a short report to standard error at the end.\n"
        "The exit status is the program's; 125 if loupe could not start it.\n",
    .options = options,
    .values = &settings,
    .flags = COMMAND_STOP,
    .run = run,
};
