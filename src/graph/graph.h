/* SPDX-License-Identifier: MIT */
/*
 * The program graph: program, procedures, regions, statements, as the source is written.
 * A node's identity is (kind, name, file, line, procedure), whichever way it came in.
 */
#ifndef LOUPE_GRAPH_GRAPH_H
#define LOUPE_GRAPH_GRAPH_H

#include <stddef.h>
#include <stdint.h>

enum graph_kind {
    GRAPH_PROGRAM,
    GRAPH_PROCEDURE,
    GRAPH_LOOP,
    GRAPH_CALL,
    GRAPH_COMMUNICATION,
    GRAPH_REGION,
    GRAPH_KINDS
};

#define GRAPH_NONE UINT32_MAX

/*
 * What a probe of `loupe cc` says of itself, until the tables in its module tell which node that is
 * (view/structure.h). The node's module and build-id are those of the probe's code.
 */
struct graph_probe {
    uint32_t kind; /* enum loupe_site_kind; 0: the node comes from no probe */
    uint32_t site; /* in its unit */
    uint64_t unit; /* its id */
    /* Of a procedure's executions those that were called from this return address; NULL: all of
     * them; "": those from addresses that are not known. */
    char *caller, *caller_build_id; /* module */
    uint64_t caller_offset;
};

struct graph_node {
    uint32_t parent; /* GRAPH_NONE for the program */
    enum graph_kind kind;
    char *name;        /* "MPI_Send", the procedure's, the region's, the program's */
    char *file;        /* NULL: unknown */
    uint32_t line;     /* 0: unknown */
    uint32_t end_line; /* of a procedure or loop; 0: unknown */
    char *procedure;   /* that contains it; NULL: unknown or none */
    char *linkage;     /* linkage name of a procedure, NULL: unknown */
    uint32_t callee;   /* of a call: the procedure's node, or its group's; 0: not known */
    uint32_t group;    /* of procedures that call each other: the node that stands for all of them,
                          which is the parent of the others and has its own number here; 0: none */
    char *inlined; /* "a.c:12 < main.c:80": where the frames around it were inlined; NULL: none */
    /* Where it is in the binary, for looking it up again; NULL module: not known. */
    char *module;   /* path */
    char *build_id; /* hexadecimal */
    uint64_t offset;
    struct graph_probe probe; /* of nodes that come straight from a segment */
    uint64_t key;             /* of those: what stands for it in a plan (record/plan.h); 0: none */
};

struct graph {
    struct graph_node *nodes; /* [0] is the program; a parent stands before its children */
    size_t count, room;
};

const char *graph_kind_name(enum graph_kind kind);
/* -1 if there is no such kind. */
int graph_kind_by_name(const char *name);

/* Adds a node; strings are copied, any may be NULL. Returns its number. */
uint32_t graph_add(struct graph *g, const struct graph_node *node);
void graph_free(struct graph *g);

#endif
