/* SPDX-License-Identifier: MIT */
/*
 * The program graph as one reads it from the top: what stands below what, who calls whom, where a
 * procedure is written out, where the time goes. Made once for a report of a program that was built
 * with `loupe cc`.
 */
#ifndef LOUPE_VIEW_OUTLINE_H
#define LOUPE_VIEW_OUTLINE_H

#include "view/query.h"

struct outline_list {
    uint32_t *nodes;  /* of all lists, one after the other */
    uint32_t *starts; /* list n is nodes[starts[n]] up to nodes[starts[n + 1]] */
};

/* What stands in a procedure or loop at any depth, without following calls. */
struct outline_sum {
    double calls, communications; /* time of all call and communication statements */
    double own;                   /* outside of both: self, and that of the loops in it */
    bool calls_estimated, own_estimated;
    bool executed; /* it was, or something in it was */
};

struct outline {
    const struct run *run;
    struct query_item *items;    /* one for each node */
    struct outline_sum *sums;    /* one for each node */
    struct outline_list below;   /* of a node, as written; procedures only below their group */
    struct outline_list callers; /* of a procedure or group: all calls that lead to it */
    uint32_t *home;  /* of a procedure: the call below which it is written out; 0: at the top;
                        GRAPH_NONE: it was called from nowhere */
    bool *hot;       /* on the way down that takes most of the time */
    bool estimated;  /* there are times that are estimates */
    bool iterations; /* there are loops whose iterations were counted */
};

/* The program has probes that `loupe cc` put there: its procedures are timed themselves. */
bool outline_probed(const struct run *run);

struct outline *outline_new(const struct run *run);
void outline_free(struct outline *o); /* accepts NULL */

/* Both lists, most time first; the number of entries. They belong to the outline. */
size_t outline_below(const struct outline *o, uint32_t node, const uint32_t **nodes);
size_t outline_callers(const struct outline *o, uint32_t procedure, const uint32_t **calls);

/* The procedure or group that a call leads to; 0: not known. */
uint32_t outline_callee(const struct outline *o, uint32_t node);
/* The procedure that contains a node, itself if it is one; 0: none. */
uint32_t outline_procedure(const struct outline *o, uint32_t node);
/* A call from a procedure to itself or inside its group: counted, never timed. */
bool outline_recursive(const struct outline *o, uint32_t call);
/* What stands for the call of main that starts the program. */
bool outline_starts(const struct outline *o, uint32_t call);
/* A procedure that nothing times: it shows the sum of what is in it. */
bool outline_summed(const struct outline *o, uint32_t node);
/* It was executed, or something in it was. */
bool outline_executed(const struct outline *o, uint32_t node);
/* The calls of a procedure that were executed and are no recursion. */
size_t outline_outer_callers(const struct outline *o, uint32_t procedure);
/* "call P4 solver.c:14", "for loop solver.c:11", "procedure P3 solver.c:8"; `within` adds " in P3".
 * Owned by the caller. The brief one, for narrow tables, is NULL where there is none. */
char *outline_name(const struct outline *o, uint32_t node, bool within);
char *outline_brief(const struct outline *o, uint32_t node, bool within);

#endif
