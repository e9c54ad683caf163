/* SPDX-License-Identifier: MIT */
/* Who sent how much to whom, over all statements. */
#ifndef LOUPE_VIEW_MATRIX_H
#define LOUPE_VIEW_MATRIX_H

#include "view/format.h"

/* Ends of a pair that are no index into ranks[]. */
enum { MATRIX_OTHERS = -1, MATRIX_FOREIGN = -2 };
/* Ranks up to which it is shown in full. */
enum { MATRIX_FULL = 16 };

struct matrix_pair {
    int32_t from, to; /* indices into ranks[], or MATRIX_* */
    uint64_t count, bytes;
    double time;
    uint32_t node; /* of waits: the statement with most of it */
    double most;
};

struct matrix {
    struct matrix_pair *pairs; /* sorted by from, to; each once */
    size_t count, room;
};

/*
 * From the sent records. Where the sender of a collective has no peer (the root of a Bcast or
 * Scatter sends to all), the messages are taken from the receivers' records instead.
 */
void matrix_build(const struct run *run, struct matrix *matrix);
/* Who waited (from) for whom (to), and how long (time), over all statements. */
void matrix_waits(const struct run *run, struct matrix *matrix);
void matrix_free(struct matrix *matrix);

/* For qsort: by time, the longest first. */
int matrix_longest_first(const void *a, const void *b);

/* NULL: the two have nothing. */
const struct matrix_pair *matrix_at(const struct matrix *matrix, int32_t from, int32_t to);
/* The rows or columns of a full matrix: the ranks, and others and foreign ones if there are. Room
 * for two more than there are ranks. */
size_t matrix_ends(const struct run *run, const struct matrix *matrix, int32_t *ends, bool rows);
char *matrix_end_name(char to[FORMAT_ROOM], const struct run *run, int32_t end);

/* One place for each end that there can be: the processes, then others and foreign ones. */
static inline size_t matrix_places(const struct run *run)
{
    return run->rank_count + 2;
}

static inline int32_t matrix_end_at(size_t place, size_t places)
{
    return place < places - 2    ? (int32_t)place
           : place == places - 2 ? MATRIX_OTHERS
                                 : MATRIX_FOREIGN;
}

static inline size_t matrix_place(int32_t end, size_t places)
{
    return end >= 0 ? (size_t)end : end == MATRIX_OTHERS ? places - 2 : places - 1;
}

#endif
