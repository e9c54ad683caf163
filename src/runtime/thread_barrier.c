/* SPDX-License-Identifier: MIT */
/*
 * Barriers: all threads of a round meet. Rounds follow from the number of arrivals, so every one of
 * them is counted, from the barrier's making on and without a lock that could not be had; a barrier
 * that processes share is not known here.
 *
 * A round's two moments, real and virtual, are the greatest of its threads'. Those of a later round
 * are later, so four rounds take turns in their places, and nothing is ever set back. Of the paths
 * that its threads bring (thread_path.h) a round has one, merged; it is there once some thread has
 * brought one. Whose turn it was to write it is lost when the lock is not to be had.
 */
#include "runtime/thread_delay.h"

#include "runtime/process.h"
#include "runtime/thread_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { BARRIERS = 256, REACH = 8, ROUNDS = 4 };

static const char claimed; /* its address, while a barrier is made */

struct round {
    int64_t real, ideal;
};

struct round_path {
    uint64_t round; /* whose it is, plus 1 */
    struct path_told told;
};

static struct barrier {
    const void *address;      /* NULL: free */
    uint32_t lock;            /* of the paths */
    struct round_path *paths; /* NULL: none was brought yet; kept for the next barrier here */
    uint32_t threads;
    uint64_t arrivals;
    struct round rounds[ROUNDS];
} barriers[BARRIERS];

static struct barrier *nth(const void *address, uint32_t i)
{
    return &barriers[(table_hash((uintptr_t)address, BARRIERS) + i) % BARRIERS];
}

static struct barrier *find(const void *address)
{
    for (uint32_t i = 0; i < REACH; i++)
        if (__atomic_load_n(&nth(address, i)->address, __ATOMIC_ACQUIRE) == address)
            return nth(address, i);
    return NULL;
}

static void forget(const void *address)
{
    struct barrier *b = find(address);
    if (b)
        __atomic_store_n(&b->address, NULL, __ATOMIC_RELEASE);
}

static void made(const void *address, unsigned threads)
{
    for (uint32_t i = 0; i < REACH; i++) {
        struct barrier *b = nth(address, i);
        const void *none = NULL;
        if (!__atomic_compare_exchange_n(&b->address, &none, &claimed, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        b->threads = threads;
        b->arrivals = 0;
        for (uint32_t r = 0; b->paths && r < ROUNDS; r++)
            b->paths[r].round = 0;
        memset(b->rounds, 0, sizeof b->rounds);
        __atomic_store_n(&b->address, address, __ATOMIC_RELEASE);
        return;
    }
}

void barrier_forget_all(void)
{
    memset(barriers, 0, sizeof barriers);
}

/* The calling thread's path, for those of the round. */
static void bring_path(struct barrier *b, uint64_t round, const struct party *self)
{
    struct path_told told;
    thread_path_tell(&told);
    if (!told.generation || !table_lock(&b->lock))
        return;
    if (!b->paths) {
        struct round_path *paths = arena_alloc(ROUNDS * sizeof *paths);
        for (uint32_t r = 0; paths && r < ROUNDS; r++)
            paths[r].round = 0;
        __atomic_store_n(&b->paths, paths, __ATOMIC_RELEASE);
    }
    struct round_path *p = b->paths ? &b->paths[round % ROUNDS] : NULL;
    if (p && p->round != round + 1) {
        p->round = round + 1;
        p->told.generation = 0;
    }
    if (p)
        thread_path_merge(&p->told, &told);
    table_unlock(&b->lock);
    party_spent(self);
}

static void take_path(struct barrier *b, uint64_t round, struct path_told *told)
{
    told->generation = 0;
    if (!__atomic_load_n(&b->paths, __ATOMIC_ACQUIRE) || !table_lock(&b->lock))
        return;
    const struct round_path *p = &b->paths[round % ROUNDS];
    if (p->round == round + 1 && p->told.generation)
        memcpy(told, &p->told, path_told_bytes(p->told.items));
    table_unlock(&b->lock);
}

static void raise_to(int64_t *greatest, int64_t value)
{
    int64_t seen = __atomic_load_n(greatest, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(greatest, &seen, value, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Returns the number of the round. */
static uint64_t arrive(struct barrier *b, const struct party *self)
{
    uint64_t round = __atomic_fetch_add(&b->arrivals, 1, __ATOMIC_ACQ_REL) / b->threads;
    struct round *r = &b->rounds[round % ROUNDS];
    raise_to(&r->real, self->at);
    raise_to(&r->ideal, self->at - self->delay);
    return round;
}

static void leave(struct barrier *b, uint64_t round, const struct party *self)
{
    const struct round *r = &b->rounds[round % ROUNDS];
    struct meeting m = meeting_begin(self->at, self->delay);
    int64_t real = __atomic_load_n(&r->real, __ATOMIC_ACQUIRE);
    int64_t ideal = __atomic_load_n(&r->ideal, __ATOMIC_ACQUIRE);
    uint64_t arrivals = __atomic_load_n(&b->arrivals, __ATOMIC_ACQUIRE);
    /* All of the round have been counted, and none yet that comes to its place after it. */
    if (arrivals < (round + 1) * b->threads || arrivals > (round + ROUNDS) * b->threads)
        return;
    meeting_join(&m, real, real - ideal, 0);
    party_met(self, &m);
    struct path_told told;
    take_path(b, round, &told);
    thread_path_join(&told, &m);
}

/* Of whoever shares it with other processes not all arrivals would be seen. */
static bool is_private(const pthread_barrierattr_t *attributes)
{
    static void *known;
    int (*getpshared)(const pthread_barrierattr_t *, int *), shared = 1;
    *(void **)&getpshared = next_function(&known, "pthread_barrierattr_getpshared");
    return !attributes || (getpshared && !getpshared(attributes, &shared) && !shared);
}

EXPORT int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
                                unsigned threads)
{
    static void *known;
    int (*next)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned);
    *(void **)&next = next_function(&known, "pthread_barrier_init");
    if (!next)
        return EAGAIN;
    int error = next(barrier, attributes, threads);
    if (!error && !loupe_process.impossible) {
        forget(barrier);
        if (is_private(attributes))
            made(barrier, threads);
    }
    return error;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    static void *known;
    int (*next)(pthread_barrier_t *);
    *(void **)&next = next_function(&known, "pthread_barrier_destroy");
    if (!next)
        return EINVAL;
    int error = next(barrier); /* waits for those who are still leaving */
    if (!error && !loupe_process.impossible)
        forget(barrier);
    return error;
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    static void *known;
    int (*next)(pthread_barrier_t *);
    *(void **)&next = next_function(&known, "pthread_barrier_wait");
    if (!next)
        return EINVAL;
    struct barrier *b = loupe_process.impossible ? NULL : find(barrier);
    if (!b)
        return next(barrier);
    struct party self;
    bool meets = party_begin(&self);
    if (!meets)
        self = party_now(); /* inside an event: it is of the round all the same */
    uint64_t round = arrive(b, &self);
    if (meets)
        bring_path(b, round, &self);
    int result = next(barrier);
    if (meets && (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD))
        leave(b, round, &self);
    return result;
}
