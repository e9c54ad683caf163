/* SPDX-License-Identifier: MIT */
/* The walk through the compiler's tree: declarations (walk.c), statements (statement.c), loops
 * (loop.c) and expressions (expression.c). */
#ifndef LOUPE_SOURCE_WALK_H
#define LOUPE_SOURCE_WALK_H

#include "source/jumps.h"
#include "source/place.h"
#include "source/source.h"

struct walker {
    struct source *source;
    uint32_t procedure, parent; /* constructs; GRAPH_NONE: outside of all */
    const char *quiet;          /* nothing here gets a probe, because */
    bool constant;              /* the compiler may evaluate it */
    struct jumps *jumps;        /* of the procedure */
    unsigned *statements;       /* number of them in the procedure */
    bool *assembler;            /* it has some */
    CXCursor nested;            /* this loop is all of the body of one under an OpenMP pragma */
    bool loops_alone;           /* so may be all loops here */
    /* Every turn of this loop comes here once, if it has left nothing out; GRAPH_NONE: not so. */
    uint32_t turn;
    unsigned *leaves; /* number of places in the procedure so far that may skip what follows them */
    unsigned leaves_before; /* the loop's body */
};

struct children {
    CXCursor *all;
    size_t count, room;
};
struct children walk_children(CXCursor cursor);
void walk_children_free(struct children *children);

/* A new construct at a cursor, with what is common to all kinds; returns its number. */
uint32_t walk_add(struct walker *w, enum graph_kind kind, CXCursor cursor,
                  const struct place *place);
void walk_set_end(struct walker *w, uint32_t construct, CXCursor cursor);
/* The text in which the procedure's body is written, if it may be changed. */
const struct text *walk_text(const struct walker *w);
/* Does every turn of the loop come here? Then its number, else GRAPH_NONE. */
uint32_t walk_turn(const struct walker *w);
/* What stands here may skip what follows. */
void walk_leave(struct walker *w);

void walk_declaration(struct walker *w, CXCursor cursor);
void walk_procedure(struct walker *w, CXCursor cursor);
void walk_statement(struct walker *w, CXCursor cursor, const struct spot *spot);
void walk_compound(struct walker *w, CXCursor cursor, bool value);
bool walk_is_loop(enum CXCursorKind kind);
void walk_loop(struct walker *w, CXCursor cursor, const struct spot *spot);
void walk_expression(struct walker *w, CXCursor cursor);
/* Of a variable: what it is given at its declaration. */
void walk_variable(struct walker *w, CXCursor cursor);

#endif
