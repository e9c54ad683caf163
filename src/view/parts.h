/* SPDX-License-Identifier: MIT */
/* The parts of a text report; report.c puts them together. */
#ifndef LOUPE_VIEW_PARTS_H
#define LOUPE_VIEW_PARTS_H

#include "view/query.h"
#include "view/report.h"
#include "view/table.h"

/* Options with the defaults filled in. */
struct part {
    const struct run *run;
    int top; /* INT_MAX: all */
    int width;
    bool color;
    struct strbuf *out;
};

void part_summary(const struct part *p);
void part_top_down(const struct part *p);
void part_program(const struct part *p);
void part_procedures(const struct part *p);
void part_communications(const struct part *p);
void part_others(const struct part *p, enum graph_kind kind); /* loops, calls */
void part_ranks(const struct part *p);
void part_matrix(const struct part *p);
/* All that is known about one statement. */
void part_node(const struct part *p, uint32_t node);
/* -ENOENT as view_text. */
int part_at(const struct part *p, const char *file, uint32_t line);

/* A title in the report's manner, with an empty line before it unless it is the first. */
void part_title(const struct part *p, const char *title);
/* "... and 5 more" if `count` is beyond `shown`. */
void part_more(const struct part *p, size_t shown, size_t count, const char *what);
void part_warnings(const struct part *p, size_t most);

/* Cells that several tables have. */
void cell_share(struct table *t, double share);
void cell_time(struct table *t, double seconds);
void cell_count(struct table *t, uint64_t count);
void cell_bytes(struct table *t, uint64_t bytes);
void cell_spread(struct table *t, const struct query_item *item);
void cell_node(struct table *t, const struct graph_node *node, int indent);

#endif
