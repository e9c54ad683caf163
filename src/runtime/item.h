/* SPDX-License-Identifier: MIT */
/* Which statements, regions and probes are items of the critical path: what the job's plan says
 * (record/plan.h), as each thread has acted on it. */
#ifndef LOUPE_RUNTIME_ITEM_H
#define LOUPE_RUNTIME_ITEM_H

#include "record/plan.h"
#include "runtime/thread.h"

/* Maps the plan of the job, if there is one; what it means for a new process's control word. */
uint32_t item_open(const char *job_dir);
/* Puts into a control word what the plan says by now. */
void item_tell(struct record_control *control);

/* The item of a statement or region, which has its record already. */
uint8_t item_of(const struct thread *t, const struct site *site);

/* The control word says that there is another plan than the calling thread has acted on: starts its
 * path as that says, and gives every site its item. */
void item_obey(struct thread *t, uint32_t word);

/* What the program wishes (MPI_Pcontrol). On without items is for who looks after the job to search
 * for them. */
enum item_wish { ITEM_ON, ITEM_OFF, ITEM_RESET };
void item_wish(enum item_wish wish, struct record_control *control) EXPORT_AS(item_wish);

#endif
