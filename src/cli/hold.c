/* SPDX-License-Identifier: MIT */
#include "cli/hold.h"

#include <time.h>

void hold_signals(sigset_t *held)
{
    sigemptyset(held);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    sigaddset(held, SIGHUP);
    sigaddset(held, SIGQUIT);
    sigaddset(held, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, held, NULL);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
}

double hold_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
