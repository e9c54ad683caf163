/* SPDX-License-Identifier: MIT */
/*
 * The plan of the critical path: whether it is computed, and of which items. One page, the file
 * `plan` in the job's directory, made with the job; its readers are the job's processes, its
 * writers `loupe run`, `loupe ctl` and MPI_Pcontrol.
 *
 * Items are ranges of keys: an item of one procedure is a range of one, a bucket of the search one
 * of many; a statement that the compiler has copied has several ranges. Whatever lies in no range
 * is no item. A change makes a new generation, whoever starts with it starts anew; the control word
 * of each process (record/layout.h) says that there is one.
 */
#ifndef LOUPE_RECORD_PLAN_H
#define LOUPE_RECORD_PLAN_H

#include "record/export.h"
#include "record/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_FILE  "plan"
#define PLAN_MAGIC 0x6e616c502e706cull

enum { PLAN_VERSION = 1, PLAN_BYTES = 4096, PLAN_RANGES = 64, PLAN_NAME = 64 };

struct plan_range {
    uint64_t from, to; /* keys, both included */
    uint32_t item;
    uint32_t spare;
};

struct plan {
    uint64_t magic;
    uint32_t version;
    uint32_t changing;   /* odd while it changes; one writer at a time takes it by making it odd */
    uint32_t generation; /* 0: never on */
    uint32_t on;
    uint32_t items;     /* in use, numbered from 0 */
    uint32_t count;     /* ranges */
    uint32_t searching; /* the controller is still looking for the top ones: ranges are buckets of
                           procedures and communications, and hold nothing else */
    uint32_t top;       /* so many were asked for; 0: the items were named */
    uint32_t complete;  /* the items are all that have at least 1/top of the path, */
    uint32_t covered;   /* and had so much of it together when that was found, in 1/10000 */
    struct plan_range ranges[PLAN_RANGES];    /* sorted, disjoint */
    char names[RECORD_PATH_ITEMS][PLAN_NAME]; /* of items, for readers: "solve (solver.c:120)" */
};
_Static_assert(sizeof(struct plan) <= PLAN_BYTES, "one page");

/* Bits 1 to 7 of a control word for this generation: never 0 once there was one. */
static inline uint32_t plan_control(uint32_t generation)
{
    return (generation ? generation % 127 + 1 : 0) << RECORD_CONTROL_PATH_SHIFT;
}

static inline uint64_t plan_mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b * 0x9e3779b97f4a7c15u) + 0x632be59bd9b4e019u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* A procedure that was compiled by `loupe cc`, by its key in the unit's table; the same in every
 * unit that has it. */
static inline uint64_t plan_procedure(uint64_t key)
{
    return plan_mix(key, 1);
}

/* Another site of a unit: a loop, a call. */
static inline uint64_t plan_site(uint64_t unit, uint32_t site)
{
    return plan_mix(unit, (uint64_t)site << 8 | 2);
}

/* A region, by plan_name of its name. */
static inline uint64_t plan_name(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        h = (h ^ *c) * 0x100000001b3u;
    return h | 1ull << 63; /* the runtime has statements below */
}

static inline uint64_t plan_region(uint64_t name)
{
    return plan_mix(name, 3);
}

/* A communication statement: return address, less the load bias of its module. */
static inline uint64_t plan_statement(uint64_t module, uint64_t offset)
{
    return plan_mix(module, offset << 8 | 4);
}

/* What stands for a module in keys: its build-id, else its path. */
uint64_t plan_module(const struct record_module *module) EXPORT_AS(plan_module);

/* The item of a key; RECORD_PATH_NO_ITEM: none. `plan` is a copy. */
uint32_t plan_item(const struct plan *plan, uint64_t key) EXPORT_AS(plan_item);

/* A copy that is whole and makes sense; false: it changes all the time, or is no plan. */
bool plan_read(const struct plan *shared, struct plan *copy) EXPORT_AS(plan_read);

/* Maps the plan of a job, to be changed too; NULL: none, or not ours. */
struct plan *plan_open(int job_dir) EXPORT_AS(plan_open);
void plan_close(struct plan *plan) EXPORT_AS(plan_close);
/* Makes it, all off; -errno. */
int plan_make(int job_dir);

/* Replaces what it says, `generation` apart, which grows by one and is returned; 0: it could not be
 * had, or `to` makes no sense. With `from`, only if that is still its generation. A writer that
 * died in the middle is waited for, then forgotten: what it left is replaced as a whole. */
uint32_t plan_change(struct plan *shared, const struct plan *to) EXPORT_AS(plan_change);
uint32_t plan_change_from(struct plan *shared, const struct plan *to, uint32_t from)
    EXPORT_AS(plan_change_from);
/* What another node has made of its plan: it is taken over if it is newer. Two that were changed
 * alike become one in the generation after that, the same whichever of the two nodes does it: of
 * named items all the ranges that either has, of others what is off, else one of the two. Returns
 * the generation that the plan has come to; 0: `theirs` makes no sense, or it could not be had. */
uint32_t plan_take(struct plan *shared, const struct plan *theirs) EXPORT_AS(plan_take);

#endif
