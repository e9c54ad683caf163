/* SPDX-License-Identifier: MIT */
/*
 * What a target's thread does that concerns us: it makes threads and processes, becomes another
 * program, ends. A process that shares its memory (vfork) is one more thread until it lets go of
 * it; a forked child gets private copies of our memory, so that nothing we do later to the parent
 * can reach it, and goes on alone.
 */
#include "inject/target_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KCMP_MEMORY = 1 };

static bool own_thread(const struct target *t, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    return status_number(path, "Tgid:", 10) == t->pid;
}

static bool shares_memory(pid_t a, pid_t b, int event)
{
    long r = syscall(SYS_kcmp, a, b, KCMP_MEMORY, 0, 0);
    return r < 0 ? event != PTRACE_EVENT_FORK : r == 0;
}

static void release(struct thread *th)
{
    trace(PTRACE_DETACH, th->tid, NULL, NULL);
    thread_forget(th);
}

/* It has stopped before its first instruction. */
static void forked(struct target *t, struct thread *child)
{
    pthread_mutex_lock(&t->lock);
    int e = arenas_copy(t, child);
    if (e && e != -ECHILD)
        t->pinned = true;
    pthread_mutex_unlock(&t->lock);
    if (e == -ECHILD)
        return;
    child->target = NULL;
    release(child);
}

/* Waits for the child's first stop if it has not come yet; everyone else's are handled meanwhile.
 */
static bool stands(pid_t child)
{
    struct thread *th;
    int status;
    if ((th = thread_find(child)) && th->state == THREAD_STOPPED)
        return true;
    if (tracer_wait(child, &status))
        return false;
    thread_event(child, status);
    return (th = thread_find(child)) && th->state == THREAD_STOPPED;
}

void event_claim(struct target *t, struct thread *parent, pid_t child)
{
    int event = parent->status >> 16;
    bool own = own_thread(t, child);
    struct thread *th = thread_find(child);
    if (!own && !shares_memory(parent->tid, child, event)) {
        if (stands(child))
            forked(t, thread_find(child));
        return;
    }
    if (event == PTRACE_EVENT_VFORK)
        parent->vforking = true;
    if (!th) {
        thread_add(t, child)->foreign = !own;
        return;
    }
    th->foreign = !own;
    th->target = t;
    t->thread_count++;
    if (th->state == THREAD_RUNS)
        t->running++;
    else if (!t->stopping)
        thread_resume(th);
}

static void other(struct thread *th, void *executed)
{
    if (th != executed)
        thread_forget(th); /* gone with the memory; its last stop finds nobody */
}

static bool leads(const struct thread *th)
{
    return th->tid == th->target->pid;
}

void thread_stopped(struct thread *th)
{
    struct target *t = th->target;
    unsigned long message = 0;
    switch (th->status >> 16) {
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        if (trace(PTRACE_GETEVENTMSG, th->tid, NULL, &message) == 0 && message)
            event_claim(t, th, (pid_t)message);
        break;
    case PTRACE_EVENT_VFORK_DONE: th->vforking = false; break;
    case PTRACE_EVENT_EXEC:
        if (leads(th)) {
            t->dead = true;
            threads_each(t, other, th);
        }
        release(th);
        return;
    case PTRACE_EVENT_EXIT: /* it never comes back from there */ release(th); return;
    default: break;
    }
    if (t->leaving)
        release(th);
    else if (!t->stopping)
        thread_resume(th);
}
