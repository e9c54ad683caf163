/* SPDX-License-Identifier: MIT */
/* Attaching and letting go; see target_parts.h for who does what. */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

struct attaching {
    struct target *target;
    struct target_error *error;
};

static int attach(void *argument)
{
    struct attaching *a = argument;
    struct target *t = a->target;
    int e = threads_seize(t, a->error);
    if (e && t->thread_count) { /* some could be had */
        t->leaving = true;
        if (threads_stop(&t, 1) == 0)
            threads_let_go(t);
    }
    return e;
}

static void drop(struct target *t)
{
    for (size_t i = 0; i < t->module_count; i++) {
        free(t->modules[i].path);
        free(t->modules[i].open);
    }
    free(t->modules);
    free(t->identities);
    maps_free(&t->maps);
    arenas_drop(t);
    journal_drop(t);
    free(t->changes);
    if (t->mem >= 0)
        close(t->mem);
    if (t->thread_count == 0) { /* else one is still in the kernel, and will find it */
        pthread_mutex_destroy(&t->lock);
        free(t);
    }
}

int target_attach(pid_t pid, struct target **target, struct target_error *error)
{
    *target = NULL;
    error->message[0] = 0;
    int e = target_check(pid, error);
    if (e)
        return e;
    struct target *t = xcalloc(1, sizeof *t);
    t->pid = pid;
    pthread_mutex_init(&t->lock, NULL);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    t->mem = open(path, O_RDWR | O_CLOEXEC);
    if (t->mem < 0) {
        e = target_refused(pid, -errno, error);
    } else {
        struct attaching a = {t, error};
        e = tracer_do(attach, &a);
    }
    if (e)
        drop(t);
    else
        *target = t;
    return e;
}

void target_detach(struct target *t, bool keep)
{
    if (!t)
        return;
    if (keep)
        journal_keep(t, KEPT_FOR_GOOD);
    if (!t->dead)
        patches_leave(t, keep);
    drop(t);
}

void target_leave(struct target *t)
{
    journal_keep_ours(t);
    if (!t->dead)
        patches_leave(t, true);
    drop(t);
}

struct holding {
    struct target *const *targets;
    size_t count;
};

static int hold(void *argument)
{
    const struct holding *h = argument;
    struct target **targets = xcalloc(h->count + 1, sizeof(struct target *));
    memcpy(targets, h->targets, h->count * sizeof(struct target *));
    int e = threads_stop(targets, h->count);
    for (size_t i = 0; i < h->count; i++)
        targets[i]->held = e == 0;
    free(targets);
    return e;
}

int targets_hold(struct target *const *targets, size_t count)
{
    target_hurry(true);
    return tracer_do(hold, &(struct holding){targets, count});
}

static int go(void *argument)
{
    const struct holding *h = argument;
    for (size_t i = 0; i < h->count; i++) {
        struct target *t = h->targets[i];
        t->held = false;
        threads_resume(&t, 1);
    }
    return 0;
}

void targets_go(struct target *const *targets, size_t count)
{
    tracer_do(go, &(struct holding){targets, count});
    target_hurry(false);
}

pid_t target_pid(const struct target *t)
{
    return t->pid;
}

bool target_lives(struct target *t)
{
    return !t->dead;
}

int target_read(struct target *t, uint64_t address, void *into, size_t bytes)
{
    return mem_read(t, address, into, bytes);
}
