/* SPDX-License-Identifier: MIT */
/* What the live view knows: shared by its loop (top.c) and its pages (pages.c). */
#ifndef LOUPE_TUI_STATE_H
#define LOUPE_TUI_STATE_H

#include "metric/run.h"
#include "view/query.h"

#include <stdbool.h>

enum top_page {
    TOP_STATEMENTS,
    TOP_RANKS,
    TOP_PEERS,
    TOP_WAITS,
    TOP_TREE,
    TOP_PROCEDURES,
    TOP_LOOPS,
    TOP_CALLS,
    TOP_PATH,   /* the critical path */
    TOP_SOURCE, /* a file, with the times beside its lines */
    TOP_AT,     /* what the user named by file and line */
    TOP_DETAIL,
    TOP_HELP,
    TOP_PAGES
};

/* A page as lines of text. */
struct top_lines {
    char **text;
    uint32_t *nodes; /* of lines that can be selected; GRAPH_NONE elsewhere */
    size_t count, room, node_room;
    size_t fixed; /* first lines, that do not scroll */
};

struct top_state {
    struct run *run, *before;  /* the last two readings; `before` is NULL at first */
    double read_at, before_at; /* seconds of the monotonic clock */
    bool paused, ended;
    bool switches; /* the critical path can be switched */
    bool repaint;  /* another page: draw all of it, whatever has come onto the screen */
    int error;     /* of the last reading */
    double interval;

    enum top_page page, back; /* `back`: where the detail was asked for */
    enum query_sort sort;
    size_t selected[TOP_PAGES]; /* lines below the fixed ones, where lines can be selected */
    size_t scroll;
    const char *at_file; /* of the page TOP_AT */
    uint32_t at_line;
    char *source;             /* of the page TOP_SOURCE; owned */
    bool seek;                /* the source page opens at `detail` */
    struct graph_node detail; /* identity of the statement on the detail page; owns its strings */
};

/* Lines of the page can lead to a detail. */
bool top_selectable(enum top_page page);
/* Builds the page that is shown now, `width` columns wide. */
void top_page_lines(const struct top_state *state, int width, struct top_lines *lines);
void top_lines_free(struct top_lines *lines);
/* The two lines above every page. */
char *top_header(const struct top_state *state);
char *top_subheader(const struct top_state *state);
/* The node of `run` with the identity of `node`, or GRAPH_NONE; `hint` is tried first. */
uint32_t top_find(const struct run *run, const struct graph_node *node, uint32_t hint);

#endif
