/* SPDX-License-Identifier: MIT */
/* Threads that ended, and those who join them. */
#include "runtime/thread_delay.h"
#include "runtime/thread_path.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { SETS = 512, WAYS = 8 };

struct ended {
    pthread_t thread; /* 0: free; threads have addresses for names */
    struct party end;
    struct path_told *told; /* its path; made at the first one that comes here, and kept */
    bool has_path;
};

static struct {
    uint32_t lock;
    struct ended ways[WAYS];
} sets[SETS];

static struct ended *find(uint32_t set, pthread_t thread)
{
    for (int i = 0; i < WAYS; i++)
        if (sets[set].ways[i].thread == thread)
            return &sets[set].ways[i];
    return NULL;
}

static struct ended *oldest(uint32_t set)
{
    struct ended *e = sets[set].ways;
    for (int i = 1; i < WAYS && e->thread; i++)
        if (!sets[set].ways[i].thread || sets[set].ways[i].end.at < e->end.at)
            e = &sets[set].ways[i];
    return e;
}

static void note_path(struct ended *e, const struct path_told *told)
{
    if (told && !e->told)
        e->told = arena_alloc(sizeof *e->told);
    e->has_path = told && e->told;
    if (e->has_path)
        memcpy(e->told, told, path_told_bytes(told->items));
}

void join_note(const struct party *end, const struct path_told *told)
{
    pthread_t self = pthread_self();
    uint32_t set = table_hash(self, SETS);
    if (!table_lock(&sets[set].lock))
        return;
    struct ended *e = find(set, self);
    if (!e)
        e = oldest(set);
    e->thread = self;
    e->end = *end;
    note_path(e, told);
    table_unlock(&sets[set].lock);
}

/* *told has generation 0 if there is no path. */
static bool take(pthread_t thread, struct party *end, struct path_told *told)
{
    uint32_t set = table_hash(thread, SETS);
    if (!table_lock(&sets[set].lock))
        return false;
    struct ended *e = find(set, thread);
    if (e) {
        *end = e->end;
        e->thread = 0;
        told->generation = 0;
        if (e->has_path)
            memcpy(told, e->told, path_told_bytes(e->told->items));
    }
    table_unlock(&sets[set].lock);
    return e != NULL;
}

void join_begun(void)
{
    struct party end;
    struct path_told told;
    take(pthread_self(), &end, &told);
}

void join_forget_all(void)
{
    memset(sets, 0, sizeof sets);
}

static int joined(bool meets, const struct party *self, pthread_t thread, int result)
{
    struct party end;
    struct path_told told;
    if (meets && !result && take(thread, &end, &told)) {
        struct meeting m = meeting_begin(self->at, self->delay);
        meeting_join(&m, end.at, end.delay, 0);
        party_met(self, &m);
        thread_path_join(&told, &m);
    }
    return result;
}

/* How each of them is wrapped; `missing` if libc has none. */
#define JOIN(name, missing, prototype, ...)                                                        \
    static void *known;                                                                            \
    int(*next) prototype;                                                                          \
    *(void **)&next = next_function(&known, name);                                                 \
    if (!next)                                                                                     \
        return missing;                                                                            \
    struct party self;                                                                             \
    bool meets = party_begin(&self);                                                               \
    return joined(meets, &self, thread, next(thread, __VA_ARGS__))

EXPORT int pthread_join(pthread_t thread, void **result)
{
    JOIN("pthread_join", ESRCH, (pthread_t, void **), result);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **result)
{
    JOIN("pthread_tryjoin_np", ESRCH, (pthread_t, void **), result);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    JOIN("pthread_timedjoin_np", ESRCH, (pthread_t, void **, const struct timespec *), result,
         until);
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                                const struct timespec *until)
{
    JOIN("pthread_clockjoin_np", EINVAL, (pthread_t, void **, clockid_t, const struct timespec *),
         result, clock, until);
}

/* threads.h; 2: thrd_error. */
EXPORT int thrd_join(pthread_t thread, int *result)
{
    JOIN("thrd_join", 2, (pthread_t, int *), result);
}
