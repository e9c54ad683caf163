/* SPDX-License-Identifier: MIT */
/* A program to be run under loupe; the first argument says what it does. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t got;

static void take(int signal)
{
    got = signal;
}

/* Says when it is ready, then which signal it has got. */
static int wait_for_signal(int signal_)
{
    sigset_t none, set;
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, signal_);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(signal_, take);
    puts("ready");
    fflush(stdout);
    while (!got)
        sigsuspend(&none);
    printf("got %d\n", (int)got);
    return 42;
}

static void show_signals(void)
{
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 1; i < 32; i++) {
        struct sigaction action;
        if (sigismember(&blocked, i) == 1)
            printf("blocked %d\n", i);
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf("ignored %d\n", i);
    }
}

/* Dying, a process with so much memory is seen without it for a while, before it is a zombie. */
static void fill_memory(void)
{
    size_t size = (size_t)512 << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, size, MADV_NOHUGEPAGE);
    memset(memory, 1, size);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *value = argc > 2 ? argv[2] : "";
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    if (strcmp(what, "exit") == 0)
        return atoi(value);
    if (strcmp(what, "signal") == 0)
        raise(atoi(value));
    if (strcmp(what, "heavy") == 0) {
        fill_memory();
        raise(atoi(value));
    }
    if (strcmp(what, "wait") == 0)
        return wait_for_signal(atoi(value));
    if (strcmp(what, "env") == 0)
        puts(getenv(value) ? getenv(value) : "(unset)");
    if (strcmp(what, "signals") == 0)
        show_signals();
    if (strcmp(what, "name") == 0)
        puts(argv[0]);
    if (strcmp(what, "until") == 0)
        while (access(value, F_OK) == 0)
            usleep(10000);
    return 0;
}
