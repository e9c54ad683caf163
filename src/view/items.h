/* SPDX-License-Identifier: MIT */
/*
 * Between the records of a run and its graph: what of the program's static tables was executed, and
 * which record belongs where. For structure.c.
 */
#ifndef LOUPE_VIEW_ITEMS_H
#define LOUPE_VIEW_ITEMS_H

#include "graph/program.h"
#include "metric/run.h"

struct resolver;

/* A node of the run's graph to be, in an order that has parents before their children. */
struct item {
    enum graph_kind kind;
    uint32_t node;      /* in the static tables; GRAPH_NONE: a group or unknown callers */
    uint32_t parent;    /* item; GRAPH_NONE: below the program */
    uint32_t procedure; /* item that it stands in; of a procedure itself; GRAPH_NONE: none */
    uint32_t callee;    /* of a call: item of the procedure; GRAPH_NONE: none that is here */
    uint32_t group;     /* of a procedure: item of its group; of a group itself; GRAPH_NONE */
    uint32_t unknown;   /* of a procedure: item of its unknown callers */
    uint32_t raw;       /* of a communication: the first node of the segments; GRAPH_NONE: none */
    bool probe;         /* it is timed itself; else what is in it is added up */
    bool inside;        /* a call between procedures of one group: counted, not timed */
    bool optional;      /* in the graph only if some process has a value for it */
    uint32_t statement; /* of a call to what a pointer led to, as the procedure that was entered saw
                           it: the pointer's own item, whose count has it in it; GRAPH_NONE */
    uint32_t out;       /* its node in the graph; GRAPH_NONE: none yet */
};

/* What becomes of a node that comes straight from the segments. */
enum raw_role {
    RAW_APART,    /* nothing of the tables: as without them; `item` may say below what */
    RAW_LEFT_OUT, /* a probe that no table knows, or that counts iterations alone */
    RAW_ITEM,     /* count and time of an item */
    RAW_ENTRIES,  /* entries of a procedure, and times of callers not known */
    RAW_INSIDE,   /* of those, entries from procedures of its group */
    RAW_SOLE,     /* entries of a procedure, all by the call that is the item */
    RAW_TIME,     /* time alone: it was counted elsewhere */
    RAW_CALL,     /* while items are found: a call that no table has */
};

struct raw {
    enum raw_role role;
    uint32_t item; /* GRAPH_NONE: none */
    uint32_t loop; /* item whose iterations it counts; GRAPH_NONE: none */
};

struct items {
    struct item *list;
    size_t count, room;
    struct raw *raw; /* for each node of the run as it comes */
    struct program program;
};

/* Reads the tables of all modules that have probes and finds the place of every raw node. Says in
 * the run's warnings what could not be read. */
void items_build(struct items *items, struct run *run, struct resolver *resolver);
void items_free(struct items *items);

/* Procedures that call each other, through pointers too as far as that was seen: groups. */
void items_group(struct items *items);

/* Adds all items to the graph that are not optional. */
void items_emit(struct items *items, const struct run *run, struct graph *graph);
/* The node of an item, added if it is not there yet, with those above it. */
uint32_t items_node(struct items *items, const struct run *run, struct graph *graph, uint32_t item);
/* Makes calls lead to the nodes of what they call, once all are there. */
void items_link(const struct items *items, struct graph *graph);

/* The values of items from those of the raw nodes, for the nodes in `graph`; optional items get
 * theirs there. What stands apart below an item counts as part of it. free() them. */
size_t items_values(struct items *items, const struct run *run, struct graph *graph,
                    struct run_value **values);

#endif
