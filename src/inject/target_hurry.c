/* SPDX-License-Identifier: MIT */
/*
 * Who holds the program must not wait for a processor itself. Ranks that poll give theirs up a
 * million times a second (sched_yield), and there are kernels (6.18 with groups of sessions) that
 * let others wait for one for tens of seconds then. A real-time thread does not.
 */
#include "inject/target.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

static _Thread_local struct {
    int depth;
    bool changed;
    int policy;
    struct sched_param param;
} before;

/* A limit on the time that such a thread may use at a stretch would end us. */
static bool unlimited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Who is allowed the one by a limit alone may not give up what goes with it. */
static void give_back(void)
{
    if (sched_setscheduler(0, before.policy, &before.param))
        sched_setscheduler(0, before.policy | SCHED_RESET_ON_FORK, &before.param);
}

void target_hurry(bool begin)
{
    if (!begin) {
        if (before.depth && --before.depth == 0 && before.changed)
            give_back();
        return;
    }
    if (before.depth++)
        return;
    int saved = errno;
    before.policy = sched_getscheduler(0);
    before.changed = false;
    /* One that comes before others already has been told so by the user. */
    int policy = before.policy & ~SCHED_RESET_ON_FORK;
    bool common = policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
    if (common && unlimited() && sched_getparam(0, &before.param) == 0) {
        const struct sched_param least = {sched_get_priority_min(SCHED_RR)};
        before.changed = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) == 0;
    }
    errno = saved; /* not allowed: it is as it was */
}
