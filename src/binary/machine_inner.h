/* SPDX-License-Identifier: MIT */
/* What the parts of machine.c share: all that is known while the tables are made, and one procedure
 * of the machine code at a time. */
#ifndef LOUPE_BINARY_MACHINE_INNER_H
#define LOUPE_BINARY_MACHINE_INNER_H

#include "base/map.h"
#include "binary/code_inner.h"
#include "binary/inlined.h"
#include "binary/machine.h"
#include "binary/tables.h"

struct machine_loop { /* of one procedure; by number in it */
    uint32_t scope;   /* the innermost that all its code was inlined into */
    uint32_t line, end_line;
    uint32_t node; /* in the unit; GRAPH_NONE: none yet */
};

struct machine_place {
    const char *path; /* NULL: not known */
    uint32_t line;
};

struct machine_body {
    const struct code *code;
    const struct code_function *function;
    const struct code_lines *lines;
    const struct inlined_reader *reader;
    struct inlined inlined; /* no scopes: DWARF does not have it */
    struct machine_loop *loops;
    const uint32_t *ranges; /* of its loops, in code->ranges */
    size_t range_count;
};

struct machine_placed { /* a procedure of the source in the tables */
    size_t unit;
    uint32_t node;  /* GRAPH_NONE: not there yet */
    bool has_copy;  /* not only inlined: what is in it is taken from there */
    uint32_t loops; /* of it, last first; in `known` */
};

struct machine_known {
    uint32_t node, next;
};

struct machine_maker {
    struct tables *tables;
    struct module module;
    struct code *code;
    struct code_lines *lines;
    struct inlined_reader *reader;
    bool all;
    char *directory, *binary;
    size_t *unit_of; /* by compilation unit; SIZE_MAX: none yet; the last: for what has none */
    size_t unit_room;
    uint32_t *root; /* by function: its procedure; INLINED_NONE: DWARF does not have it */
    struct machine_placed *placed;
    size_t placed_count, placed_room;
    struct machine_known *known;
    size_t known_count, known_room;
    uint32_t *ranges, *first_range; /* ranges of loops by function */
    bool *doubled;                  /* by function: one before has the same name */
    struct machine_symbol {
        const char *name;
        size_t length;
        uint32_t function;
    } * symbols; /* linkage names and aliases */
    size_t symbol_count, symbol_room;
    struct map by_symbol;
    uint32_t sites;
};

/* One procedure of the machine code. */
struct machine_nodes {
    struct machine_body b;
    size_t unit;
    uint32_t *nodes;    /* of scopes */
    uint32_t *in_loops; /* of scopes: the loop of the scope around it that it stands in */
    bool *skip;         /* scopes whose contents are taken from a copy of its own */
    bool *loop_probe;   /* by loop */
};

/* machine_nodes.c */
struct machine_placed *machine_placed_of(struct machine_maker *m, uint32_t procedure);
struct unit *machine_unit(const struct machine_maker *m, const struct machine_nodes *x);
bool machine_can_have_probe(const struct code_point *point);
/* The node of a procedure of the source. */
uint32_t machine_procedure(struct machine_maker *m, size_t unit, uint32_t procedure);
/* Of one that DWARF does not have. */
uint32_t machine_unnamed(struct machine_maker *m, size_t unit, const struct machine_body *body);
uint32_t machine_loop_node(struct machine_maker *m, struct machine_nodes *x, uint32_t loop);
/* Adds a call or tail call; other points, and what is left out, add nothing. */
void machine_call(struct machine_maker *m, struct machine_nodes *x, const struct code_point *point);
/* The call of a procedure that was inlined. */
void machine_inlined_call(struct machine_maker *m, struct machine_nodes *x, uint32_t scope);

/* machine_source.c: "for", "while" and "do" by the source, where it is there. */
void machine_name_loops(const struct tables *tables, const char *binary);

/* machine_names.c */
bool machine_hidden(const char *name);           /* calls that nobody has written */
char *machine_communication(const char *symbol); /* its name, to be freed; NULL: it is none */
char *machine_without_parameters(char *name);    /* cuts a demangled name short */

/* machine_lines.c */
struct machine_place machine_place(const struct machine_body *body, uint64_t address);
/* The loop around a loop, both by their numbers in the procedure; CODE_NONE. */
uint32_t machine_loop_around(const struct machine_body *body, uint32_t loop);
/* Scopes and lines of all loops. */
void machine_loops(struct machine_body *body);
/* Calls `take` for each line of the procedure's code, with the scope that it belongs to. */
typedef void machine_take(void *data, uint32_t scope, const struct code_line *line);
void machine_rows(const struct machine_body *body, uint64_t start, uint64_t end, machine_take *take,
                  void *data);
/* The innermost loop at an address whose code belongs to this scope; CODE_NONE. */
uint32_t machine_loop_in(const struct machine_body *body, uint64_t address, uint32_t scope);

#endif
