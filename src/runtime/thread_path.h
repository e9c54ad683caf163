/* SPDX-License-Identifier: MIT */
/*
 * The critical path between the threads of a process: a new one begins with the path of who starts
 * it, and who joins it meets the path that it had come to; those of a round of a barrier meet, and
 * who is woken up by a condition variable meets who signalled. As delay is passed on
 * (thread_delay.h), and with the same tables. What is not met: mutexes; waiting for them counts as
 * the thread's own time.
 *
 * A thread without a block has a path too: the one that it began with, longer by its own time. It
 * has entered no items. If it joins another, it goes on with the longer path of the two.
 */
#ifndef LOUPE_RUNTIME_THREAD_PATH_H
#define LOUPE_RUNTIME_THREAD_PATH_H

#include "runtime/delay.h"
#include "runtime/path.h"

/* Where a new thread finds what it begins with, and leaves what it has come to. Lives as long as
 * it does. */
struct thread_path {
    struct path_told told; /* generation 0: none */
    int64_t at;            /* virtual, of the thread's own time: `told` was then */
};

/* Of the calling thread, for one that it is about to start. */
void thread_path_give(struct thread_path *p);
/* The calling thread begins, with this. */
void thread_path_begin(struct thread_path *p);
/* It has got its block, and goes on there. */
void thread_path_first(struct thread *t);
/* It is about to end; `t`: and to give up its block. NULL: it has no path. */
const struct path_told *thread_path_end(struct thread *t);
/* As the calling thread's path is now, for those who will meet it; of generation 0: there is none.
 */
void thread_path_tell(struct path_told *told);
/* What has met both has met this: the longest path, and the longest without each item. */
void thread_path_merge(struct path_told *told, const struct path_told *other);
/* It has met one (of generation 0: without a path), in a call that is over; `m`: when it began,
 * when the other was there. */
void thread_path_join(const struct path_told *told, const struct meeting *m);
void thread_path_forget(void); /* in a forked child */

#endif
