/* SPDX-License-Identifier: MIT */
/* Who sent how much to whom, over all statements. */
#ifndef LOUPE_VIEW_MATRIX_H
#define LOUPE_VIEW_MATRIX_H

#include "metric/run.h"

/* Ends of a pair that are no index into ranks[]. */
enum { MATRIX_OTHERS = -1, MATRIX_FOREIGN = -2 };

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

#endif
