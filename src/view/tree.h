/* SPDX-License-Identifier: MIT */
/* Rows of the program's tree: a table that grows downwards from what stands at the top. */
#ifndef LOUPE_VIEW_TREE_H
#define LOUPE_VIEW_TREE_H

#include "view/parts.h"

/* A graph from a file may be of any depth, the stack is not. What lies deeper stands at the top. */
enum { TREE_LEVELS = 400 };

struct tree {
    const struct part *p;
    const struct outline *o;
    struct table *t;
    struct table_column columns[11];
    size_t column_count;
    bool *shown;      /* procedures that are written out already */
    uint32_t subject; /* what was asked for: marked in place of the hot path; 0: the hot path */
    double least;     /* seconds below which lines are put together */
    bool folded;      /* there are lines that stand for several */
    size_t left_out;  /* what was too small, together with its neighbours, even for such a line */
    bool unknown;     /* there are callers without probes */
    bool beyond;      /* there are shares of more than the whole */
    bool totals;      /* a procedure shows what all its callers cost */
};

void tree_begin(struct tree *tree, const struct part *p, const struct outline *o, uint32_t subject);
/* One line; `note` follows the name, and may be NULL. */
void tree_row(struct tree *tree, uint32_t node, int depth, const char *note);
/* A node and what stands below it, at most `levels` of them. */
void tree_node(struct tree *tree, uint32_t node, int depth, int levels);
/* What stands below it, without the node. */
void tree_below(struct tree *tree, uint32_t node, int depth, int levels);
/* Prints it and, of the whole program, what its marks mean. */
void tree_end(struct tree *tree);

#endif
