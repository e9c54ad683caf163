/* SPDX-License-Identifier: MIT */
/*
 * The threads of all targets: seizing, stopping and continuing them. All of it runs in the tracer's
 * thread. While we are attached a thread stops for every signal, and goes on with it at once.
 */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 1024 };
static const uint64_t STOP_LIMIT_NS = 3000000000u; /* a thread in a device's hands may not stop */

static struct thread *buckets[BUCKETS];
static size_t total;

size_t threads_total(void)
{
    return total;
}

struct thread *thread_find(pid_t tid)
{
    struct thread *th = buckets[(unsigned)tid % BUCKETS];
    while (th && th->tid != tid)
        th = th->next;
    return th;
}

struct thread *thread_add(struct target *t, pid_t tid)
{
    struct thread *th = xcalloc(1, sizeof *th);
    struct thread **bucket = &buckets[(unsigned)tid % BUCKETS];
    *th = (struct thread){.target = t, .tid = tid, .state = THREAD_RUNS, .next = *bucket};
    *bucket = th;
    total++;
    if (t) {
        t->thread_count++;
        t->running++;
    }
    return th;
}

void thread_forget(struct thread *th)
{
    struct thread **at = &buckets[(unsigned)th->tid % BUCKETS];
    while (*at != th)
        at = &(*at)->next;
    *at = th->next;
    total--;
    struct target *t = th->target;
    if (t) {
        if (th->state == THREAD_RUNS && !th->vforking)
            t->running--;
        if (--t->thread_count == 0)
            t->dead = true;
    }
    free(th);
}

void threads_each(struct target *t, void (*f)(struct thread *th, void *data), void *data)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct thread *th = buckets[i], *next; th; th = next) {
            next = th->next;
            if (th->target == t)
                f(th, data);
        }
}

/* Seizing */

static const unsigned long OPTIONS =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE |
    PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD;

/* Returns how many were new, or -errno of the first that could not be had. */
static int seize_some(struct target *t)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -ESRCH;
    int found = 0, failed = 0;
    for (struct dirent *e; (e = readdir(tasks));) {
        pid_t tid = atoi(e->d_name);
        if (tid <= 0 || thread_find(tid))
            continue;
        long r = trace(PTRACE_SEIZE, tid, NULL, (void *)OPTIONS);
        if (r == 0) {
            thread_add(t, tid);
            found++;
        } else if (r == -EPERM) { /* it may be a zombie among living ones, or ours by now */
            char status[96];
            snprintf(status, sizeof status, "/proc/%d/task/%d/status", (int)t->pid, (int)tid);
            long tracer = status_number(status, "TracerPid:", 10);
            if (tracer < 0)
                continue; /* it has ended meanwhile */
            FILE *f = fopen(status, "re");
            char line[128], state = 'X'; /* gone, if the file is */
            while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "State: %c", &state) == 1)
                    break;
            if (f)
                fclose(f);
            if (state != 'Z' && state != 'X' && tracer != (long)syscall(SYS_gettid) && !failed)
                failed = (int)r;
        }
    }
    closedir(tasks);
    return failed ? failed : found;
}

int threads_seize(struct target *t, struct target_error *error)
{
    int r, rounds = 0;
    while ((r = seize_some(t)) > 0 && ++rounds < 1000)
        ;
    if (r == 0 && t->thread_count == 0)
        r = -ESRCH;
    return r < 0 ? target_refused(t->pid, r, error) : 0;
}

/* Stops */

static bool group_stop(int status)
{
    int number = WSTOPSIG(status);
    return status >> 16 == PTRACE_EVENT_STOP &&
           (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU);
}

bool regs_restart(const struct user_regs_struct *r)
{
    long result = (long)r->rax;
    return (long)r->orig_rax >= 0 &&
           (result == -512 || result == -513 || result == -514 || result == -516);
}

/* System calls that give up with EINTR when they are disturbed, though nothing was lost. The kernel
 * makes them again if it finds ERESTARTNOHAND instead, and gives EINTR if a handler ran. */
static bool gives_up(long number)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_sendmsg:
    case SYS_recvmsg:
    case SYS_sendmmsg:
    case SYS_recvmmsg:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case 333: /* io_pgetevents */
    case 426: /* io_uring_enter */
    case 441: /* epoll_pwait2 */ return true;
    default: return false;
    }
}

struct user_regs_struct *thread_regs(struct thread *th)
{
    if (!th->regs_valid && trace(PTRACE_GETREGS, th->tid, NULL, &th->regs))
        return NULL;
    th->regs_valid = true;
    return &th->regs;
}

static void undisturbed(struct thread *th)
{
    struct user_regs_struct *r = thread_regs(th);
    if (r && (long)r->orig_rax >= 0 && (long)r->rax == -EINTR && gives_up((long)r->orig_rax)) {
        r->rax = (unsigned long long)-514L;
        trace(PTRACE_SETREGS, th->tid, NULL, r);
    }
}

/* The signal with which it is to go on. */
static int signal_of(int status)
{
    return status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
}

void thread_resume(struct thread *th)
{
    if (th->state != THREAD_STOPPED)
        return;
    th->regs_valid = false;
    th->state = THREAD_RUNS;
    if (th->target && !th->vforking)
        th->target->running++;
    if (group_stop(th->status))
        trace(PTRACE_LISTEN, th->tid, NULL, NULL);
    else /* -ESRCH: it was killed meanwhile, and we shall hear of it */
        trace(PTRACE_CONT, th->tid, NULL, (void *)(long)signal_of(th->status));
}

void thread_event(pid_t tid, int status)
{
    struct thread *th = thread_find(tid);
    if (!WIFSTOPPED(status)) {
        if (th)
            thread_forget(th);
        return;
    }
    if (!th)
        th = thread_add(NULL, tid);
    struct target *t = th->target;
    if (t && th->state == THREAD_RUNS && !th->vforking)
        t->running--;
    th->state = THREAD_STOPPED;
    th->status = status;
    th->regs_valid = th->regs_changed = false;
    if (!t)
        return; /* its creator's event is on the way */
    /* Any stop that can end a sleep: one of ours, or a signal, which may turn out to be ignored */
    if (status >> 16 == PTRACE_EVENT_STOP || !(status >> 16))
        undisturbed(th);
    thread_stopped(th);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void interrupt(struct thread *th, void *unused)
{
    (void)unused;
    if (th->state == THREAD_RUNS && !th->vforking)
        trace(PTRACE_INTERRUPT, th->tid, NULL, NULL);
}

static bool any_runs(struct target **ts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ts[i]->dead && ts[i]->running)
            return true;
    return false;
}

/* -EBUSY: some thread does not stop; all go on. Dead targets are none of its business. */
int threads_stop(struct target **ts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ts[i]->stopping = true;
        threads_each(ts[i], interrupt, NULL);
    }
    uint64_t limit = now_ns() + STOP_LIMIT_NS;
    tracer_alarm(STOP_LIMIT_NS / 8);
    int r = 0;
    while (r == 0 && any_runs(ts, count)) {
        int event = tracer_event();
        if (event == -ECHILD || (event == -EAGAIN && now_ns() > limit))
            r = -EBUSY;
    }
    tracer_alarm(0);
    if (r)
        threads_resume(ts, count);
    return r;
}

static void resume(struct thread *th, void *unused)
{
    (void)unused;
    thread_resume(th);
}

void threads_resume(struct target **ts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ts[i]->held)
            continue;
        ts[i]->stopping = false;
        threads_each(ts[i], resume, NULL);
    }
}

static void let_go(struct thread *th, void *unused)
{
    (void)unused;
    if (th->state == THREAD_STOPPED) {
        trace(PTRACE_DETACH, th->tid, NULL, (void *)(long)signal_of(th->status));
        thread_forget(th);
    }
}

void threads_let_go(struct target *t)
{
    threads_each(t, let_go, NULL);
}
