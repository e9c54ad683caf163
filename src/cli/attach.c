/* SPDX-License-Identifier: MIT */
/* loupe attach: an MPI job that is running already, from now on. */
#include "inject/attach.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/control.h"
#include "cli/critical.h"
#include "cli/dynamic.h"
#include "cli/hold.h"
#include "cli/install.h"
#include "cli/load.h"
#include "cli/procs.h"
#include "cli/ranks.h"
#include "cli/save.h"
#include "cli/settings.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    double lasts, patience;
} values;

static const struct option_entry options[] = {
    {.name = "for",
     .kind = OPTION_SECONDS,
     .at = &values.lasts,
     .value = "TIME",
     .help = "let go of the job after so long; it goes on without loupe",
     .min = 0.001,
     .max = 1e9},
    {.name = "wait",
     .kind = OPTION_SECONDS,
     .at = &values.patience,
     .value = "TIME",
     .help = "give up if it takes so long until each rank has called MPI (default: wait for ever)",
     .min = 0.001,
     .max = 1e9},
    SETTINGS_FILE,
    SETTINGS_PROBES,
    SETTINGS_PATH,
    SETTINGS_TOP,
    OPTIONS_END,
};

/* How long the first thread of a process had a processor, and waited for one, in seconds. */
struct processor {
    double had, waited;
};

struct attaching {
    struct ranks ranks;
    struct attach *attach;
    struct job *job;
    struct critical *critical;
    char *library;
    sigset_t held;
    double began, tell; /* when it is next said what takes so long */
    pid_t slow;         /* who was waited for when that was said last, and what it had had then */
    struct processor slow_had;
};

static const double TELL_FIRST = 1, TELL_EVERY = 10; /* seconds */

static struct processor processor_of(pid_t pid)
{
    char path[64];
    unsigned long long had = 0, waited = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu %llu", &had, &waited) != 2)
        had = waited = 0;
    if (file)
        fclose(file);
    return (struct processor){(double)had * 1e-9, (double)waited * 1e-9};
}

static bool time_to_tell(struct attaching *a)
{
    double now = hold_now_s();
    if (now < a->tell)
        return false;
    a->tell = now + TELL_EVERY;
    return true;
}

static bool out_of_patience(const struct attaching *a)
{
    return values.patience > 0 && hold_now_s() - a->began > values.patience;
}

/* True: the user wants an end. */
static bool sleep_ms(const sigset_t *held, long milliseconds)
{
    const struct timespec t = {.tv_nsec = milliseconds * 1000000};
    int signal = sigtimedwait(held, NULL, &t);
    return signal > 0 && signal != SIGPIPE;
}

/* Nothing is changed in any process yet. */
static int look_further(void *data, pid_t next)
{
    struct attaching *a = data;
    struct processor us = processor_of(getpid());
    double lasts = hold_now_s() - a->began;
    if (out_of_patience(a)) {
        log_error("attach: still looking at the processes after %.1f s, in which loupe waited %.1f "
                  "s for a processor; they are left as they were",
                  lasts, us.waited);
        return -ETIMEDOUT;
    }
    if (time_to_tell(a))
        log_info("looking at process %d; in %.1f s loupe itself had a processor for %.1f s and "
                 "waited for one for %.1f s",
                 (int)next, lasts, us.had, us.waited);
    return sleep_ms(&a->held, 0) ? -EINTR : 0;
}

static int prepare(struct attaching *a, int argc, char **argv)
{
    struct attach_error error = {{0}};
    int err = settings_check();
    if (err == 0)
        err = save_check(settings.output, settings.force);
    for (int i = 0; i < argc && !err; i++)
        err = ranks_add(&a->ranks, argv[i]);
    if (!err)
        err = ranks_check(&a->ranks);
    if (err)
        return err;
    a->library = install_library(INSTALL_PRELOAD);
    if (!a->library) {
        log_error(
            "attach: %s was not found beside loupe; install loupe, or set " INSTALL_ENV_LIBDIR,
            INSTALL_PRELOAD);
        return -ENOENT;
    }
    const struct attach_going going = {look_further, a};
    err = attach_open(a->ranks.pids, a->ranks.count, a->library, &going, &a->attach, &error);
    if (err && *error.message)
        log_error("attach: %s", error.message);
    if (err)
        return err;
    err = job_create(&a->job, NULL, a->ranks.command, settings.output);
    if (err)
        log_error("attach: the statistics have no place (%s); see loupe doctor", strerror(-err));
    return err;
}

static int begin(struct attaching *a)
{
    struct attach_error error = {{0}};
    struct strbuf text = {0};
    char exe[PATH_MAX] = "", link[64];
    settings_for_target(&text);
    snprintf(link, sizeof link, "/proc/%d/exe", (int)a->ranks.pids[0]);
    ssize_t len = readlink(link, exe, sizeof exe - 1);
    exe[len > 0 ? len : 0] = 0;
    target_hurry(false); /* this one takes its time, and nobody stands */
    int err = critical_begin(&a->critical, a->job, exe, true);
    target_hurry(true);
    const struct attach_place place = {a->library, a->job->dir, a->job->spill_dir, text.text};
    if (!err) {
        err = attach_begin(a->attach, &place, &error);
        if (err)
            log_error("attach: %s", error.message);
    }
    strbuf_free(&text);
    return err;
}

/* A rank that calls no MPI may compute; or it, or who it waits for, gets no processor. */
static void tell_waiting(struct attaching *a, int waiting, pid_t one)
{
    char more[128] = "";
    if (!time_to_tell(a))
        return;
    struct processor now = processor_of(one);
    if (one == a->slow)
        snprintf(more, sizeof more,
                 ", which since had a processor for %.1f s and waited for one for %.1f s",
                 now.had - a->slow_had.had, now.waited - a->slow_had.waited);
    a->slow = one;
    a->slow_had = now;
    log_info("waiting for the next MPI call of %d of %zu processes, of process %d say%s", waiting,
             attach_living(a->attach), (int)one, more);
}

/* Until every rank has called MPI once. */
static int wait_for_calls(struct attaching *a)
{
    enum { STEP_MS = 10 };
    struct attach_error error = {{0}};
    pid_t one = 0;
    for (int waiting; (waiting = attach_waiting(a->attach, &one, &error)) != 0;) {
        if (waiting < 0) {
            log_error("attach: %s", error.message);
            return waiting;
        }
        if (out_of_patience(a)) {
            log_error("attach: process %d has not called MPI in %.1f s; it is left as it was",
                      (int)one, hold_now_s() - a->began);
            return -ETIMEDOUT;
        }
        tell_waiting(a, waiting, one);
        if (sleep_ms(&a->held, STEP_MS))
            return -EINTR;
    }
    if (attach_living(a->attach))
        return 0;
    log_error("attach: the program has ended before it called MPI again");
    return -ESRCH;
}

/* Once more, for the probes. */
static int wait_again(void *data)
{
    struct attaching *a = data;
    a->began = hold_now_s();
    a->tell = a->began + TELL_FIRST;
    target_hurry(true);
    int err = wait_for_calls(a);
    target_hurry(false);
    return err;
}

static int redirect(struct attaching *a)
{
    struct attach_error error = {{0}};
    struct target_pause pause = {0};
    int err = dynamic_redirect(a->job, a->attach, wait_again, a, &pause, &error);
    if (err && *error.message)
        log_error("attach: %s", error.message);
    if (err)
        return err;
    log_verbose("stopped for %.3f ms, and %.3f ms until all threads stood",
                (double)pause.write_ns * 1e-6, (double)pause.stop_ns * 1e-6);
    log_info("%zu process%s monitored as job %s", a->ranks.count,
             a->ranks.count == 1 ? " is" : "es are", a->job->id);
    /* What a loupe that was killed had begun is complete now: nobody writes there any more. */
    for (size_t i = 0; i < a->ranks.earlier_count; i++) {
        char *path = NULL;
        if (job_claim(a->ranks.earlier[i]) == 0 &&
            save_job(a->ranks.earlier[i], false, &path) == 0 && path)
            log_info("saved what an earlier loupe attach had measured: %s", path);
        free(path);
    }
    return 0;
}

/* True: they still run. */
static bool watch(struct attaching *a)
{
    const double look_every = 0.5;
    double end = values.lasts > 0 ? hold_now_s() + values.lasts : 1e300,
           look = hold_now_s() + look_every;
    while (procs_alive(a->job) > 0) {
        if (sleep_ms(&a->held, CRITICAL_TICK_MS) || hold_now_s() >= end)
            return true;
        critical_tick(a->critical);
        if (hold_now_s() < look)
            continue;
        int more = attach_again(a->attach);
        if (more)
            log_verbose("%d calls of libraries that were loaded meanwhile are seen, too", more);
        look = hold_now_s() + look_every;
    }
    return false;
}

static void switch_off(struct record_control *control, const void *unused)
{
    (void)unused;
    __atomic_fetch_or(&control->word, RECORD_CONTROL_OFF, __ATOMIC_RELEASE);
}

static void let_go(struct attaching *a)
{
    int lost = attach_restore(a->attach);
    if (lost)
        log_warn("%d process%s could not be stopped for it: measurement is off there, but calls "
                 "still come through loupe's library",
                 lost, lost == 1 ? "" : "es");
}

static int collect(struct attaching *a, bool running)
{
    struct run *run = NULL;
    char *path = NULL;
    if (running)
        let_go(a);
    int err = load_live(a->job, &run);
    if (running)
        control_each(a->job, false, switch_off, NULL);
    if (!err)
        err = save_run(a->job, run, settings.force, NULL, &path);
    if (run && !settings.quiet)
        save_report(run, settings.top);
    if (err)
        log_warn("the statistics stay in %s (%s); save them with: loupe collect %s", a->job->dir,
                 strerror(-err), a->job->id);
    else if (!settings.quiet)
        log_info("run file: %s", path);
    if (!err) {
        procs_clear(a->job);
        job_remove(a->job);
    }
    free(path);
    run_free(run);
    return err;
}

static int run(int argc, char **argv)
{
    struct attaching a = {.began = hold_now_s(), .tell = hold_now_s() + TELL_FIRST};
    if (argc == 0)
        return command_misused(&cmd_attach, "which process or job?");
    hold_signals(&a.held);
    target_hurry(true); /* from when it is seized the program may have to wait for us */
    int err = prepare(&a, argc, argv);
    bool begun = !err;
    if (!err)
        err = begin(&a);
    if (!err)
        err = wait_for_calls(&a);
    target_hurry(false);
    if (!err)
        err = redirect(&a);
    if (!err) {
        err = collect(&a, watch(&a));
    } else if (begun) {
        let_go(&a);
        procs_clear(a.job);
        job_remove(a.job);
    }
    critical_free(a.critical);
    attach_free(a.attach);
    ranks_free(&a.ranks);
    job_free(a.job);
    free(a.library);
    return err ? EXIT_LOUPE : 0;
}

const struct command cmd_attach = {
    .name = "attach",
    .summary = "monitor an MPI job that is running already",
    .usage = "PID|JOB... [options]",
    .details = "PID is the launcher's (mpirun, mpiexec), or of single ranks. From the next MPI "
               "call of each rank\n"
               "on the job is monitored: loupe top, ps and ctl see it. It ends with the job, after "
               "--for, or\n"
               "by Ctrl-C; then the run file is written and the job goes on as it was.\n",
    .options = options,
    .values = &settings,
    .run = run,
};
