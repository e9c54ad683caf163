/* SPDX-License-Identifier: MIT */
/* Warnings about ranks, joined: "ranks 0-3,7: ..." instead of five lines. */
#ifndef LOUPE_TREE_NOTES_H
#define LOUPE_TREE_NOTES_H

#include "metric/run.h"

struct note {
    char *one, *many; /* what follows "rank 3" and "ranks 3,5" */
    char *detail;     /* added at the end; notes that differ in it stay apart; NULL: none */
    uint64_t amount;  /* summed up over the ranks and said at the end; 0: none */
    int32_t world;    /* -1: processes that have no rank, named by PID */
    int32_t *numbers; /* ranks, or PIDs */
    size_t count, room;
};

struct notes {
    struct note *list;
    size_t count, room;
};

/* `detail` is taken over, the others are copied. */
void notes_add(struct notes *notes, const struct run_rank *rank, const char *one, const char *many,
               char *detail, uint64_t amount);
char *note_text(struct note *note);
/* Puts them all into the run's warnings. */
void notes_warn(struct notes *notes, struct run *run);
void notes_free(struct notes *notes);

#endif
