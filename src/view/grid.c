/* SPDX-License-Identifier: MIT */
#include "view/grid.h"

static void put(struct table *t, const struct grid *grid, double value)
{
    char room[FORMAT_ROOM];
    const char *text = grid->text(room, value);
    table_cell(t, "%s", text ? text : ".");
    if (!text)
        table_style(t, TABLE_FAINT);
}

static void head(struct table *t, const char *name)
{
    table_cell(t, "%s", name);
    table_style(t, TABLE_HEAD);
}

void grid_print(const struct part *p, const struct matrix *m, const struct grid *grid)
{
    int32_t from[MATRIX_FULL + 2], to[MATRIX_FULL + 2];
    size_t rows = matrix_ends(p->run, m, from, true), count = matrix_ends(p->run, m, to, false);
    char titles[MATRIX_FULL + 2][FORMAT_ROOM], name[FORMAT_ROOM];
    struct table_column columns[MATRIX_FULL + 4] = {{.title = grid->corner}};
    for (size_t c = 0; c < count; c++)
        columns[c + 1] = (struct table_column){.title = matrix_end_name(titles[c], p->run, to[c])};
    columns[count + 1] = (struct table_column){.title = "total"};
    struct table *t = table_new(columns, count + 2);
    double sums[MATRIX_FULL + 2] = {0}, total = 0;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        head(t, matrix_end_name(name, p->run, from[r]));
        for (size_t c = 0; c < count; c++) {
            const struct matrix_pair *pair = matrix_at(m, from[r], to[c]);
            double value = pair ? grid->value(pair) : 0;
            put(t, grid, value);
            sum += value;
            sums[c] += value;
        }
        put(t, grid, sum);
        total += sum;
    }
    head(t, "total");
    for (size_t c = 0; c < count; c++)
        put(t, grid, sums[c]);
    put(t, grid, total);
    part_title(p, grid->title);
    table_print(t, p->width, p->color, p->out);
    table_free(t);
}
