/* SPDX-License-Identifier: MIT */
/* Names of items of the critical path, and the keys that stand for them in the plan: from the
 * static tables of the program, and from the records of its processes. */
#ifndef LOUPE_CLI_CRITICAL_NAMES_H
#define LOUPE_CLI_CRITICAL_NAMES_H

#include "cli/critical_circles.h"
#include "graph/program.h"
#include "record/plan.h"
#include "tree/job.h"

#include <stdbool.h>

/* One item that the user has named. */
struct wanted {
    char label[PLAN_NAME];
    uint64_t *keys;
    size_t count, room;
    char *file; /* its statements are those on this line, as they turn up; NULL: */
    uint32_t line;
    char *call; /* those of this MPI function; NULL: it has no statements */
};

/* Something that the search may find. */
struct named_key {
    uint64_t key;
    bool statement;
    uint32_t node; /* of procedures: in the program; GRAPH_NONE: none */
    char label[PLAN_NAME];
    char *file, *path; /* of statements; NULL: not known */
    uint32_t line;
    const char *call;
};

struct names { /* zeroed: empty */
    struct program program;
    struct circles circles;
    bool tables;   /* it has probes: was built with loupe cc, or */
    bool inserted; /* some are inserted, in libraries too */
    struct wanted *wanted;
    size_t wanted_count, wanted_room;
    struct named_key *keys; /* sorted by key once names_sort was called */
    size_t key_count, key_room;
    struct resolver *resolver;
};

/* Reads the tables of the program (as it would be started), if it has some. */
void names_load(struct names *names, const char *program);
/* Takes "a,b,file.c:120". -EINVAL: said on standard error, with what is possible. */
int names_parse(struct names *names, const char *list);
/* All keys that an item has that has this one: of procedures that call each other those of all of
 * them. Added to `into`, with what they are called together. */
void names_expand(const struct names *names, uint64_t key, struct wanted *into);
/* Looks for statements in the records of the job's processes; true: one that was named is new. */
bool names_look(struct names *names, const struct job *job);
/* Whether there are named items whose statements may still turn up. */
bool names_pending(const struct names *names);
/* What a key is; NULL: not known. */
const struct named_key *names_of(const struct names *names, uint64_t key);
void names_free(struct names *names);

#endif
