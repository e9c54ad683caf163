/* SPDX-License-Identifier: MIT */
#include "runtime/thread_delay.h"

#include "runtime/hot.h"
#include "runtime/process.h"
#include "runtime/thread_path.h"

#include <dlfcn.h>
#include <errno.h>

enum { LOCK_TRIES = 1000 };

bool delay_known;

static __thread int64_t blockless __attribute__((tls_model("initial-exec"))); /* 1/256 ticks */

static int64_t in_ticks(int64_t delay)
{
    return (delay + (1 << RECORD_TIME_SHIFT) / 2) >> RECORD_TIME_SHIFT;
}

int64_t thread_delay_now(void)
{
    const struct thread *t = loupe_tls.self;
    return t ? *t->delay : blockless;
}

bool party_begin(struct party *self)
{
    const struct thread *t = loupe_tls.self;
    if (!delay_passes() || (t && t->guard))
        return false;
    *self = party_now();
    return true;
}

struct party party_now(void)
{
    return (struct party){(int64_t)clock_now(), in_ticks(thread_delay_now())};
}

void party_met(const struct party *self, const struct meeting *m)
{
    struct thread *t = loupe_tls.self;
    int64_t moved = (meeting_delay(m) - self->delay) * (1 << RECORD_TIME_SHIFT);
    if (!t) {
        blockless += moved;
        return;
    }
    *t->delay += moved;
    t->apart += moved; /* not what its probes have cost */
    t->received += moved;
    if (t->off)
        return; /* readers see none of it */
    t->block->received = t->received >> RECORD_TIME_SHIFT;
    t->block->delay = *t->delay >> RECORD_TIME_SHIFT;
}

void party_spent(const struct party *self)
{
    struct thread *t = loupe_tls.self;
    if (t && !t->guard)
        event_spent_since(t, (uint64_t)self->at);
}

void thread_held(uint64_t began)
{
    struct thread *t = loupe_tls.self;
    if (!t)
        blockless += (int64_t)(clock_since(began, clock_now()) << RECORD_TIME_SHIFT);
    else if (!t->guard)
        event_spent_since(t, began);
}

void thread_delay_begin(int64_t delay, uint64_t began)
{
    if (!delay_passes())
        return;
    join_begun();
    blockless = delay + (int64_t)(clock_since(began, clock_now()) << RECORD_TIME_SHIFT);
}

int64_t thread_delay_first(void)
{
    if (loupe_process.writer.header->compensation != RECORD_COMPENSATE_FULL)
        return 0;
    __atomic_store_n(&delay_known, true, __ATOMIC_RELAXED);
    return blockless;
}

void thread_delay_end(struct thread *t)
{
    if (!delay_passes())
        return;
    if (t)
        blockless = *t->delay;
    join_note(&(struct party){(int64_t)clock_now(), in_ticks(blockless)}, thread_path_end(t));
}

void thread_delay_forget_all(void)
{
    delay_known = false;
    blockless = 0;
    join_forget_all();
    thread_path_forget();
    cond_forget_all();
    barrier_forget_all();
}

bool table_lock(uint32_t *lock)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!__atomic_load_n(lock, __ATOMIC_RELAXED) &&
            !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
            return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    return false;
}

void *next_function(void **known, const char *name)
{
    void *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (next)
        return next;
    int saved = errno;
    next = dlsym(RTLD_NEXT, name);
    __atomic_store_n(known, next, __ATOMIC_RELAXED);
    errno = saved;
    return next;
}

/* Before 2.36, glibc's dlsym gives the oldest version here. Asking for the version by name first
 * would pass over what another tool has put in between. */
void *next_current(void **known, const char *name, const char *version, const char *old)
{
    void *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (next)
        return next;
    int saved = errno;
    next = dlsym(RTLD_NEXT, name);
    if (next && next == dlvsym(RTLD_NEXT, name, old)) {
        void *current = dlvsym(RTLD_NEXT, name, version);
        next = current ? current : next;
    }
    __atomic_store_n(known, next, __ATOMIC_RELAXED);
    errno = saved;
    return next;
}
