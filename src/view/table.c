/* SPDX-License-Identifier: MIT */
#include "view/table.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, BEGINNING = 16 };

struct cell {
    char *text;
    char *brief; /* instead of a text that must be cut; NULL: cut the text */
    char *end;   /* of either text, not to be cut; NULL: nothing is worth more than the rest */
    int width;
    enum table_style style;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    struct cell *cells;
    size_t cell_count, cell_room;
};

size_t table_without(struct table_column *columns, size_t count, const char *title)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!title || strcmp(columns[i].title, title) != 0)
            columns[kept++] = columns[i];
    return kept;
}

struct table *table_new(const struct table_column *columns, size_t count)
{
    struct table *t = xcalloc(1, sizeof *t);
    t->columns = columns;
    t->column_count = count;
    return t;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i].text);
        free(table->cells[i].brief);
        free(table->cells[i].end);
    }
    free(table->cells);
    free(table);
}

void table_cell(struct table *table, const char *format, ...)
{
    struct strbuf text = {0};
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    struct cell *cell = VEC_PUSH(table->cells, table->cell_count, table->cell_room);
    cell->text = strbuf_take(&text);
    cell->width = table_width(cell->text);
}

void table_brief(struct table *table, char *text)
{
    struct cell *cell = table->cell_count ? &table->cells[table->cell_count - 1] : NULL;
    if (cell && !cell->brief)
        cell->brief = text;
    else
        free(text);
}

void table_keep(struct table *table, const char *end)
{
    struct cell *cell = table->cell_count ? &table->cells[table->cell_count - 1] : NULL;
    if (cell && !cell->end && *end)
        cell->end = xstrdup(end);
}

void table_style(struct table *table, enum table_style style)
{
    if (table->cell_count)
        table->cells[table->cell_count - 1].style = style;
}

void table_color(struct strbuf *out, enum table_style style, bool color)
{
    static const char *const codes[TABLE_STYLES] = {"\033[0m", "\033[1m", "\033[31m", "\033[33m",
                                                    "\033[2m"};
    if (color)
        strbuf_puts(out, codes[style]);
}

static int total_width(const struct table *t, const int *widths)
{
    int total = -GAP;
    for (size_t c = 0; c < t->column_count; c++)
        total += widths[c] >= 0 ? widths[c] + GAP : 0;
    return total;
}

/* Cuts the columns that may be cut until `total` fits, each down to its least width. */
static int shrink(const struct table *t, int *widths, int width)
{
    int total = total_width(t, widths);
    for (size_t c = 0; c < t->column_count && total > width; c++) {
        if (widths[c] < 0 || !t->columns[c].shrink || widths[c] <= t->columns[c].shrink)
            continue;
        int less = widths[c] - t->columns[c].shrink;
        less = less < total - width ? less : total - width;
        widths[c] -= less;
        total -= less;
    }
    return total;
}

/* The column to go next, or the number of columns when none may go. */
static size_t least_wanted(const struct table *t, const int *widths)
{
    size_t least = t->column_count;
    for (size_t c = 0; c < t->column_count; c++)
        if (widths[c] >= 0 && t->columns[c].drop &&
            (least == t->column_count || t->columns[c].drop < t->columns[least].drop))
            least = c;
    return least;
}

/* -1: the column is dropped. */
static void fit(const struct table *t, int *widths, int width)
{
    int *natural = xcalloc(t->column_count, sizeof *natural);
    for (size_t c = 0; c < t->column_count; c++)
        natural[c] = table_width(t->columns[c].title);
    for (size_t i = 0, c = 0; i < t->cell_count; i++, c = c + 1 < t->column_count ? c + 1 : 0)
        natural[c] = t->cells[i].width > natural[c] ? t->cells[i].width : natural[c];
    for (size_t c = 0; c < t->column_count; c++)
        widths[c] = natural[c];
    while (shrink(t, widths, width) > width) {
        size_t drop = least_wanted(t, widths);
        if (drop == t->column_count)
            break;
        natural[drop] = -1;
        for (size_t c = 0; c < t->column_count; c++)
            widths[c] = natural[c];
    }
    free(natural);
}

/* Cut before its end, if the text has that end and it leaves room for a beginning. */
static void put_cut(struct strbuf *out, const char *text, const char *end, int width)
{
    size_t len = strlen(text), end_len = strlen(end);
    int end_width = table_width(end), least = (int)strspn(text, " ") + BEGINNING;
    if (end_len >= len || strcmp(text + len - end_len, end) || end_width + least > width) {
        table_text(out, text, width);
        return;
    }
    struct strbuf begin = {0};
    strbuf_add(&begin, text, len - end_len);
    table_text(out, begin.text, width - end_width);
    table_text(out, end, end_width);
    strbuf_free(&begin);
}

static void put(struct strbuf *out, const char *text, const struct cell *cell, bool color, int pad,
                int width)
{
    enum table_style style = cell ? cell->style : TABLE_HEAD;
    strbuf_printf(out, "%*s", pad, "");
    if (style != TABLE_PLAIN)
        table_color(out, style, color);
    if (cell && cell->end && table_width(text) > width)
        put_cut(out, text, cell->end, width);
    else
        table_text(out, text, width);
    if (style != TABLE_PLAIN)
        table_color(out, TABLE_PLAIN, color);
}

static void print_row(const struct table *t, const int *widths, const struct cell *row, bool color,
                      struct strbuf *out)
{
    int owed = 0; /* blanks before the next cell: none are left at the end of a line */
    bool first = true;
    for (size_t c = 0; c < t->column_count; c++) {
        if (widths[c] < 0)
            continue;
        const char *text = row ? row[c].text : t->columns[c].title;
        int cell = row ? row[c].width : table_width(text);
        if (row && row[c].brief && cell > widths[c]) {
            text = row[c].brief;
            cell = table_width(text);
        }
        cell = cell < widths[c] ? cell : widths[c];
        int before = t->columns[c].left ? 0 : widths[c] - cell;
        owed += first ? 0 : GAP;
        first = false;
        if (cell)
            put(out, text, row ? &row[c] : NULL, color, owed + before, widths[c]);
        owed = cell ? widths[c] - cell - before : owed + widths[c];
    }
    strbuf_putc(out, '\n');
}

void table_print(const struct table *table, int width, bool color, struct strbuf *out)
{
    int *widths = xcalloc(table->column_count, sizeof *widths);
    fit(table, widths, width);
    print_row(table, widths, NULL, color, out);
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count)
        print_row(table, widths, &table->cells[i], color, out);
    free(widths);
}
