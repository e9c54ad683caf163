/* SPDX-License-Identifier: MIT */
/* What visits cost is found out with probes of the runtime's own, under the lock of its slow paths:
 * they must not act on a control word that changes meanwhile. */
#define LOUPE_UNIT_ID    0x6001
#define LOUPE_UNIT_SITES 2
#define LOUPE_UNIT_TABLE 0, LOUPE_SITE(LOUPE_SITE_PROCEDURE, 1)
#include <loupe-probe.h>

#include "probing.h"

#include "runtime/probe.h"

#include <pthread.h>
#include <time.h>

enum { TIMES = 6, APART_MS = 12, PATIENCE_S = 20 };

static _Atomic bool stop;

__attribute__((noinline)) static void work(void)
{
    LOUPE_PROCEDURE(1)
    __asm__ volatile("");
}

/* As loupe ctl and the search for the greatest items of the critical path do, but more often. */
static void *change(void *unused)
{
    struct record_control *control = &loupe_process.writer.header->control;
    while (!stop)
        __atomic_fetch_xor(&control->word, 1u << RECORD_CONTROL_PATH_SHIFT, __ATOMIC_RELAXED);
    return unused;
}

int main(int argc, char **argv)
{
    const struct timespec nap = {0, APART_MS * 1000000};
    pthread_t thread;
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=off");
    alarm(PATIENCE_S); /* it would wait for itself */
    work();
    if (pthread_create(&thread, NULL, change, NULL))
        return 1;
    for (int i = 0; i < TIMES; i++) {
        nanosleep(&nap, NULL);
        uint64_t mask = probe_locked();
        probe_costs.again = 0;
        probe_calibrate();
        probe_unlocked(mask);
    }
    stop = true;
    pthread_join(thread, NULL);
    ok(probe_costs.plain[PROBE_OWN].all > 0, "calibrated while the control word changed");
    work();
    ok(loupe_probes != NULL, "and the thread has its own probes again");
    return tap_done();
}
