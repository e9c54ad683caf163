/* SPDX-License-Identifier: MIT */
/* Two processes with a board each, as ranks 0 and 1 of one node have them: rank 1 sends, rank 0
 * receives. Each test has processes of its own, for boards are of the process. */
#ifndef LOUPE_TESTS_RANKS_H
#define LOUPE_TESTS_RANKS_H

#include "lib/tap.h"
#include "mpi/stream.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMM = 7000, STEPS_SECONDS = 60 };

/* Seen by both; `step` orders what they do. */
struct common {
    struct board_token tokens[2];
    uint32_t ready, step;
    uint64_t result[16];
};
static struct common *common;
static char test_dir[64];

__attribute__((unused)) static void common_open(void)
{
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(test_dir, sizeof test_dir, "/dev/shm/loupe-test-XXXXXX");
    if (common == MAP_FAILED || !mkdtemp(test_dir))
        exit(2);
}

__attribute__((unused)) static void common_close(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", test_dir);
    if (system(command))
        exit(2);
}

/* Waits until the other has come to step `n`. */
__attribute__((unused)) static void await(uint32_t n)
{
    if (__atomic_load_n(&common->step, __ATOMIC_ACQUIRE) >= n)
        return;
    alarm(STEPS_SECONDS);
    while (__atomic_load_n(&common->step, __ATOMIC_ACQUIRE) < n)
        sched_yield();
    alarm(0);
}

/* The other may be further already. */
__attribute__((unused)) static void reach(uint32_t n)
{
    uint32_t seen = __atomic_load_n(&common->step, __ATOMIC_RELAXED);
    while (seen < n && !__atomic_compare_exchange_n(&common->step, &seen, n, true, __ATOMIC_RELEASE,
                                                    __ATOMIC_RELAXED))
        continue;
}

__attribute__((unused)) static void rank_open(int me)
{
    board_open(&common->tokens[me], test_dir, NULL);
    __atomic_add_fetch(&common->ready, 1, __ATOMIC_ACQ_REL);
    alarm(STEPS_SECONDS);
    while (__atomic_load_n(&common->ready, __ATOMIC_ACQUIRE) < 2)
        sched_yield();
    alarm(0);
    board_know(common->tokens, 2, me);
    streams_open(2, me, false);
}

/* True: both came to their ends. */
__attribute__((unused)) static bool run_ranks(void (*receiver)(void), void (*sender)(void))
{
    bool well = true;
    memset(common, 0, sizeof *common);
    fflush(stdout);
    for (int me = 0; me < 2; me++)
        if (fork() == 0) {
            rank_open(me);
            (me ? sender : receiver)();
            _exit(0);
        }
    for (int status; wait(&status) > 0; well &= status == 0)
        if (status)
            printf("# a rank ended with status %#x\n", (unsigned)status);
    return well;
}

#endif
