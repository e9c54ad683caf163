/* SPDX-License-Identifier: MIT */
/*
 * What is known of one compilation: its files, and the constructs found in them (procedures, loops,
 * calls, communications) in the order of the source, each after the one that contains it.
 * parse.c fills in the files, walk.c the constructs, decide.c says which of them get probes.
 */
#ifndef LOUPE_SOURCE_SOURCE_H
#define LOUPE_SOURCE_SOURCE_H

#include "base/map.h"
#include "graph/unit.h"
#include "source/filter.h"
#include "source/text.h"

#include <clang-c/Index.h>
#include <loupe-probe.h>

struct construct {
    enum graph_kind kind;
    uint32_t parent;   /* GRAPH_NONE: procedure */
    const char *quiet; /* why it has no probe; NULL: it has one */
    uint32_t flags;    /* enum unit_flag */
    char *name, *linkage;
    char *file; /* where the compiler says that it is, after #line directives */
    uint32_t line, end_line;
    struct text *text;    /* in which it is written; NULL: nowhere that could be changed */
    uint32_t start, end;  /* there */
    uint32_t open, close; /* where the probe is put, and what ends with it */
    uint32_t body_open, body_close; /* of a loop's body, with its semicolon; equal: not known */
    bool statement;                 /* call: alone in a statement, which open and close are of */
    bool small;                     /* loop: few turns, known to the compiler */
    bool leaf;                 /* procedure: few statements; decide.c sees that nothing is called */
    bool calls;                /* something is called in it, probe or not */
    bool measures;             /* loop: something in it has a probe of its own, or communicates */
    unsigned parts;            /* loops and calls directly in it */
    bool busy;                 /* loop: there is one with a probe in it */
    bool turned;               /* loop: something with a probe is executed once in each turn */
    bool counts;               /* loop: it has a probe for its turns */
    bool implicit;             /* call: nobody wrote it (constructors, operators) */
    bool pattern;              /* procedure: a template, or in one */
    bool bounded;              /* procedure: only this unit can name it */
    bool cleans;               /* procedure: a cleanup attribute could name it */
    bool sole;                 /* procedure: one statement calls it; call: it is that one */
    bool recursive;            /* procedure: its other callers have probes; call: one of itself */
    bool counted;              /* such a procedure: those are statements, which are timed */
    CXCursor declaration;      /* procedure: its first */
    uint32_t target, callers;  /* uses.c: what it calls; how many statements call it */
    bool always;               /* procedure: main, and what --all does not change */
    uint32_t procedure;        /* that contains it; of a procedure, itself */
    uint32_t turn;             /* loop whose every turn executes it once; GRAPH_NONE: none */
    uint32_t site, iterations; /* GRAPH_NONE: none */
};

struct callee { /* a procedure that is called or defined, by its declaration */
    CXCursor declaration;
    char *name, *linkage;
    uint32_t flags;
    const char *quiet;  /* why calls of it have no probe */
    const char *alone;  /* why its body has none */
    bool twice;         /* setjmp and its like */
    bool communication; /* MPI */
    bool bound;         /* an attribute makes others than those who name it call it */
};

struct source {
    const char *name; /* as the compiler was given it */
    const char *output, *probe_header;
    uint64_t id;
    bool cplusplus, all;
    struct filter filter;
    CXIndex index;
    CXTranslationUnit unit;
    struct text **texts;
    size_t text_count, text_room;
    struct construct *constructs;
    size_t count, room;
    struct callee *callees;
    size_t callee_count, callee_room;
    struct map callee_map;
    uint32_t sites;
};

/* parse.c: NULL, or why it is not possible (owned by the caller). */
char *source_parse(struct source *source, const char *const *arguments, int count);
/* The text of a file, with its tokens; NULL: there is none. */
struct text *source_text(struct source *source, CXFile file);
/* Is it in a header of the system, however the compiler was told to find it? */
bool source_system(CXSourceLocation at);
void source_free(struct source *source);

/* walk.c */
void source_walk(struct source *source);
/* decide.c: probes, sites, and what is inserted. */
void source_decide(struct source *source);
/* uses.c: calls that need no probe, as the entries of what they call are theirs. */
void source_uses(struct source *source);
/* write.c: the files below `output`; 0 or -errno. */
int source_write(struct source *source);
/* table.c: the static tables. */
void source_tables(const struct source *source, struct unit *unit);
/* 0 or -errno. */
int source_write_unit(const struct source *source);

#endif
