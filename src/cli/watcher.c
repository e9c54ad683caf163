/* SPDX-License-Identifier: MIT */
#include "cli/watcher.h"

#include "base/log.h"
#include "cli/load.h"
#include "cli/procs.h"
#include "cli/save.h"
#include "cli/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many processes the launcher starts on this node, as far as it says so; 0: unknown. */
static int expected(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value && atoi(value) > 0)
            return atoi(value);
    }
    return 0;
}

/*
 * All have come and all have gone. A short program's first process can end before the last has
 * begun: until the expected number has been seen, the silence has to last. The launcher itself is
 * not waited for: it waits for us, as long as we hold its pipe.
 */
static void wait_for_all(const struct job *job, struct critical *critical)
{
    enum { STEP_MS = 50 };
    int silent_ms = 0, total = 0, wanted = expected();
    for (;;) {
        bool alive = procs_registered(job, &total) > 0 || job_alive(job, NULL) > 0;
        int patience_ms = wanted && total >= wanted ? 0 : wanted ? 2000 : 500;
        if (!alive && silent_ms >= patience_ms)
            return;
        critical_tick(critical);
        silent_ms = alive ? 0 : silent_ms + STEP_MS;
        usleep(STEP_MS * 1000);
    }
}

static void keep(struct job *job, struct critical *critical, bool part)
{
    struct run *run = NULL;
    char *path = NULL, host[64] = "";
    gethostname(host, sizeof host - 1);
    wait_for_all(job, critical);
    critical_free(critical);
    int err = load_live(job, &run);
    if (err == 0) {
        err = save_run(job, run, settings.force, part ? host : NULL, &path);
        if (!settings.quiet)
            save_report(run, settings.top);
        if (err)
            log_warn("the statistics stay in %s; save them with: loupe collect %s", job->dir,
                     job->id);
        else if (!settings.quiet)
            log_info("run file: %s", path);
    } else if (err == -ENOENT) {
        err = 0; /* nothing was monitored; exec has said why */
    } else {
        log_warn("the statistics cannot be read (%s); they stay in %s", strerror(-err), job->dir);
    }
    if (err == 0) {
        procs_clear(job);
        job_remove(job);
    }
    free(path);
    run_free(run);
}

/* Nothing of the program's is held but standard error: its files and pipes must close when it
 * ends, and the signals sent to it must not reach us. */
static void detach(void)
{
    setsid();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    close_range(STDERR_FILENO + 1, ~0U, 0);
}

int watcher_start(struct job *job, struct critical *critical, bool part)
{
    int fds[2], err = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    /* Twice, so that the program never finds a child that it has not made. */
    pid_t first = fork();
    if (first == 0) {
        pid_t second = fork();
        if (second != 0)
            _exit(second < 0);
        err = job_set_keeper(job, getpid());
        if (write(fds[1], &err, sizeof err) < 0)
            _exit(1);
        detach();
        keep(job, critical, part);
        _exit(0);
    }
    err = first < 0 ? -errno : 0;
    close(fds[1]);
    /* Until the watcher is keeper, another loupe could take the job for abandoned. */
    if (!err && read(fds[0], &err, sizeof err) != (ssize_t)sizeof err)
        err = -ECHILD;
    close(fds[0]);
    if (first > 0)
        waitpid(first, NULL, 0);
    return err;
}
