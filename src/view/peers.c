/* SPDX-License-Identifier: MIT */
/* The communication matrix as text: in full for few ranks, its greatest pairs for many. */
#include "view/format.h"
#include "view/grid.h"
#include "view/matrix.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static double bytes_of(const struct matrix_pair *pair)
{
    return (double)pair->bytes;
}

static double messages_of(const struct matrix_pair *pair)
{
    return (double)pair->count;
}

static char *bytes_text(char to[FORMAT_ROOM], double bytes)
{
    return bytes > 0 ? format_bytes_short(to, (uint64_t)bytes) : NULL;
}

static char *count_text(char to[FORMAT_ROOM], double count)
{
    return count > 0 ? format_count(to, (uint64_t)count) : NULL;
}

static const struct grid bytes_sent = {"bytes sent", "from \\ to", bytes_of, bytes_text};
static const struct grid messages_sent = {"messages sent", "from \\ to", messages_of, count_text};

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

static void rank_totals(const struct part *p, const struct matrix *m)
{
    static const struct table_column columns[] = {{.title = "rank"},
                                                  {.title = "messages sent"},
                                                  {.title = "bytes sent"},
                                                  {.title = "messages received"},
                                                  {.title = "bytes received"}};
    size_t count = matrix_places(p->run);
    struct totals *totals = xcalloc(count, sizeof *totals);
    for (size_t i = 0; i < count; i++)
        totals[i].end = matrix_end_at(i, count);
    for (size_t i = 0; i < m->count; i++) {
        const struct matrix_pair *pair = &m->pairs[i];
        size_t from = matrix_place(pair->from, count), to = matrix_place(pair->to, count);
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
        grid_print(p, &m, &bytes_sent);
        grid_print(p, &m, &messages_sent);
    } else {
        rank_totals(p, &m);
        greatest_pairs(p, &m);
    }
    matrix_free(&m);
}
