/* SPDX-License-Identifier: MIT */
/* Which nodes of the graph the items of the critical path are. For structure.c. */
#ifndef LOUPE_VIEW_PATH_NODES_H
#define LOUPE_VIEW_PATH_NODES_H

#include "metric/run.h"

/* Nodes that have a key in the plan, as they are found. */
struct path_nodes { /* zeroed: none */
    struct path_node {
        uint64_t key;
        uint32_t node; /* of the structured graph */
        uint32_t item; /* that it is part of, once that is known */
    } * list;
    size_t count, room;
};

/* One that a key stands for; 0 and GRAPH_NONE are none. */
void path_nodes_add(struct path_nodes *nodes, uint64_t key, uint32_t node);
/* Procedures have their key by name. */
void path_nodes_procedures(struct path_nodes *nodes, const struct graph *graph);
/* Gives the run's items their nodes, or a name where an item is several; once the values of the
 * graph are there. Empties the list. */
void path_nodes_settle(struct path_nodes *nodes, struct run *run);

#endif
