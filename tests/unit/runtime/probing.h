/* SPDX-License-Identifier: MIT */
/*
 * For tests of the runtime's probes: a program with probes written by hand, the runtime linked in,
 * that reads its own segment. The runtime takes its orders from the environment at start, so the
 * test starts itself again with a directory of its own.
 */
#ifndef LOUPE_TESTS_PROBING_H
#define LOUPE_TESTS_PROBING_H

#include "record/place.h"
#include "record/reader.h"
#include "runtime/process.h"

#include "lib/tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READINGS_MAX = 65536 };

struct readings {
    struct record_probe_reading list[READINGS_MAX];
    size_t count;
    uint64_t blocks, threads;
    int64_t delay, received;
    bool damaged;
    int torn;
};

static inline void readings_probe(void *data, uint32_t block, const struct record_probe_reading *p)
{
    struct readings *r = data;
    (void)block;
    if (r->count < READINGS_MAX)
        r->list[r->count++] = *p;
}

static inline void readings_thread(void *data, uint32_t block, const struct record_thread *t)
{
    struct readings *r = data;
    (void)block;
    r->blocks++;
    r->threads += t->threads;
    r->delay += t->delay;
    r->received += t->received;
}

static inline bool readings_take(struct readings *r, int dir, const char *name)
{
    const struct record_visitor visitor = {
        .data = r, .probe = readings_probe, .thread = readings_thread};
    struct record_reader *reader;
    memset(r, 0, sizeof *r);
    if (record_open(dir, -1, name, &reader))
        return false;
    r->torn = record_visit(reader, record_now(reader), &visitor);
    r->damaged = record_damaged(reader);
    record_close(reader);
    return true;
}

static inline struct readings *read_segment(const char *name)
{
    static struct readings r[2];
    static int which;
    struct readings *to = &r[which ^= 1];
    const char *path = getenv(PLACE_ENV_JOB_DIR);
    int dir = open(path ? path : "/", O_RDONLY | O_DIRECTORY);
    if (!readings_take(to, dir, name))
        memset(to, 0, sizeof *to);
    close(dir);
    return to;
}

static inline struct readings *read_back(void)
{
    return read_segment(loupe_process.writer.name);
}

/* Of a site of a unit, over all threads: all executions, or with `callers` those of a procedure
 * from places without probes. */
static inline struct record_probe_reading reading_of(const struct readings *r, uint64_t unit,
                                                     uint32_t site, bool callers)
{
    struct record_probe_reading sum = {.unit = unit, .site = site, .min = INFINITY};
    for (size_t i = 0; i < r->count; i++) {
        const struct record_probe_reading *p = &r->list[i];
        if (p->unit != unit || p->site != site || callers != (p->caller_module != RECORD_NO_MODULE))
            continue;
        sum.kind = p->kind;
        sum.count += p->count;
        sum.timed += p->timed;
        sum.estimated += p->estimated;
        sum.time += p->time;
        sum.min = p->min < sum.min ? p->min : sum.min;
        sum.max = p->max > sum.max ? p->max : sum.max;
        sum.error = sqrt(sum.error * sum.error + p->error * p->error);
    }
    return sum;
}

static inline double tick_ns(void)
{
    return loupe_process.writer.header->tick_ns;
}

/* Runs the test again, in a directory of its own and with these options for the runtime. */
static inline int probing_start(char **argv, const char *options)
{
    char dir[] = "/dev/shm/loupe-test-XXXXXX", command[64];
    if (!mkdtemp(dir))
        return 1;
    setenv(PLACE_ENV_JOB_DIR, dir, 1);
    setenv(PLACE_ENV_OPTIONS, options, 1);
    pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", argv);
        _exit(1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) || status;
}

#endif
