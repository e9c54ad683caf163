/* SPDX-License-Identifier: MIT */
/* Changing words of data that are there, in one stop of all threads of all targets. */
#include "inject/target_parts.h"

#include <time.h>

struct writing {
    struct target_words *list;
    struct target **targets;
    size_t count;
    void (*last)(void *);
    void *data;
    bool leave;
    struct target_pause pause;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_words(struct target_words *w, bool late)
{
    for (size_t i = 0; i < w->count; i++) {
        struct target_word *word = &w->words[i];
        uint64_t there;
        if (word->late != late)
            continue;
        word->done = w->target && !w->target->dead &&
                     mem_read(w->target, word->address, &there, sizeof there) == 0 &&
                     there == word->from &&
                     mem_write(w->target->mem, word->address, &word->to, sizeof word->to) == 0;
    }
}

void targets_write_stopped(struct target_words *list, size_t count, void (*last)(void *),
                           void *data)
{
    for (size_t i = 0; i < count; i++)
        write_words(&list[i], false);
    if (last)
        last(data);
    for (size_t i = 0; i < count; i++)
        write_words(&list[i], true);
}

static int write_all(void *argument)
{
    struct writing *w = argument;
    uint64_t begin = now_ns();
    int e = threads_stop(w->targets, w->count);
    if (e)
        return e;
    uint64_t stopped = now_ns();
    targets_write_stopped(w->list, w->count, w->last, w->data);
    w->pause = (struct target_pause){stopped - begin, now_ns() - stopped};
    for (size_t i = 0; i < w->count && w->leave; i++) {
        w->targets[i]->leaving = true;
        threads_let_go(w->targets[i]);
    }
    if (!w->leave)
        threads_resume(w->targets, w->count);
    return 0;
}

int targets_write(struct target_words *list, size_t count, void (*last)(void *), void *data,
                  bool leave, struct target_pause *pause)
{
    enum { TARGETS_MAX = 4096 };
    struct target *targets[TARGETS_MAX];
    struct target_words living[TARGETS_MAX];
    struct writing w = {
        .list = living, .targets = targets, .last = last, .data = data, .leave = leave};
    for (size_t i = 0; i < count && w.count < TARGETS_MAX; i++)
        if (list[i].target && !list[i].target->dead) {
            living[w.count] = list[i];
            targets[w.count++] = list[i].target;
        }
    int e = w.count ? tracer_do(write_all, &w) : 0;
    if (pause)
        *pause = w.pause;
    return e;
}
