/* SPDX-License-Identifier: MIT */
/* The parts of a text report; report.c puts them together. */
#ifndef LOUPE_VIEW_PARTS_H
#define LOUPE_VIEW_PARTS_H

#include "view/outline.h"
#include "view/query.h"
#include "view/report.h"
#include "view/table.h"

/* Options with the defaults filled in. */
struct part {
    const struct run *run;
    int top;      /* INT_MAX: all */
    bool limited; /* somebody asked for that number */
    bool full;    /* nothing is folded or left out */
    int width;
    bool color;
    struct strbuf *out;
    struct view_lines *lines; /* NULL: nobody asks which line shows which node */
};

void part_summary(const struct part *p);
void part_top_down(const struct part *p);
void part_program(const struct part *p);
void part_procedures(const struct part *p);
void part_communications(const struct part *p);
void part_others(const struct part *p, enum graph_kind kind); /* loops, calls */
/* The same of programs with probes: their procedures, loops and calls are timed themselves. */
void part_tree(const struct part *p);
void part_timed_procedures(const struct part *p);
void part_timed(const struct part *p, const struct outline *o, enum graph_kind kind);
/* The procedures with the most self time. */
void part_self(const struct part *p, size_t most);
/* The time inside MPI, and what is not known of it. */
void part_mpi(const struct part *p, const char *label);
/* What stands above a node up to the start of the program, and below it. */
void part_around(const struct part *p, const struct outline *o, uint32_t node);
/* One procedure, with its callers below it. */
void part_callers(const struct part *p, const struct outline *o, uint32_t procedure);
/* -ENOENT as view_text. */
int part_source(const struct part *p, const char *file);
void part_ranks(const struct part *p);
void part_matrix(const struct part *p);
/* Who waited for whom. */
void part_waits(const struct part *p);
/* The critical path. */
void part_path(const struct part *p);
/* What of the statements' waiting and order is not sure, at most so many statements of each. */
void part_doubts(const struct part *p, size_t most);
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
/* Two cells: waiting and transfer in it. */
void part_split(struct table *t, const struct run *run, const struct query_item *item);
/* How much of the time inside MPI is waiting. */
void cell_waiting(struct table *t, const struct run *run, const struct query_item *item);
void cell_count(struct table *t, uint64_t count);
void cell_bytes(struct table *t, uint64_t bytes);
void cell_spread(struct table *t, const struct query_item *item);
/* An estimate is marked; a time that is not known is 0 and shown as none. */
void cell_estimate(struct table *t, double seconds, bool estimated);
/* A time of what has these totals; marked if they are estimated. */
void cell_total(struct table *t, const struct run_value *total, double seconds);
/* Half the interval of an estimate, nothing for what is exact. */
void cell_error(struct table *t, const struct run_value *value);
void cell_outline(struct table *t, const struct outline *o, uint32_t node, int indent,
                  const char *note);
struct outline_cell {
    const char *note; /* follows the name; NULL: none */
    bool within;      /* say which procedure it is in */
    bool bare;        /* do not say that a procedure is one */
};
/* Takes `before` over, which stands before the name. */
void cell_outline_with(struct table *t, const struct outline *o, uint32_t node, char *before,
                       struct outline_cell how);
/* A sentence below a table, on as many lines as it needs. */
void part_note(const struct part *p, const char *text);
/* What the mark of an estimate means, if a communication has one. */
void part_estimates(const struct part *p);
/* What the marks mean, where there are any. */
void part_legend(const struct part *p, const struct outline *o);
/* The next row of a table shows this node; part_table prints such a table. */
void part_line(const struct part *p, uint32_t node);
void part_table(const struct part *p, const struct table *t);
void cell_node(struct table *t, const struct graph_node *node, int indent);

#endif
