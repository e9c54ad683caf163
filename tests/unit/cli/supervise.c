/* SPDX-License-Identifier: MIT */
/* Whom a supervisor still has to wait for. */
#include "cli/supervise.h"

#include "lib/tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(bool lives)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (lives)
            pause();
        _exit(0);
    }
    return pid;
}

int main(void)
{
    siginfo_t info;
    ok(!supervisor_has_children(), "nobody at first");
    pid_t alive = start(true);
    ok(supervisor_has_children(), "one that lives");
    pid_t ended = start(false);
    waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT);
    ok(supervisor_has_children(), "one that lives beside one that has ended");
    waitpid(ended, NULL, 0);
    kill(alive, SIGKILL);
    waitpid(alive, NULL, 0);
    ok(!supervisor_has_children(), "nobody in the end");
    return tap_done();
}
