/* SPDX-License-Identifier: MIT */
/* Who made whom wait, as text: in full for few ranks, the greatest for many. */
#include "view/format.h"
#include "view/grid.h"
#include "view/matrix.h"
#include "view/parts.h"
#include "view/waits.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static double waited(const struct matrix_pair *pair)
{
    return pair->time;
}

static char *time_text(char to[FORMAT_ROOM], double seconds)
{
    return seconds > 0 ? format_time(to, seconds) : NULL;
}

static const struct grid who_waited = {"who waited for whom", "waits \\ for", waited, time_text};

static void worst_pairs(const struct part *p, struct matrix *m)
{
    static const struct table_column columns[] = {{.title = "rank"},
                                                  {.title = "waited for"},
                                                  {.title = "time"},
                                                  {.title = "of it"},
                                                  {.title = "at", .left = true, .shrink = 20}};
    struct table *t = table_new(columns, COUNT(columns));
    qsort(m->pairs, m->count, sizeof *m->pairs, matrix_longest_first);
    for (size_t i = 0; i < m->count && i < (size_t)p->top; i++) {
        const struct matrix_pair *pair = &m->pairs[i];
        char name[FORMAT_ROOM];
        table_cell(t, "%s", matrix_end_name(name, p->run, pair->from));
        table_cell(t, "%s", matrix_end_name(name, p->run, pair->to));
        cell_time(t, pair->time);
        table_cell(t, "%s", format_percent(name, pair->most / pair->time));
        cell_node(t, &p->run->graph.nodes[pair->node], 0);
    }
    part_title(p, "the longest waits, and where most of each was");
    table_print(t, p->width, p->color, p->out);
    part_more(p, (size_t)p->top, m->count, "pairs (--top shows more)");
    table_free(t);
}

struct totals {
    int32_t end;
    double waited, caused;
};

static int by_caused(const void *pa, const void *pb)
{
    const struct totals *a = pa, *b = pb;
    if (a->caused != b->caused)
        return a->caused > b->caused ? -1 : 1;
    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static void rank_totals(const struct part *p, const struct matrix *m)
{
    static const struct table_column columns[] = {
        {.title = "rank"}, {.title = "was waited for"}, {.title = "waited itself"}};
    size_t count = matrix_places(p->run);
    struct totals *totals = xcalloc(count, sizeof *totals);
    for (size_t i = 0; i < count; i++)
        totals[i].end = matrix_end_at(i, count);
    for (size_t i = 0; i < m->count; i++) {
        const struct matrix_pair *pair = &m->pairs[i];
        totals[pair->from].waited += pair->time;
        totals[matrix_place(pair->to, count)].caused += pair->time;
    }
    qsort(totals, count, sizeof *totals, by_caused);
    struct table *t = table_new(columns, COUNT(columns));
    size_t with = 0;
    for (size_t i = 0; i < count; i++) {
        char name[FORMAT_ROOM];
        if (!(totals[i].waited > 0) && !(totals[i].caused > 0))
            continue;
        if (with++ >= (size_t)p->top)
            continue;
        table_cell(t, "%s", matrix_end_name(name, p->run, totals[i].end));
        cell_time(t, totals[i].caused);
        cell_time(t, totals[i].waited);
    }
    part_title(p, "the ranks that were waited for most");
    table_print(t, p->width, p->color, p->out);
    part_more(p, (size_t)p->top, with, "ranks (--top shows more)");
    table_free(t);
    free(totals);
}

void part_waits(const struct part *p)
{
    struct matrix m;
    struct wait *waits;
    matrix_waits(p->run, &m);
    if (!m.count) {
        strbuf_puts(p->out, "nobody was seen to wait for another\n");
    } else if (p->run->rank_count <= MATRIX_FULL) {
        grid_print(p, &m, &who_waited);
    } else {
        rank_totals(p, &m);
    }
    if (m.count)
        worst_pairs(p, &m);
    size_t count = waits_list(p->run, &waits);
    if (count)
        part_title(p, "the statements that waited most");
    for (size_t i = 0; i < count && i < (size_t)p->top; i++) {
        struct strbuf text = {0};
        wait_sentence(p->run, &waits[i], &text);
        part_note(p, text.text);
        strbuf_free(&text);
    }
    part_more(p, (size_t)p->top, count, "statements (--top shows more)");
    free(waits);
    matrix_free(&m);
}
