/* SPDX-License-Identifier: MIT */
/* Processes that are held together: what stops one of them meanwhile lets none of them go on. */
#include "inject/target.h"
#include "lib/tap.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 2 };

static atomic_long *rounds; /* of each */

static pid_t start(int number)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    for (;;) {
        const struct timespec nap = {.tv_nsec = 100000};
        rounds[number]++;
        nanosleep(&nap, NULL);
    }
}

/* Do they go round? Waits for all to do so, or for none. */
static bool go_round(bool want)
{
    for (int tries = 0; tries < 500; tries++) {
        const struct timespec nap = {.tv_nsec = 20000000};
        long before[PROCESSES];
        int going = 0;
        for (int i = 0; i < PROCESSES; i++)
            before[i] = rounds[i];
        nanosleep(&nap, NULL);
        for (int i = 0; i < PROCESSES; i++)
            going += rounds[i] != before[i];
        if (going == (want ? PROCESSES : 0))
            return true;
        if (!want)
            return false; /* who stands does so at once */
    }
    return false;
}

static void hold_all(struct target **targets)
{
    uint64_t word = 1, at[PROCESSES];
    uint64_t *here[PROCESSES];
    ok(targets_hold(targets, PROCESSES) == 0, "they are held");
    ok(go_round(false), "none goes on");
    for (int i = 0; i < PROCESSES; i++)
        here[i] = target_data(targets[i], sizeof word, &at[i]);
    ok(here[0] && here[1], "memory is made in both");
    ok(go_round(false), "still none goes on");
    struct target_word change = {.address = at[0], .from = 0, .to = 17};
    struct target_words list = {targets[0], &change, 1};
    ok(targets_write(&list, 1, NULL, NULL, false, NULL) == 0 && change.done && *here[0] == 17,
       "a word is written in one");
    ok(go_round(false), "still none goes on");
    targets_go(targets, PROCESSES);
    ok(go_round(true), "then all do");
}

int main(void)
{
    struct target *targets[PROCESSES] = {NULL};
    struct target_error error;
    pid_t pids[PROCESSES];
    rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rounds == MAP_FAILED)
        return 1;
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(i);
    bool all = true;
    for (int i = 0; i < PROCESSES; i++)
        all = target_attach(pids[i], &targets[i], &error) == 0 && all;
    if (ok(all, "attached %s", error.message)) {
        hold_all(targets);
        hold_all(targets);
    }
    for (int i = 0; i < PROCESSES; i++)
        target_detach(targets[i], false);
    ok(go_round(true), "and when they were let go of");
    for (int i = 0; i < PROCESSES; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    return tap_done();
}
