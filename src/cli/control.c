/* SPDX-License-Identifier: MIT */
#include "cli/control.h"

#include "base/log.h"
#include "record/place.h"
#include "record/plan.h"
#include "record/reader.h"
#include "search/path.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* All processes whose header is in this directory of the job; how many, or -errno. */
static int each_in(const struct job *job, const char *path, bool warn, control_act *act,
                   const void *data)
{
    int fd = place_open_dir(path), count = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return fd < 0 ? fd : -errno;
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = strlen(e->d_name), suffix = strlen(PLACE_HEADER_SUFFIX);
        struct record_control *control = NULL;
        if (len <= suffix || strcmp(e->d_name + len - suffix, PLACE_HEADER_SUFFIX) != 0)
            continue;
        e->d_name[len - suffix] = 0;
        int err = record_control(dirfd(dir), e->d_name, &control);
        if (err < 0) {
            if (warn)
                log_warn("segment %s of job %s is left out: %s", e->d_name, job->id,
                         strerror(-err));
            continue;
        }
        act(control, data);
        record_control_close(control);
        count++;
    }
    closedir(dir);
    return count;
}

/* A header is under $TMPDIR where shared memory had no room even for that. */
int control_each(const struct job *job, bool warn, control_act *act, const void *data)
{
    int count = each_in(job, job->dir, warn, act, data);
    bool spill = job->spill_dir && strcmp(job->spill_dir, job->dir) != 0;
    int spilled = count >= 0 && spill ? each_in(job, job->spill_dir, warn, act, data) : 0;
    return spilled > 0 ? count + spilled : count;
}

static void tell(struct record_control *control, const void *data)
{
    uint32_t bits = plan_control(*(const uint32_t *)data), after;
    uint32_t before = __atomic_load_n(&control->word, __ATOMIC_RELAXED);
    do
        after = (before & ~RECORD_CONTROL_PATH) | bits;
    while (!__atomic_compare_exchange_n(&control->word, &before, after, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

int control_tell(const struct job *job, uint32_t generation)
{
    return control_each(job, false, tell, &generation);
}

int control_path(const struct job *job, enum control_path what)
{
    int dir = place_open_dir(job->dir), err = 0;
    if (dir < 0)
        return dir;
    struct plan *shared = plan_open(dir), plan;
    close(dir);
    if (!shared || !plan_read(shared, &plan))
        err = -EPROTO;
    else if (what == CONTROL_PATH_RESET && !plan.on)
        err = -ENODATA;
    uint32_t generation = shared ? shared->generation : 0;
    if (!err && (what == CONTROL_PATH_RESET || plan.on != (what == CONTROL_PATH_ON))) {
        plan.on = what != CONTROL_PATH_OFF;
        if (plan.on && !plan.items && !plan.top)
            plan.top = PATH_SEARCH_TOP;
        generation = plan_change(shared, &plan);
        err = generation ? 0 : -EBUSY;
    }
    plan_close(shared);
    return err ? err : control_tell(job, generation);
}
