/* SPDX-License-Identifier: MIT */
/*
 * Procedures that call each other in a circle, by the tables of the program. Inside a circle the
 * runtime times nothing but what led into it (docs/ARCHITECTURE.md, "Recursion"): which of its
 * procedures has spent what cannot be told, so as an item of the critical path a circle is one, as
 * it is in the report.
 */
#ifndef LOUPE_CLI_CRITICAL_CIRCLES_H
#define LOUPE_CLI_CRITICAL_CIRCLES_H

#include "graph/program.h"

#include <stdbool.h>

struct circles {    /* zeroed: not known */
    uint32_t *of;   /* by node: number of its component, */
    uint32_t *size; /* and by that how many procedures it has */
};

void circles_find(struct circles *circles, const struct program *program);
/* Whether a procedure is one of several that call each other; and two of the same. */
bool circles_has(const struct circles *circles, const struct program *program, uint32_t node);
bool circles_same(const struct circles *circles, const struct program *program, uint32_t a,
                  uint32_t b);
/* A call whose time is in the one that led into the recursion that it is part of. */
bool circles_inside(const struct circles *circles, const struct program *program, uint32_t call);
void circles_free(struct circles *circles);

#endif
