/* SPDX-License-Identifier: MIT */
/*
 * Delay between the threads of a process: who starts a thread, joins it, meets it at a barrier or
 * wakes it up by a condition variable passes its delay on by the rule of runtime/delay.h. The
 * functions of libc that do so are wrapped here; nothing of them is changed, and the program's
 * objects are neither written nor read. What is known of them is in private tables of fixed size:
 *
 *     threads that ended (thread_join.c)            4,096; then the oldest are forgotten
 *     condition variables (thread_cond.c)           256, 8 signals each; then the oldest
 *     barriers of this process (thread_barrier.c)   256; then further ones are not known
 *
 * Who is not found there is not met: the delay stays as it is. Locks of the tables are tried for a
 * moment and then given up, so a thread that was cancelled or is interrupted while it holds one
 * costs others that knowledge and nothing else.
 *
 * A thread that has no block yet has a delay too, the one it has got from others. Inside an event
 * nothing is met: what MPI's own threads do there is part of the call, whose meeting is its own.
 */
#ifndef LOUPE_RUNTIME_THREAD_DELAY_H
#define LOUPE_RUNTIME_THREAD_DELAY_H

#include "runtime/clock.h"
#include "runtime/delay.h"
#include "runtime/path.h"
#include "runtime/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Some thread has or had a block, and its delay is to be passed on. Else there is nothing to do. */
extern bool delay_known;
static inline bool delay_passes(void)
{
    return __atomic_load_n(&delay_known, __ATOMIC_RELAXED);
}

/* A thread at some moment; ticks. */
struct party {
    int64_t at, delay;
};

/* The calling thread, now. False: it is to meet nobody. */
bool party_begin(struct party *self);
struct party party_now(void);
/* It has met others since. */
void party_met(const struct party *self, const struct meeting *m);
/* It has spent the time since then on this. */
void party_spent(const struct party *self);

/* It was kept waiting by us since then. */
void thread_held(uint64_t began);

/* The calling thread's delay, in 1/256 ticks, as those begin with that it starts. */
int64_t thread_delay_now(void);
/* It begins with this, and has spent the time since `began` on it. */
void thread_delay_begin(int64_t delay, uint64_t began);
/* It is getting its block, and begins there with this. */
int64_t thread_delay_first(void);
/* It is about to end; `t`: and to give up its block. */
void thread_delay_end(struct thread *t);
void thread_delay_forget_all(void); /* in a forked child */

/* For the tables: of those who end (thread_join.c), and all in a forked child. */
void join_note(const struct party *end, const struct path_told *told); /* NULL: no path */
void join_begun(void); /* a thread that had this name before is not meant */
void join_forget_all(void);
void cond_forget_all(void);
void barrier_forget_all(void);

bool table_lock(uint32_t *lock); /* false: not to be had just now */
static inline void table_unlock(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static inline uint32_t table_hash(uintptr_t key, uint32_t entries)
{
    return (uint32_t)((key >> 3) * 0x9e3779b97f4a7c15u >> 32) % entries;
}

/* The definition after ours of a function of libc, kept in `*known`; NULL: there is none. The
 * second is for those that glibc has in two versions, of which the old one is another function. */
void *next_function(void **known, const char *name);
void *next_current(void **known, const char *name, const char *version, const char *old);

#endif
