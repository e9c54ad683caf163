/* SPDX-License-Identifier: MIT */
/* The communication matrix as text: in full for few ranks, its greatest pairs for many. */
#include "view/format.h"
#include "view/matrix.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void number_cell(struct table *t, uint64_t number, bool bytes)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s",
               !number ? "."
               : bytes ? format_bytes_short(text, number)
                       : format_count(text, number));
    if (!number)
        table_style(t, TABLE_FAINT);
}

static void full(const struct part *p, const struct matrix *m, bool bytes)
{
    int32_t from[MATRIX_FULL + 2], to[MATRIX_FULL + 2];
    size_t rows = matrix_ends(p->run, m, from, true), count = matrix_ends(p->run, m, to, false);
    char titles[MATRIX_FULL + 2][FORMAT_ROOM], name[FORMAT_ROOM];
    struct table_column columns[MATRIX_FULL + 4] = {{.title = "from \\ to"}};
    for (size_t c = 0; c < count; c++)
        columns[c + 1] = (struct table_column){.title = matrix_end_name(titles[c], p->run, to[c])};
    columns[count + 1] = (struct table_column){.title = "total"};
    struct table *t = table_new(columns, count + 2);
    uint64_t sums[MATRIX_FULL + 2] = {0}, total = 0;
    for (size_t r = 0; r < rows; r++) {
        uint64_t sum = 0;
        table_cell(t, "%s", matrix_end_name(name, p->run, from[r]));
        table_style(t, TABLE_HEAD);
        for (size_t c = 0; c < count; c++) {
            const struct matrix_pair *pair = matrix_at(m, from[r], to[c]);
            uint64_t number = !pair ? 0 : bytes ? pair->bytes : pair->count;
            number_cell(t, number, bytes);
            sum += number;
            sums[c] += number;
        }
        number_cell(t, sum, bytes);
        total += sum;
    }
    table_cell(t, "total");
    table_style(t, TABLE_HEAD);
    for (size_t c = 0; c < count; c++)
        number_cell(t, sums[c], bytes);
    number_cell(t, total, bytes);
    part_title(p, bytes ? "bytes sent" : "messages sent");
    table_print(t, p->width, p->color, p->out);
    table_free(t);
}

static int by_bytes(const void *pa, const void *pb)
{
    const struct matrix_pair *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static void greatest_pairs(const struct part *p, struct matrix *m)
{
    static const struct table_column columns[] = {{.title = "from"},     {.title = "to"},
                                                  {.title = "messages"}, {.title = "bytes"},
                                                  {.title = "average"},  {.title = "time"}};
    struct table *t = table_new(columns, COUNT(columns));
    qsort(m->pairs, m->count, sizeof *m->pairs, by_bytes);
    for (size_t i = 0; i < m->count && i < (size_t)p->top; i++) {
        const struct matrix_pair *pair = &m->pairs[i];
        char name[FORMAT_ROOM];
        table_cell(t, "%s", matrix_end_name(name, p->run, pair->from));
        table_cell(t, "%s", matrix_end_name(name, p->run, pair->to));
        cell_count(t, pair->count);
        cell_bytes(t, pair->bytes);
        cell_bytes(t, pair->count ? pair->bytes / pair->count : 0);
        cell_time(t, pair->time);
    }
    part_title(p, "the pairs that exchange most");
    table_print(t, p->width, p->color, p->out);
    part_more(p, (size_t)p->top, m->count, "pairs (--top shows more)");
    table_free(t);
}

struct totals {
    int32_t end;
    uint64_t sent, sent_bytes, received, received_bytes;
};

static int by_volume(const void *pa, const void *pb)
{
    const struct totals *a = pa, *b = pb;
    uint64_t x = a->sent_bytes + a->received_bytes, y = b->sent_bytes + b->received_bytes;
    if (x != y)
        return x > y ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static size_t slot(int32_t end, size_t count)
{
    return end >= 0 ? (size_t)end : end == MATRIX_OTHERS ? count - 2 : count - 1;
}

static void rank_totals(const struct part *p, const struct matrix *m)
{
    static const struct table_column columns[] = {{.title = "rank"},
                                                  {.title = "messages sent"},
                                                  {.title = "bytes sent"},
                                                  {.title = "messages received"},
                                                  {.title = "bytes received"}};
    size_t count = p->run->rank_count + 2; /* others and foreign at the end */
    struct totals *totals = xcalloc(count, sizeof *totals);
    for (size_t i = 0; i < count; i++)
        totals[i].end = i < count - 2    ? (int32_t)i
                        : i == count - 2 ? MATRIX_OTHERS
                                         : MATRIX_FOREIGN;
    for (size_t i = 0; i < m->count; i++) {
        const struct matrix_pair *pair = &m->pairs[i];
        size_t from = slot(pair->from, count), to = slot(pair->to, count);
        totals[from].sent += pair->count;
        totals[from].sent_bytes += pair->bytes;
        totals[to].received += pair->count;
        totals[to].received_bytes += pair->bytes;
    }
    qsort(totals, count, sizeof *totals, by_volume);
    struct table *t = table_new(columns, COUNT(columns));
    size_t shown = 0, with = 0;
    for (size_t i = 0; i < count; i++) {
        char name[FORMAT_ROOM];
        if (!totals[i].sent && !totals[i].received)
            continue;
        with++;
        if (shown == (size_t)p->top)
            continue;
        shown++;
        table_cell(t, "%s", matrix_end_name(name, p->run, totals[i].end));
        cell_count(t, totals[i].sent);
        cell_bytes(t, totals[i].sent_bytes);
        cell_count(t, totals[i].received);
        cell_bytes(t, totals[i].received_bytes);
    }
    part_title(p, "the ranks that exchange most");
    table_print(t, p->width, p->color, p->out);
    part_more(p, shown, with, "ranks (--top shows more)");
    table_free(t);
    free(totals);
}

void part_matrix(const struct part *p)
{
    struct matrix m;
    matrix_build(p->run, &m);
    if (!m.count) {
        strbuf_puts(p->out, "no messages between ranks were seen\n");
    } else if (p->run->rank_count <= MATRIX_FULL) {
        full(p, &m, true);
        full(p, &m, false);
    } else {
        rank_totals(p, &m);
        greatest_pairs(p, &m);
    }
    matrix_free(&m);
}
