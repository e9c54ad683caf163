/* SPDX-License-Identifier: MIT */
#include "cli/supervise.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

static void handled_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(set, passed_on[i]);
}

static void nothing(int signal)
{
    (void)signal;
}

/* Who reads our report may go before it is written; the statistics and the status must not go
 * with it. With a handler and not ignored: the child finds the default. */
static void survive_closed_pipe(void)
{
    struct sigaction before, action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &action, NULL);
}

void supervisor_begin(struct supervisor *s)
{
    sigset_t set;
    /* An inherited "ignore" for SIGCHLD would take the child's status from us. */
    struct sigaction normal = {.sa_handler = SIG_DFL};
    *s = (struct supervisor){0};
    sigaction(SIGCHLD, &normal, &s->child_before);
    handled_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &s->mask_before);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    survive_closed_pipe();
}

void supervisor_child(const struct supervisor *s)
{
    sigaction(SIGCHLD, &s->child_before, NULL);
    sigprocmask(SIG_SETMASK, &s->mask_before, NULL);
}

static void note_end(struct supervisor *s, pid_t pid, int status)
{
    enum { ENDS_MAX = 65536 };
    if (pid == s->child) {
        s->ended = true;
        s->status = status;
    }
    if (WIFSIGNALED(status) && s->count < ENDS_MAX)
        *VEC_PUSH(s->ends, s->count, s->room) =
            (struct supervisor_end){.pid = pid, .signal = WTERMSIG(status)};
}

/* The child was stopped from the terminal: stop too, or the shell would not take over. */
static void stop_alike(const struct supervisor *s, int signal)
{
    if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
        return;
    raise(SIGSTOP);
    kill(s->child, SIGCONT);
}

static void reap(struct supervisor *s)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (!WIFSTOPPED(status))
            note_end(s, pid, status);
        else if (pid == s->child)
            stop_alike(s, WSTOPSIG(status));
    }
}

/* Keys of the terminal reach the child by its process group; only what a process has sent to us
 * (and not the terminal's driver, the kernel) is passed on. */
static void pass_on(const struct supervisor *s, const siginfo_t *info)
{
    if (info->si_code <= 0 && !s->ended)
        kill(s->child, info->si_signo);
}

void supervisor_wait(struct supervisor *s, int milliseconds, supervisor_tick *tick, void *data)
{
    const struct timespec limit = {.tv_sec = milliseconds / 1000,
                                   .tv_nsec = milliseconds % 1000 * 1000000L};
    sigset_t set;
    handled_signals(&set);
    reap(s);
    while (!s->ended) {
        siginfo_t info;
        int signal = sigtimedwait(&set, &info, tick ? &limit : NULL);
        if (tick)
            tick(data);
        if (signal > 0 && signal != SIGCHLD)
            pass_on(s, &info);
        reap(s);
    }
}

bool supervisor_pause(struct supervisor *s, int milliseconds)
{
    sigset_t set;
    handled_signals(&set);
    struct timespec limit = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = milliseconds % 1000 * 1000000L};
    siginfo_t info;
    int signal = sigtimedwait(&set, &info, &limit);
    reap(s);
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

bool supervisor_has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool supervisor_expects(pid_t pid)
{
    siginfo_t info = {0};
    return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int supervisor_signal(const struct supervisor *s, pid_t pid)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->ends[i].pid == pid)
            return s->ends[i].signal;
    return 0;
}

void supervisor_end_alike(const struct supervisor *s)
{
    if (WIFSIGNALED(s->status)) {
        int signal_ = WTERMSIG(s->status);
        struct rlimit none = {0};
        sigset_t set;
        setrlimit(RLIMIT_CORE, &none); /* the program has written the core, if any */
        signal(signal_, SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, signal_);
        raise(signal_);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        _exit(128 + signal_); /* signals that do not end a process never come here */
    }
    exit(WEXITSTATUS(s->status));
}

void supervisor_free(struct supervisor *s)
{
    free(s->ends);
    s->ends = NULL;
}
