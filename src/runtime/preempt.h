/* SPDX-License-Identifier: MIT */
/*
 * Time in which a thread could run and another had its processor: more ranks than cores, other
 * jobs. It is no computation, though it passes between two communications.
 *
 * The kernel knows it, and asking takes a microsecond or two. So threads that communicate look once
 * in a while (LOOK_EVERY), where the clock has been read anyway: when a communication begins or
 * ends. What was lost since the last look was lost inside MPI as far as the calls since then took
 * so long, for that is where ranks give their processor away; only what is left was outside. What
 * lies between two looks:
 *
 *     involuntary switches   blocked         lost
 *     no                     any             nothing
 *     yes                    no              all the time in which it had no processor
 *     yes                    yes             not known from this: /proc/thread-self/schedstat has
 * the time it waited for one, and is read now and then; at once where a critical path waits for it
 *
 * Giving the processor away by sched_yield counts as involuntary there; MPIs do so while they wait.
 * What was lost while we did something that is charged by the clock is delay already: not lost.
 */
#ifndef LOUPE_RUNTIME_PREEMPT_H
#define LOUPE_RUNTIME_PREEMPT_H

#include "record/export.h"

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* What was last found out, of one thread. */
struct preempt {
    bool known;       /* there was a look */
    uint64_t looked;  /* when, ticks, */
    uint64_t cost;    /* and how long it took */
    uint64_t talked;  /* how much of its time had been inside communications then */
    uint64_t charged; /* of the time since then, a long stretch of ours: delay, whoever had it */
    /* when the processor was last lost or given up */
    uint64_t ticks, wall, cpu; /* the same moment; ns */
    uint64_t switches, blocks; /* involuntary, voluntary */
    /* not known yet which part of these was lost; ticks, and all of it in ns */
    uint64_t unsure, unsure_mpi, unsure_ns;
    /* schedstat: when read, what it said, and what has been found lost since */
    uint64_t read_at, waited, found_ns;
};

/* What we do in less time than that has hardly been interrupted: ticks, 40 to 60 us. */
enum { PREEMPT_STRETCH = 1 << 17 };

/* The look; keeps every register. In place of `look` of struct thread. */
void preempt_look(void) __attribute__((no_caller_saved_registers));
/* The calling thread's time begins: at its first event from now on; now, at the end of MPI_Init and
 * where measurement begins again. */
void preempt_wait(struct thread *t);
void preempt_start(struct thread *t) EXPORT_AS(preempt_start);
/* It was blocked, and others let it go on at `since`, real: if that is long ago, it has waited for
 * a processor since then, which schedstat knows. Of threads of a process; MPIs mostly spin. */
void preempt_woken(struct thread *t, uint64_t since);
/* It ends, or measurement does: the last look. */
void preempt_end(struct thread *t) EXPORT_AS(preempt_end);

#endif
