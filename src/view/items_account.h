/* SPDX-License-Identifier: MIT */
/* What is known of each item in one process: what items_values.c and items_waits.c share. */
#ifndef LOUPE_VIEW_ITEMS_ACCOUNT_H
#define LOUPE_VIEW_ITEMS_ACCOUNT_H

#include "view/items.h"

struct account {
    struct run_value v;
    double parts, parts_error; /* of what stands in it */
    double mpi, sync, outside; /* as in `v`, in it and in what it calls */
    uint64_t calls;            /* of a procedure: executions that its call statements have */
    uint64_t inside;           /* and entries that are known to come from its group */
    bool untimed;              /* and not all of those were timed */
    bool summed;               /* its time is that of its parts */
};

struct accounting {
    const struct items *items;
    const struct run *run;
    struct account *accounts; /* for each item, of one process */
    uint32_t *order;          /* of items_order */
};

/* The items, each behind all that is in it: the procedure that a call leads to, or its group, is in
 * the call. free() it. */
uint32_t *items_order(const struct items *items);
/* Communication time and waiting of everything around communications, once they have theirs. */
void items_waits(struct accounting *a);

#endif
