/* SPDX-License-Identifier: MIT */
/* The process: its segment, its state, the modules its statements stand in. */
#ifndef LOUPE_RUNTIME_PROCESS_H
#define LOUPE_RUNTIME_PROCESS_H

#include "record/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct attach_block; /* record/attach.h */

struct process {
    struct record_writer writer; /* writer.header NULL: not monitored (yet) */
    bool impossible;             /* no job, or no segment to be had: stay out of the way */
    bool hold;                   /* inside MPI_Init: allocate nothing that MPI may need */
    uint32_t peers_max;
    uint64_t extra;    /* ticks, a test's wish: what events and timed probes are to cost more */
    uint32_t trouble;  /* what there was before there was a header */
    struct plan *plan; /* of the job, shared; NULL: none */
    /* It was running when we came; NULL: preloaded. What stands in the environment of others
     * stands here. */
    const struct attach_block *attached;
};
extern struct process loupe_process EXPORT;

/* Called first, by whoever comes first; false: this process is not monitored. */
bool process_start(void) EXPORT_AS(process_start);
/* What `loupe exec` has put into the environment under this name, or `loupe attach` into its block;
 * NULL: nothing. */
const char *process_setting(const char *name) EXPORT_AS(process_setting);
/* For a process that runs already: a new segment, where the block says. What was written into an
 * earlier one is left alone. Called by a thread that is in no event. */
bool process_attach(const struct attach_block *block);
/* The units of code that is about to get probes (record/dynamic.h): the first, the others follow.
 */
void process_attach_units(uint64_t first);
/* Makes the segment if there is none yet; false: this process is not monitored. */
bool process_open(void) EXPORT_AS(process_open);
void process_ended(enum record_state state, int exit_code) EXPORT_AS(process_ended);
/* One line to standard error, once per reason at most; only for what the user must know. */
void process_say(const char *text, const char *more);

/* Index of the module that contains `address`, added if it is new; RECORD_NO_MODULE. `bias` is
 * what to take off an address. */
uint32_t module_at(uintptr_t address, uintptr_t *bias);
void module_forget_all(void);
void module_leave_all(void); /* the same where other threads may be at it */
/* What stands for a module in the keys of a plan (record/plan.h). */
uint64_t module_hash(uint32_t index);
void site_forget_all(void);

/* Private memory in whole pages: malloc belongs to the program. NULL when there is none. */
void *pages_alloc(size_t bytes) EXPORT_AS(pages_alloc);
void pages_free(void *pages, size_t bytes) EXPORT_AS(pages_free);

/* What threads have looked up for their sites may be wrong from now on. */
void epoch_moves(void) EXPORT_AS(epoch_moves);

/* A lock for slow paths: held for microseconds, never across a call out of the runtime. */
void slow_lock(uint32_t *lock) EXPORT_AS(slow_lock);
void slow_unlock(uint32_t *lock) EXPORT_AS(slow_unlock);
/* The same for what a probe in a signal handler may need too: no signal comes meanwhile. */
uint64_t slow_lock_signals(uint32_t *lock);
void slow_unlock_signals(uint32_t *lock, uint64_t mask);

#endif
