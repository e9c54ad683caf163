/* SPDX-License-Identifier: MIT */
/*
 * The critical path, while the program runs: each thread knows the longest path that ends in what
 * it has done so far, and what share of it each item has (paper 3). Whoever meets another thread
 * takes over that one's path if it is longer.
 *
 * The length at virtual moment v is v - offset. Entering an item takes the length off its share,
 * leaving it adds the length: constant time, nothing else is touched. Waiting moves the offset.
 * The longest path net of an item may be another one than the longest: what it has more, net of the
 * item, is the item's excess. It changes only where paths meet.
 *
 *     path_wait(t, begin)                    a communication begins at this virtual moment
 *     path_meet(t, begin, &other)            each one it waited for or heard from, at its end
 *     path_go(t, begin, ticks, sync)         it took so long, of which so long it waited
 *
 * `begin`: virtual ticks. All of these do nothing but look whether there is a path while there is
 * none (thread->path is NULL).
 */
#ifndef LOUPE_RUNTIME_PATH_H
#define LOUPE_RUNTIME_PATH_H

#include "record/layout.h"
#include "record/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* A path as others are told of it: what was, when something was published. */
struct path_told {
    uint32_t generation;
    uint32_t items;
    int64_t length, mpi;
    uint32_t strip_shift;
    uint32_t spare;
    struct record_path_item item[RECORD_PATH_ITEMS]; /* of none active: as of `length` */
    uint16_t strip[RECORD_PATH_STRIP];
};

/* Starts a generation, as the plan says: with length 0 from now on. Slow; also stops (plan off).
 * The calling thread's own. */
void path_start(struct thread *t, const struct plan *plan) EXPORT_AS(path_start);
/* Its time is over: MPI_Finalize. */
void path_end(struct thread *t) EXPORT_AS(path_end);

/* Timed visits of items, by the thread itself; `at` in virtual ticks. `weight`: visits it stands
 * for, `time` how long it took (with those it called), `own` less what it called. */
void path_enter(struct thread *t, uint32_t item, int64_t at) EXPORT_AS(path_enter);
void path_leave(struct thread *t, uint32_t item, int64_t at, uint32_t weight, int64_t time,
                int64_t own) EXPORT_AS(path_leave);

#endif
