/* SPDX-License-Identifier: MIT */
#include "tree/process.h"

#include "lib/tap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t paused_child(const char *name)
{
    int ready[2];
    char byte = 0;
    if (pipe(ready))
        abort();
    pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_NAME, name);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        abort();
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Waits for the state of a thread (0: any) and for its memory to be gone. */
static bool without_memory(pid_t pid, pid_t tid, char state)
{
    char path[64], line[1024], now;
    unsigned long size;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    for (int i = 0; i < 5000; i++) {
        FILE *f = fopen(path, "r");
        if (!f)
            return false;
        const char *after = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        fclose(f);
        if (after &&
            sscanf(after + 1,
                   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                   "%*s %lu",
                   &now, &size) == 2 &&
            size == 0 && (!state || now == state))
            return true;
        usleep(1000);
    }
    return false;
}

static void test_child(void)
{
    siginfo_t info;
    uint32_t space = process_namespace();
    pid_t pid = paused_child("a) R 1 (b");
    uint64_t started = process_started(pid);
    ok(started != 0, "a child whose name is made to confuse has a start time");
    ok(process_life(pid, started, space) == PROCESS_ALIVE, "it is alive");
    ok(process_life(pid, started, 0) == PROCESS_ALIVE, "namespace 0 is our own");
    ok(process_life(pid, started + 1, space) == PROCESS_DEAD, "another start time: another one");
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    ok(process_life(pid, started, space) == PROCESS_DEAD, "killed and not reaped: dead");
    waitpid(pid, NULL, 0);
    ok(process_life(pid, started, space) == PROCESS_DEAD, "reaped: dead");
    ok(process_life(0, 0, 0) == PROCESS_DEAD, "PID 0 is nobody");
}

static void *go_on(void *pipe_end)
{
    pthread_detach(pthread_self());
    if (write(*(int *)pipe_end, "", 1) == 1)
        for (;;)
            pause();
    return NULL;
}

/* main calls pthread_exit, other threads work on: the process looks like a zombie. */
static void test_first_thread_gone(void)
{
    static int ready[2]; /* the thread reads it when the first one's stack is gone */
    char byte, path[64], line[256] = "";
    if (pipe(ready))
        abort();
    pid_t pid = fork();
    if (!pid) {
        pthread_t thread;
        pthread_create(&thread, NULL, go_on, &ready[1]);
        pthread_exit(NULL);
    }
    if (read(ready[0], &byte, 1) != 1)
        abort();
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    for (int i = 0; i < 1000 && !strstr(line, ") Z "); i++) {
        FILE *f = fopen(path, "r");
        if (!f || !fgets(line, sizeof line, f))
            abort();
        fclose(f);
        usleep(1000);
    }
    ok(strstr(line, ") Z ") && process_started(pid), "a process without its first thread lives");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void *hand_on(void *unused)
{
    pthread_t next;
    pthread_detach(pthread_self());
    while (pthread_create(&next, NULL, hand_on, unused))
        usleep(100);
    return NULL;
}

/* The first thread is gone, and of the others each starts the next and ends. */
static void test_relay(void)
{
    pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hand_on(NULL);
        pthread_exit(NULL);
    }
    if (!without_memory(pid, pid, 'Z'))
        abort();
    int dead = 0;
    for (int i = 0; i < 3000; i++)
        dead += !process_started(pid);
    ok(dead == 0, "a process that lives on in ever new threads is never dead (%d)", dead);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void *tell_and_stay(void *pipe_end)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);
    if (write(*(int *)pipe_end, &tid, sizeof tid) == (ssize_t)sizeof tid)
        for (;;)
            pause();
    return NULL;
}

/* Killed, and one of its threads is held on its way out: by a tracer here, as a rule by the memory
 * that the last one gives back. The first thread is a zombie with others beside it. */
static void test_threads_dying(void)
{
    int out[2];
    pid_t tid = 0;
    if (pipe(out))
        abort();
    pid_t pid = fork();
    if (!pid) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, tell_and_stay, &out[1]);
        for (;;)
            pause();
    }
    if (read(out[0], &tid, sizeof tid) != (ssize_t)sizeof tid)
        abort();
    uint64_t started = process_started(pid);
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
        ok(1, "a thread held on its way out # SKIP not allowed to trace");
        kill(pid, SIGKILL);
    } else {
        ok(process_life(pid, started, 0) == PROCESS_ALIVE, "a process of two threads lives");
        kill(pid, SIGKILL);
        ok(without_memory(pid, tid, 'Z') && without_memory(pid, pid, 'Z'), "both threads end");
        ok(process_life(pid, started, 0) == PROCESS_DEAD, "no thread will run again: dead");
        waitpid(tid, NULL, __WALL);
    }
    waitpid(pid, NULL, 0);
    close(out[0]);
    close(out[1]);
}

/* PID 1 of a namespace, and another process in it, both children of one that does not wait. */
static void keep_two(int out)
{
    pid_t pids[2];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
        _exit(1);
    for (int i = 0; i < 2; i++)
        if (!(pids[i] = fork()))
            for (;;)
                pause();
    if (pids[0] < 0 || pids[1] < 0 || write(out, pids, sizeof pids) < 0)
        _exit(1);
    for (;;)
        pause();
}

/* A process that is ending and not yet a zombie: its memory is gone, and with PID 1 of a namespace
 * it stays so until the last process there is reaped. */
static void test_dying(void)
{
    int out[2];
    pid_t pids[2];
    if (pipe(out))
        abort();
    pid_t parent = fork();
    if (!parent)
        keep_two(out[1]);
    close(out[1]);
    if (read(out[0], pids, sizeof pids) != (ssize_t)sizeof pids) {
        ok(1, "a process on its way out # SKIP not allowed to make a namespace");
    } else {
        uint64_t started = process_started(pids[0]);
        ok(process_life(pids[0], started, 0) == PROCESS_ALIVE, "PID 1 of a namespace lives");
        kill(pids[1], SIGKILL);
        ok(without_memory(pids[1], pids[1], 'Z'), "another one there is a zombie");
        kill(pids[0], SIGKILL);
        ok(without_memory(pids[0], pids[0], 'S'), "PID 1 waits for that on its way out");
        ok(process_life(pids[0], started, 0) == PROCESS_DEAD, "it will not run again: dead");
    }
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    close(out[0]);
}

/* A child that is PID 1 of its own namespace, as in a container. */
static void test_namespace(void)
{
    int out[2];
    struct {
        uint32_t space;
        int32_t pid;
    } told = {0};
    if (pipe(out))
        abort();
    pid_t middle = fork();
    if (!middle) {
        if (unshare(CLONE_NEWPID))
            _exit(1);
        pid_t inner = fork();
        if (!inner) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            struct stat st;
            told.space = stat("/proc/thread-self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
            told.pid = getpid();
            if (write(out[1], &told, sizeof told) < 0)
                _exit(1);
            for (;;)
                pause();
        }
        char path[64];
        struct stat st;
        snprintf(path, sizeof path, "/proc/%d/ns/pid", inner);
        told.space = stat(path, &st) ? 0 : (uint32_t)st.st_ino;
        told.pid = inner;
        if (write(out[1], &told, sizeof told) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    close(out[1]);
    uint32_t space = 0;
    int32_t outer = 0, inner = 0;
    for (int i = 0; i < 2 && read(out[0], &told, sizeof told) == (ssize_t)sizeof told; i++) {
        if (told.pid == 1)
            inner = told.pid;
        else {
            space = told.space;
            outer = told.pid;
        }
    }
    if (!outer || !inner) {
        ok(1, "another namespace # SKIP not allowed to make one");
    } else {
        uint64_t started = process_started(outer);
        ok(process_life(inner, started, space) == PROCESS_ALIVE, "PID 1 of another namespace");
        ok(process_life(inner, started + 1, space) != PROCESS_ALIVE, "not one of another time");
        kill(outer, SIGKILL);
    }
    kill(middle, SIGKILL);
    waitpid(middle, NULL, 0);
    close(out[0]);
}

int main(void)
{
    ok(process_started(getpid()) != 0, "we are here");
    ok(process_namespace() != 0, "and know where");
    test_child();
    test_first_thread_gone();
    test_relay();
    test_threads_dying();
    test_dying();
    test_namespace();
    return tap_done();
}
