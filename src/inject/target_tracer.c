/* SPDX-License-Identifier: MIT */
/*
 * The tracer: the one thread that makes ptrace requests and waits for tracees. It sleeps in
 * waitid; a signal to this thread alone gets it out, for work or an alarm. waitid only looks
 * (WNOWAIT), so that jumping out of it in the signal handler can lose nothing.
 */
#include "inject/target_parts.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAKE = 3 }; /* SIGRTMAX - WAKE: sent to the tracer's thread alone */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* callers */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;          /* the work below */
static pthread_cond_t given = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int (*work)(void *);
static void *work_argument;
static int work_result;
static _Atomic(bool) work_waits;
static bool running;
static pthread_t thread;

static sigjmp_buf out;
static volatile sig_atomic_t armed, woken;
static timer_t alarm_timer;
static bool alarm_made;

unsigned long target_test_die_at, target_test_requests;

long trace(int request, pid_t tid, void *address, void *data)
{
    if (++target_test_requests == target_test_die_at)
        kill(getpid(), SIGKILL);
    long result = ptrace((enum __ptrace_request)request, tid, address, data);
    return result < 0 ? -errno : result;
}

static void on_wake(int number)
{
    (void)number;
    woken = 1;
    if (armed) {
        armed = 0;
        siglongjmp(out, 1);
    }
}

/* -EAGAIN: woken. -ECHILD: there is nobody to wait for. */
static int look(siginfo_t *info)
{
    if (sigsetjmp(out, 1))
        return -EAGAIN;
    armed = 1;
    if (woken) {
        armed = 0;
        return -EAGAIN;
    }
    info->si_pid = 0;
    long r = waitid(P_ALL, 0, info, WEXITED | WSTOPPED | __WALL | __WNOTHREAD | WNOWAIT);
    int error = errno;
    armed = 0;
    return r == 0 ? 0 : error == EINTR ? -EAGAIN : -error;
}

int tracer_event(void)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int r = look(&info);
    if (r == -EAGAIN)
        woken = 0; /* who sent it has said why before, and the alarm repeats itself */
    if (r)
        return r;
    int status;
    pid_t tid = waitpid(info.si_pid, &status, __WALL | __WNOTHREAD | WNOHANG);
    if (tid > 0)
        thread_event(tid, status);
    return 0;
}

int tracer_wait(pid_t tid, int *status)
{
    for (;;) {
        pid_t got = waitpid(tid, status, __WALL | __WNOTHREAD);
        if (got == tid)
            return 0;
        if (got >= 0 || errno != EINTR)
            return -ESRCH;
    }
}

void tracer_alarm(uint64_t ns)
{
    if (!alarm_made) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - WAKE};
        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        if (timer_create(CLOCK_MONOTONIC, &event, &alarm_timer))
            return;
        alarm_made = true;
    }
    struct timespec span = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    struct itimerspec when = {.it_value = span, .it_interval = span};
    timer_settime(alarm_timer, 0, &when, NULL);
}

void tracer_serve(uint64_t ns)
{
    tracer_alarm(ns);
    while (tracer_event() == 0)
        ;
    tracer_alarm(0);
}

static void *tracer(void *unused)
{
    (void)unused;
    target_hurry(true); /* any thread of a target may stand until we have answered its stop */
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!work && !threads_total())
            pthread_cond_wait(&given, &lock);
        int (*now)(void *) = work;
        void *argument = work_argument;
        pthread_mutex_unlock(&lock);
        woken = 0;
        if (now) {
            atomic_store(&work_waits, false);
            int result = now(argument);
            pthread_mutex_lock(&lock);
            work = NULL;
            work_result = result;
            pthread_cond_signal(&done);
            pthread_mutex_unlock(&lock);
            continue;
        }
        if (atomic_load(&work_waits))
            continue;
        if (tracer_event() == -ECHILD) { /* all ended without our being told: cannot be */
            struct timespec pause = {.tv_nsec = 1000000};
            nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

static int start(void)
{
    struct sigaction action = {.sa_handler = on_wake};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGRTMAX - WAKE, &action, NULL))
        return -errno;
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGRTMAX - WAKE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&thread, NULL, tracer, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    running = r == 0;
    return -r;
}

int tracer_do(int (*todo)(void *), void *argument)
{
    pthread_mutex_lock(&one_at_a_time);
    int r = running ? 0 : start();
    if (r == 0) {
        pthread_mutex_lock(&lock);
        work_argument = argument;
        work = todo;
        atomic_store(&work_waits, true);
        pthread_cond_signal(&given);
        pthread_kill(thread, SIGRTMAX - WAKE);
        while (work)
            pthread_cond_wait(&done, &lock);
        r = work_result;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&one_at_a_time);
    return r;
}
