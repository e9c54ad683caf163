/* SPDX-License-Identifier: MIT */
/*
 * The static tables of all units of a program as one graph. What has the same identity (kind, name,
 * file, line, and the same place in it) in several units, as procedures of headers have, is one
 * node.
 */
#ifndef LOUPE_GRAPH_PROGRAM_H
#define LOUPE_GRAPH_PROGRAM_H

#include "base/map.h"
#include "graph/unit.h"

struct program_node {
    enum graph_kind kind; /* procedure, loop, call, communication */
    uint32_t parent;      /* GRAPH_NONE: procedures; else it stands before */
    uint32_t procedure;   /* it stands in; of a procedure itself */
    uint32_t callee; /* of a call: the procedure's node; GRAPH_NONE: not known or none of ours */
    uint32_t module; /* of the first unit that has it */
    uint32_t line, end_line;
    uint32_t flags; /* enum unit_flag, of all units together */
    bool mixed;     /* some unit has it without UNIT_RECURSIVE */
    bool probe;     /* has a site in some unit */
    char *name;
    const char *file; /* as a person would type it; in full if that would mean two files */
    const char *path; /* in full */
    char *linkage;    /* of a call: that of the procedure called; NULL: none */
};

struct program_file {
    char *path, *shown;
    bool doubled; /* another file is shown by the same name */
};

struct program_site {
    uint64_t unit;
    uint32_t module, site;
    uint32_t node; /* whose executions it counts; GRAPH_NONE: none */
    uint32_t sole; /* the only call of the procedure that `node` is; GRAPH_NONE: not so */
    uint32_t loop; /* whose iterations it counts; GRAPH_NONE: none */
};

struct program { /* zeroed: empty */
    struct program_node *nodes;
    size_t count, room;
    struct program_file **files;
    size_t file_count, file_room;
    struct program_site *sites;
    size_t site_count, site_room;
    struct program_linkage {
        char *name;
        uint32_t module, node;
    } * linkages;
    size_t linkage_count, linkage_room;
    struct map node_map, file_map, site_map, linkage_map, line_map;
};

/* Adds a unit of a module; the caller numbers modules. */
void program_add(struct program *program, uint32_t module, const struct unit *unit);
/* Finds callees and names of files, once all units are there. */
void program_finish(struct program *program);
void program_free(struct program *program); /* what it holds */

/* All nodes as they are written: procedures by file and line, behind each what is in it. free() */
uint32_t *program_order(const struct program *program);

/* The nodes that a site counts for; NULL: there is no such site. */
const struct program_site *program_site(const struct program *program, uint32_t module,
                                        uint64_t unit, uint32_t site);

/* Calls `take` for each node that begins on this line of a file, until it returns true; then the
 * node, else GRAPH_NONE. `path` is the file in full, `shown` as program_node.file; NULL: any. */
typedef bool program_take(const struct program *program, uint32_t node, void *data);
uint32_t program_at(const struct program *program, const char *path, const char *shown,
                    uint32_t line, program_take *take, void *data);

#endif
