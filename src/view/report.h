/* SPDX-License-Identifier: MIT */
/* Answers about a run, as text for people and as JSON for scripts. */
#ifndef LOUPE_VIEW_REPORT_H
#define LOUPE_VIEW_REPORT_H

#include "base/strbuf.h"
#include "metric/run.h"

#include <stdbool.h>
#include <stdio.h>

enum view_level {
    VIEW_SUMMARY, /* the one-screen report */
    VIEW_PROGRAM,
    VIEW_PROCEDURE,
    VIEW_LOOP,
    VIEW_CALL,
    VIEW_COMMUNICATION,
    VIEW_RANK,
    VIEW_PEER,     /* the communication matrix */
    VIEW_TOP_DOWN, /* what run it was, then the program's tree */
    VIEW_PATH,     /* the critical path */
    VIEW_LEVELS
};

struct view_lines;

struct view_options {
    enum view_level by;
    const char *at_file; /* --at FILE:LINE; NULL: not asked for */
    uint32_t at_line;
    const char *source;       /* --source FILE; NULL: not asked for */
    int top;                  /* rows; 0: the default of the level */
    bool waits;               /* with VIEW_PEER: who waited for whom instead */
    bool full;                /* text: nothing folded; JSON: all ranks and peers beyond 64 ranks */
    bool color;               /* only for a terminal */
    int width;                /* columns; 0: 100 */
    struct view_lines *lines; /* to be filled; NULL: not asked for */
};

/* Which node a line of a table shows, counted from the first line of the text; free() nodes. */
struct view_lines {
    uint32_t *nodes; /* GRAPH_NONE: the line shows none */
    size_t count, room;
};

/* Those that --by takes, for messages. */
#define VIEW_LEVELS_ASKED "summary, program, procedure, loop, call, communication, rank, peer"
/* -1: no such level. */
int view_level_by_name(const char *name);
/* --by, --source and --top do not change the JSON; --at leaves the statements there and what is
 * above them. -ENOENT: --at names nothing that is in the run (the message is in `out` then). The
 * same for --source. */
int view_text(const struct run *run, const struct view_options *options, struct strbuf *out);
/* What --at shows, of one node of the graph. */
void view_node(const struct run *run, uint32_t node, const struct view_options *options,
               struct strbuf *out);
/* Goes to `stream` piece by piece, if there is one, and what is left at the end is in `out`: the
 * JSON of many ranks is megabytes. Nothing is written when it fails. */
int view_json(const struct run *run, const struct view_options *options, FILE *stream,
              struct strbuf *out);

#endif
