/* SPDX-License-Identifier: MIT */
/* What the live view knows: shared by its loop (top.c) and its pages (pages.c). */
#ifndef LOUPE_TUI_STATE_H
#define LOUPE_TUI_STATE_H

#include "metric/run.h"
#include "view/query.h"

#include <stdbool.h>

enum top_page { TOP_STATEMENTS, TOP_RANKS, TOP_PEERS, TOP_DETAIL, TOP_HELP };

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
    bool repaint; /* another page: draw all of it, whatever has come onto the screen */
    int error;    /* of the last reading */
    double interval;

    enum top_page page, back; /* `back`: where the detail was asked for */
    enum query_sort sort;
    size_t selected; /* among the statements */
    size_t scroll;
    struct graph_node detail; /* identity of the statement on the detail page; owns its strings */
};

/* Builds the page that is shown now, `width` columns wide. */
void top_page_lines(const struct top_state *state, int width, struct top_lines *lines);
void top_lines_free(struct top_lines *lines);
/* The two lines above every page. */
char *top_header(const struct top_state *state);
char *top_subheader(const struct top_state *state);
/* The node of `run` with the identity of `node`, or GRAPH_NONE; `hint` is tried first. */
uint32_t top_find(const struct run *run, const struct graph_node *node, uint32_t hint);

#endif
