/* SPDX-License-Identifier: MIT */
/* A matrix of ranks as a table, with its sums. */
#ifndef LOUPE_VIEW_GRID_H
#define LOUPE_VIEW_GRID_H

#include "view/matrix.h"
#include "view/parts.h"

/* What is shown of each pair. */
struct grid {
    const char *title, *corner;
    double (*value)(const struct matrix_pair *pair);
    char *(*text)(char to[FORMAT_ROOM], double value); /* NULL: nothing worth a number */
};

void grid_print(const struct part *p, const struct matrix *m, const struct grid *grid);

#endif
