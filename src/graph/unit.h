/* SPDX-License-Identifier: MIT */
/*
 * The static tables of one compilation, as `loupe cc` finds them in a source and puts them into the
 * object file (section UNIT_SECTION, not loaded at run time; the linker joins those of all object
 * files). Text, so that it can be read with objcopy, in one block per unit:
 *
 *     loupe-unit 1 ID SITES BYTES            BYTES: length of what follows this line
 *     d<TAB>directory<TAB>source             where the compiler ran, and the file it was given
 *     f<TAB>path                             files, numbered from 0, as the compiler names them
 *     p<TAB>parent<TAB>site<TAB>iterations<TAB>file<TAB>line<TAB>end
 * line<TAB>flags<TAB>name<TAB>linkage l, c, m                                the same for loops,
 * calls, communications
 *
 * Numbers are decimal, ID is hexadecimal, "-" is none; tab, newline and backslash in names are
 * written as \t, \n and \\. A parent stands before its children.
 */
#ifndef LOUPE_GRAPH_UNIT_H
#define LOUPE_GRAPH_UNIT_H

#include "base/strbuf.h"
#include "graph/graph.h"

#include <stdbool.h>

#define UNIT_SECTION ".loupe.graph"
#define UNIT_FORMAT  1

enum unit_flag {
    UNIT_POINTER = 1 << 0,   /* call through a pointer or virtual: name is how it is written */
    UNIT_STATIC = 1 << 1,    /* procedure with internal linkage: linkage has "@ID" at its end */
    UNIT_ALONE = 1 << 2,     /* left alone: no probe, by rule or by filter */
    UNIT_MACRO = 1 << 3,     /* stands in a macro */
    UNIT_SYSTEM = 1 << 4,    /* call of a procedure that a system header declares */
    UNIT_SOLE = 1 << 5,      /* the only call of a procedure: its site is the procedure's */
    UNIT_RECURSIVE = 1 << 6, /* call of the procedure it stands in, without a probe; procedure: what
                                its other callers did not make of its entries are such calls */
    UNIT_INSERTED = 1 << 7,  /* procedure: its probe is in the machine code, and all its entries are
                                known by their return addresses */
};

struct unit_node {
    enum graph_kind kind; /* procedure, loop, call, communication */
    uint32_t parent;      /* among the unit's nodes; GRAPH_NONE: procedures */
    uint32_t site;        /* its cell; GRAPH_NONE: no probe */
    uint32_t iterations;  /* of a loop: the cell that counts them; GRAPH_NONE: not counted */
    uint32_t file, line, end_line;
    uint32_t flags; /* enum unit_flag */
    char *name;     /* procedure: as written ("Solver::run"); loop: "for", "while", "do"; call: the
                       procedure called; communication: "MPI_Send" */
    char *linkage; /* procedure: its linkage name; call: that of the procedure called; NULL: none */
};

struct unit {
    uint64_t id;
    uint32_t sites;
    char *directory, *source;
    char **files;
    size_t file_count, file_room;
    struct unit_node *nodes;
    size_t count, room;
};

/* The number of a file of the unit; adds it if it is new. */
uint32_t unit_file(struct unit *unit, const char *path);
/* Adds a node, strings copied; returns its number. */
uint32_t unit_add(struct unit *unit, const struct unit_node *node);
void unit_free(struct unit *unit); /* what it holds, not the unit itself */

/* The key of a procedure in a site table (loupe-probe.h), from its linkage name. */
uint64_t unit_key(const char *linkage);

/* Is a call of this name a communication statement: MPI_Send, PMPI_Wait? */
bool unit_communication(const char *name);

void unit_encode(const struct unit *unit, struct strbuf *out);
/* Reads the block at the start of `text` and says in `used` how long it is. Zero bytes before it
 * (a linker's padding) belong to it. -ENODATA: nothing but padding; -EPROTO: not such a block, or
 * damaged; -ENOTSUP: another format. The text is not trusted. */
int unit_decode(const char *text, size_t length, struct unit *unit, size_t *used);

#endif
