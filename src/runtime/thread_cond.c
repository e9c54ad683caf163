/* SPDX-License-Identifier: MIT */
/*
 * Condition variables: who is woken up meets who signalled. A signal wakes one of those who wait, a
 * broadcast all of them; which signal it was libc does not say. It is taken to be the earliest
 * since the waiting began that no other has taken. Without such a one (it woke up for no reason,
 * or the time was up) nobody was met.
 */
#include "runtime/thread_delay.h"
#include "runtime/thread_path.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { SETS = 64, WAYS = 4, SIGNALS = 8 };

struct signal {
    struct party by;
    bool all;   /* broadcast */
    bool taken; /* by the one that it woke up */
    bool has_path;
};

/* There is one where a thread has waited: signals for nobody need not be known. */
struct cond {
    const void *address; /* NULL: free */
    int64_t used;        /* when somebody began to wait last */
    uint32_t count;      /* of signals; the last ones are kept */
    struct signal signals[SIGNALS];
    struct path_told *paths; /* of those who signalled; NULL: none has had one. Stays here */
};

static struct {
    uint32_t lock;
    struct cond ways[WAYS];
} sets[SETS];

static struct cond *find(uint32_t set, const void *address)
{
    for (int i = 0; i < WAYS; i++)
        if (__atomic_load_n(&sets[set].ways[i].address, __ATOMIC_RELAXED) == address)
            return &sets[set].ways[i];
    return NULL;
}

static struct cond *add(uint32_t set, const void *address)
{
    struct cond *c = sets[set].ways;
    for (int i = 1; i < WAYS && c->address; i++)
        if (!sets[set].ways[i].address || sets[set].ways[i].used < c->used)
            c = &sets[set].ways[i];
    *c = (struct cond){.address = address, .paths = c->paths};
    return c;
}

static bool wait_begins(const void *address, struct party *self)
{
    if (!party_begin(self))
        return false;
    uint32_t set = table_hash((uintptr_t)address, SETS);
    if (!table_lock(&sets[set].lock))
        return false;
    struct cond *c = find(set, address);
    if (!c)
        c = add(set, address);
    c->used = self->at;
    table_unlock(&sets[set].lock);
    return true;
}

static const struct signal *awaited(struct cond *c, int64_t since)
{
    uint32_t first = c->count > SIGNALS ? c->count - SIGNALS : 0;
    for (uint32_t i = first; i != c->count; i++) {
        struct signal *s = &c->signals[i % SIGNALS];
        if (s->by.at < since || s->taken)
            continue;
        s->taken = !s->all;
        return s;
    }
    return NULL;
}

static int woken(bool meets, const struct party *self, const void *address, int result)
{
    uint32_t set = table_hash((uintptr_t)address, SETS);
    /* EOWNERDEAD: of the mutex; it has been waiting all the same. */
    if (!meets || (result && result != EOWNERDEAD) || !table_lock(&sets[set].lock))
        return result;
    struct cond *c = find(set, address);
    const struct signal *s = c ? awaited(c, self->at) : NULL;
    struct party by = s ? s->by : *self;
    struct path_told told;
    told.generation = 0;
    if (s && s->has_path)
        memcpy(&told, &c->paths[s - c->signals], path_told_bytes(c->paths[s - c->signals].items));
    table_unlock(&sets[set].lock);
    if (s) {
        struct meeting m = meeting_begin(self->at, self->delay);
        meeting_join(&m, by.at, by.delay, 0);
        party_met(self, &m);
        thread_path_join(&told, &m);
    }
    return result;
}

/* The path of who signals, beside the signal. */
static void signal_path(struct cond *c, uint32_t place, const struct path_told *told)
{
    if (told->generation && !c->paths)
        c->paths = arena_alloc(SIGNALS * sizeof *c->paths);
    c->signals[place].has_path = told->generation && c->paths;
    if (c->signals[place].has_path)
        memcpy(&c->paths[place], told, path_told_bytes(told->items));
}

static void signalled(const void *address, bool all)
{
    struct party self;
    struct path_told told;
    uint32_t set = table_hash((uintptr_t)address, SETS);
    if (!delay_passes() || !find(set, address) || !party_begin(&self))
        return;
    thread_path_tell(&told);
    if (!table_lock(&sets[set].lock))
        return;
    struct cond *c = find(set, address);
    if (c) {
        c->signals[c->count % SIGNALS] = (struct signal){.by = self, .all = all};
        signal_path(c, c->count % SIGNALS, &told);
        c->count = c->count == UINT32_MAX ? SIGNALS : c->count + 1;
    }
    table_unlock(&sets[set].lock);
    party_spent(&self);
}

void cond_forget_all(void)
{
    memset(sets, 0, sizeof sets);
}

/* The old version of these has a pointer for an object; it is not wrapped (mpi/libloupe.map). */
#define NEXT_COND(name, missing, prototype)                                                        \
    static void *known;                                                                            \
    int(*next) prototype;                                                                          \
    *(void **)&next = next_current(&known, name, "GLIBC_2.3.2", "GLIBC_2.2.5");                    \
    if (!next)                                                                                     \
    return missing
#define WAIT(...)                                                                                  \
    struct party self;                                                                             \
    bool meets = wait_begins(cond, &self);                                                         \
    return woken(meets, &self, cond, next(cond, __VA_ARGS__))
#define SIGNAL(all)                                                                                \
    signalled(cond, all);                                                                          \
    return next(cond)

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    NEXT_COND("pthread_cond_wait", EINVAL, (pthread_cond_t *, pthread_mutex_t *));
    WAIT(mutex);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    NEXT_COND("pthread_cond_timedwait", EINVAL,
              (pthread_cond_t *, pthread_mutex_t *, const struct timespec *));
    WAIT(mutex, until);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until)
{
    NEXT_COND("pthread_cond_clockwait", EINVAL,
              (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *));
    WAIT(mutex, clock, until);
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
    NEXT_COND("pthread_cond_signal", EINVAL, (pthread_cond_t *));
    SIGNAL(false);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
    NEXT_COND("pthread_cond_broadcast", EINVAL, (pthread_cond_t *));
    SIGNAL(true);
}

/* threads.h has the same objects under other names; 2: thrd_error. */
EXPORT int cnd_wait(void *cond, void *mutex)
{
    NEXT_COND("cnd_wait", 2, (void *, void *));
    WAIT(mutex);
}

EXPORT int cnd_timedwait(void *cond, void *mutex, const struct timespec *until)
{
    NEXT_COND("cnd_timedwait", 2, (void *, void *, const struct timespec *));
    WAIT(mutex, until);
}

EXPORT int cnd_signal(void *cond)
{
    NEXT_COND("cnd_signal", 2, (void *));
    SIGNAL(false);
}

EXPORT int cnd_broadcast(void *cond)
{
    NEXT_COND("cnd_broadcast", 2, (void *));
    SIGNAL(true);
}
