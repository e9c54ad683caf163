/* SPDX-License-Identifier: MIT */
/*
 * Text tables: columns as wide as their cells, numbers to the right, fitted to a width by dropping
 * the columns that matter least and cutting the one that may be cut. Knows nothing about runs.
 */
#ifndef LOUPE_VIEW_TABLE_H
#define LOUPE_VIEW_TABLE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

enum table_style { TABLE_PLAIN, TABLE_HEAD, TABLE_HOT, TABLE_WARM, TABLE_FAINT, TABLE_STYLES };

struct table_column {
    const char *title;
    bool left;  /* to the left; numbers stand to the right */
    int drop;   /* 0: always there; else the column with the lowest number goes first */
    int shrink; /* 0: never cut; else the least width it is cut to before columns are dropped */
};

struct table;

/* Takes the column of this title out; the number that is left. NULL: none. */
size_t table_without(struct table_column *columns, size_t count, const char *title);

struct table *table_new(const struct table_column *columns, size_t count);
void table_free(struct table *table); /* accepts NULL */
/* The next cell, row by row. What is not printable becomes '?'. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What the cell added last says where its text would be cut, to be cut itself if need be. Takes
 * `text` over; NULL: nothing shorter says it. */
void table_brief(struct table *table, char *text);
/* How the cell added last ends, which is not cut where its beginning can be cut instead. */
void table_keep(struct table *table, const char *end);
/* Colour of the cell added last. */
void table_style(struct table *table, enum table_style style);
void table_print(const struct table *table, int width, bool color, struct strbuf *out);

/* Columns that UTF-8 text takes on a terminal. */
int table_width(const char *text);
/* Adds text, cut to `width` columns with ".." at the end if it is longer; never inside a
 * character. Control characters and bytes that are not UTF-8 become '?', as names come from
 * outside and a terminal obeys escapes. Returns the columns it took. */
int table_text(struct strbuf *out, const char *text, int width);
/* Adds `text` as lines of at most `width` columns; the first begins with `first`, the others are
 * indented as far. */
void table_wrap(struct strbuf *out, const char *first, const char *text, int width);
/* Begins and ends a coloured stretch. */
void table_color(struct strbuf *out, enum table_style style, bool color);

#endif
