/* SPDX-License-Identifier: MIT */
#include "tree/process.h"

#include "lib/tap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
    test_namespace();
    return tap_done();
}
