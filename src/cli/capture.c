/* SPDX-License-Identifier: MIT */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads until the end of the pipe or of the time. */
static int drain(int fd, double deadline, struct strbuf *output)
{
    for (;;) {
        double left = deadline - now();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return -ETIMEDOUT;
        char text[4096];
        ssize_t len = read(fd, text, sizeof text);
        if (len <= 0)
            return 0;
        if (output->len < 65536)
            strbuf_add(output, text, (size_t)len);
    }
}

/* In a group of its own, so that what it starts goes with it; our blocked signals stay ours. */
static int start(char *const argv[], char *const environment[], int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int err = posix_spawnp(pid, argv[0], &actions, &attributes, argv,
                           environment ? environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -err;
}

int capture_output(char *const argv[], char *const environment[], double seconds,
                   struct strbuf *output, int *status)
{
    int fds[2], result = 0;
    pid_t pid;
    double deadline = now() + seconds;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    int err = start(argv, environment, fds[1], &pid);
    close(fds[1]);
    if (err == 0) {
        err = drain(fds[0], deadline, output);
        /* The output has ended, but the process may still linger: not longer than the deadline. */
        while (!err && waitpid(pid, &result, WNOHANG) == 0) {
            if (now() > deadline)
                err = -ETIMEDOUT;
            else
                usleep(1000);
        }
        if (err) {
            kill(-pid, SIGKILL);
            waitpid(pid, &result, 0);
        }
    }
    close(fds[0]);
    if (status)
        *status = result;
    return err;
}
