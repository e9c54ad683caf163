/* SPDX-License-Identifier: MIT */
/* Everything that is known about one statement. */
#include "view/format.h"
#include "view/parts.h"
#include "view/waits.h"

#include "base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST = 5, FILES_MOST = 10, BAR = 40 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void title(const struct part *p, const struct graph_node *n)
{
    struct strbuf text = {0};
    if (n->kind == GRAPH_CALL || (n->kind == GRAPH_PROCEDURE && (n->line || n->group)))
        strbuf_printf(&text, "%s ", graph_kind_name(n->kind));
    strbuf_puts(&text, n->name ? n->name : "?");
    if (n->kind == GRAPH_LOOP)
        strbuf_puts(&text, " loop");
    if (n->file && n->line)
        strbuf_printf(&text, " %s:%u", n->file, n->line);
    else if (n->module)
        strbuf_printf(&text, " %s+0x%" PRIx64, format_base(n->module), n->offset);
    if (n->procedure && n->kind != GRAPH_PROCEDURE)
        strbuf_printf(&text, " in %s", n->procedure);
    struct strbuf clean = {0};
    table_text(&clean, text.text, p->width);
    part_title(p, clean.text);
    strbuf_free(&clean);
    strbuf_free(&text);
}

/* From the program down to the statement, each with its share. */
static void above(const struct part *p, uint32_t node)
{
    const struct graph *g = &p->run->graph;
    double all = query_all_time(p->run);
    uint32_t chain[8];
    int depth = 0;
    for (uint32_t at = node; at < g->count && depth < 8; at = g->nodes[at].parent) {
        chain[depth++] = at;
        if (g->nodes[at].parent >= at)
            break;
    }
    strbuf_puts(p->out, "  ");
    while (depth-- > 0) {
        const struct graph_node *n = &g->nodes[chain[depth]];
        char share[FORMAT_ROOM];
        struct query_item item = query_item(p->run, chain[depth], all);
        strbuf_printf(p->out, "%s ", graph_kind_name(n->kind));
        table_text(p->out, n->name ? n->name : "?", 40);
        strbuf_printf(p->out, " %s%s", format_percent(share, item.share), depth ? " > " : "\n");
    }
}

static void facts(const struct part *p, const struct query_item *item)
{
    const struct graph_node *n = &p->run->graph.nodes[item->node];
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM];
    if (n->inlined) {
        strbuf_puts(p->out, "  inlined at ");
        table_text(p->out, n->inlined, p->width - 13);
        strbuf_putc(p->out, '\n');
    }
    if (n->module) {
        strbuf_puts(p->out, "  binary ");
        table_text(p->out, n->module, p->width - 30);
        strbuf_printf(p->out, "+0x%" PRIx64 "\n", n->offset);
    }
    strbuf_printf(p->out, "  time %s, %s times", format_time(a, item->total.time),
                  format_count(b, item->total.count));
    if (item->total.bytes)
        strbuf_printf(p->out, ", %s", format_bytes(c, item->total.bytes));
    if (item->total.count)
        strbuf_printf(p->out, "; each %s to %s, on average %s", format_time(a, item->total.min),
                      format_time(b, item->total.max),
                      format_time(c, item->total.time / (double)item->total.count));
    strbuf_puts(p->out, run_outside_time(n) ? "; outside the ranks' time\n" : "\n");
    if (n->kind != GRAPH_COMMUNICATION || run_outside_time(n))
        return;
    struct wait wait = wait_of(p->run, item->node);
    struct run_rank whom = {.world = wait.world, .rank = wait.rank};
    strbuf_printf(p->out, "  waiting %s (%s)", format_time(a, wait.sync_s),
                  format_percent(b, query_waiting(p->run, item)));
    if (wait.sync_s > 0 && wait.rank >= 0)
        strbuf_printf(p->out, ", %.0f%% of it for rank %s", 100 * wait.most_s / wait.sync_s,
                      format_rank(c, &whom));
    strbuf_printf(p->out, "; transfer %s; in real time %s\n",
                  format_time(a, run_value_transfer(&item->total)),
                  format_time(b, item->total.real));
}

static int values_by_time(const void *pa, const void *pb)
{
    const struct run_value *a = *(const struct run_value *const *)pa;
    const struct run_value *b = *(const struct run_value *const *)pb;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* By rank while all of them are shown; the greatest when they are not. */
static void ranks(const struct part *p, uint32_t node)
{
    struct table_column columns[] = {{.title = "  rank"},
                                     {.title = "time"},
                                     {.title = "of its time"},
                                     {.title = "compute", .drop = 3},
                                     {.title = "waiting", .drop = 4},
                                     {.title = "transfer", .drop = 4},
                                     {.title = "count"},
                                     {.title = "bytes", .drop = 2},
                                     {.title = "min", .drop = 1},
                                     {.title = "avg", .drop = 1},
                                     {.title = "max", .drop = 1}};
    enum graph_kind kind = p->run->graph.nodes[node].kind;
    bool split = kind != GRAPH_REGION && !run_outside_time(&p->run->graph.nodes[node]);
    bool computes = kind != GRAPH_COMMUNICATION && kind != GRAPH_REGION;
    size_t count;
    const struct run_value *values = run_values(p->run, node, &count);
    const struct run_value **sorted = xcalloc(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values[i];
    if (count > (size_t)p->top)
        qsort(sorted, count, sizeof *sorted, values_by_time);
    struct table *t =
        table_new(columns, table_without(columns, COUNT(columns), computes ? NULL : "compute"));
    for (size_t i = 0; i < count && i < (size_t)p->top; i++) {
        const struct run_value *v = sorted[i];
        if (v->rank >= p->run->rank_count)
            continue;
        const struct run_rank *r = &p->run->ranks[v->rank];
        double time = run_rank_time(r);
        char text[FORMAT_ROOM];
        table_cell(t, "%s", format_rank(text, r));
        cell_time(t, v->time);
        cell_share(t, time > 0 && !run_outside_time(&p->run->graph.nodes[node]) ? v->time / time
                                                                                : NAN);
        if (computes)
            cell_time(t, run_value_compute(v));
        cell_time(t, split ? v->sync : NAN);
        cell_time(t, split ? run_value_transfer(v) : NAN);
        cell_count(t, v->count);
        cell_bytes(t, v->bytes);
        cell_time(t, v->min);
        cell_time(t, v->count ? v->time / (double)v->count : NAN);
        cell_time(t, v->count ? v->max : NAN);
    }
    strbuf_putc(p->out, '\n');
    table_print(t, p->width, p->color, p->out);
    part_more(p, (size_t)p->top, count, "ranks with less time (--top shows more)");
    table_free(t);
    free(sorted);
}

static int peers_by_time(const void *pa, const void *pb)
{
    const struct run_peer *a = *(const struct run_peer *const *)pa;
    const struct run_peer *b = *(const struct run_peer *const *)pb;
    double at = fmax(a->time, a->sync), bt = fmax(b->time, b->sync);
    if (at != bt)
        return at > bt ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void peers(const struct part *p, uint32_t node)
{
    static const struct table_column columns[] = {{.title = "  peer"}, {.title = "messages"},
                                                  {.title = "bytes"},  {.title = "average"},
                                                  {.title = "time"},   {.title = "waiting"}};
    size_t count;
    const struct run_peer *all = run_peers(p->run, node, &count);
    if (!count)
        return;
    const struct run_peer **sorted = xcalloc(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &all[i];
    qsort(sorted, count, sizeof *sorted, peers_by_time);
    struct table *t = table_new(columns, COUNT(columns));
    for (size_t i = 0; i < count && i < (size_t)p->top; i++) {
        char text[FORMAT_ROOM];
        if (sorted[i]->rank >= p->run->rank_count)
            continue;
        table_cell(t, "%s", format_pair(text, p->run, sorted[i]));
        if (run_peer_exchanged(sorted[i]))
            cell_count(t, sorted[i]->count);
        else
            table_cell(t, "-");
        cell_bytes(t, sorted[i]->bytes);
        cell_bytes(t, sorted[i]->count ? sorted[i]->bytes / sorted[i]->count : 0);
        cell_time(t, sorted[i]->time > 0 ? sorted[i]->time : NAN);
        cell_time(t, sorted[i]->sync != 0 ? sorted[i]->sync : NAN);
    }
    strbuf_putc(p->out, '\n');
    table_print(t, p->width, p->color, p->out);
    part_more(p, (size_t)p->top, count, "peers (--top shows more)");
    table_free(t);
    free(sorted);
}

static void sizes(const struct part *p, const struct run_value *total)
{
    static const struct table_column columns[] = {
        {.title = "  size"}, {.title = "count"}, {.title = "", .left = true, .shrink = 4}};
    uint64_t most = 0;
    int first = -1, last = -1;
    for (int b = 0; b < RECORD_SIZE_BUCKETS; b++)
        if (total->sizes[b]) {
            first = first < 0 ? b : first;
            last = b;
            most = total->sizes[b] > most ? total->sizes[b] : most;
        }
    if (!total->bytes || first < 0)
        return;
    struct table *t = table_new(columns, COUNT(columns));
    for (int b = first; b <= last; b++) {
        char text[FORMAT_ROOM], bar[BAR + 1];
        int len = (int)((double)total->sizes[b] / (double)most * BAR + 0.5);
        len = total->sizes[b] && !len ? 1 : len;
        memset(bar, '#', (size_t)len);
        bar[len] = '\0';
        if (b < 2)
            table_cell(t, "%s", format_bytes(text, (uint64_t)b));
        else
            table_cell(t, "from %s", format_bytes(text, UINT64_C(1) << (b - 1)));
        cell_count(t, total->sizes[b]);
        table_cell(t, "%s", bar);
    }
    strbuf_putc(p->out, '\n');
    table_print(t, p->width, p->color, p->out);
    table_free(t);
}

/* The innermost procedure or loop whose lines contain this one; 0: none. */
static uint32_t around(const struct graph *g, const char *file, uint32_t line)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < g->count; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (n->line && n->line <= line && line <= n->end_line && query_same_file(n->file, file) &&
            (!found || g->nodes[found].line <= n->line))
            found = i;
    }
    return found;
}

/* Nothing stands there: what does, in that file or else at all. */
static void suggest(const struct part *p, const char *file, uint32_t line)
{
    const struct graph *g = &p->run->graph;
    uint32_t best[NEAREST];
    size_t found = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (!n->line || !query_same_file(n->file, file))
            continue;
        size_t at = found;
        long distance = labs((long)n->line - (long)line);
        while (at && labs((long)g->nodes[best[at - 1]].line - (long)line) > distance)
            at--;
        if (at == NEAREST)
            continue;
        found += found < NEAREST;
        memmove(&best[at + 1], &best[at], (found - at - 1) * sizeof *best);
        best[at] = i;
    }
    strbuf_puts(p->out, "nothing is known at ");
    table_text(p->out, file, p->width);
    if (line)
        strbuf_printf(p->out, ":%u", line);
    uint32_t in = around(g, file, line);
    if (in) {
        char *text = format_node(&g->nodes[in]);
        strbuf_puts(p->out, ", which lies in ");
        table_text(p->out, text, p->width);
        free(text);
    }
    strbuf_puts(p->out, found ? "; the nearest statements of that file:\n" : "\n");
    for (size_t i = 0; i < found; i++) {
        char *text = format_node(&g->nodes[best[i]]);
        strbuf_puts(p->out, "  ");
        table_text(p->out, text, p->width - 2);
        strbuf_putc(p->out, '\n');
        free(text);
    }
    if (found)
        return;
    const char *last = "";
    for (size_t i = 0, listed = 0; i < g->count && listed < FILES_MOST; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (!n->line || !n->file || !strcmp(n->file, last))
            continue;
        strbuf_puts(p->out, listed++ ? ", " : "files of this run: ");
        table_text(p->out, n->file, p->width);
        last = n->file;
    }
    strbuf_puts(p->out, *last ? "\n" : "no statement of this run has a source line\n");
}

/* Lists the files that the name could mean; false if it means one. */
static bool ambiguous(const struct part *p, const uint32_t *nodes, size_t count)
{
    const struct graph_node *all = p->run->graph.nodes;
    bool several = false;
    for (size_t i = 1; i < count; i++)
        several |= all[nodes[0]].file && strcmp(all[nodes[0]].file, all[nodes[i]].file);
    if (!several)
        return false;
    strbuf_puts(p->out, "several files match, name one with its directory:\n");
    for (size_t i = 0; i < count; i++) {
        const struct graph_node *n = &all[nodes[i]];
        strbuf_puts(p->out, "  ");
        table_text(p->out, n->file, p->width);
        strbuf_printf(p->out, ":%u ", n->line);
        table_text(p->out, n->name ? n->name : "?", p->width);
        strbuf_putc(p->out, '\n');
    }
    return true;
}

void part_node(const struct part *p, uint32_t node)
{
    struct query_item item = query_item(p->run, node, query_all_time(p->run));
    struct outline *o = outline_probed(p->run) ? outline_new(p->run) : NULL;
    enum graph_kind kind = p->run->graph.nodes[node].kind;
    uint32_t group = p->run->graph.nodes[node].group;
    title(p, &p->run->graph.nodes[node]);
    if (!o)
        above(p, node);
    if (!o || kind == GRAPH_COMMUNICATION || kind == GRAPH_REGION)
        facts(p, &item);
    if (o)
        part_around(p, o, node);
    if (o && kind == GRAPH_PROCEDURE)
        part_callers(p, o, group ? group : node);
    if (!o || p->run->rank_count > 1 || kind == GRAPH_COMMUNICATION)
        ranks(p, node);
    outline_free(o);
    peers(p, node);
    sizes(p, &item.total);
}

int part_at(const struct part *p, const char *file, uint32_t line)
{
    uint32_t *nodes;
    size_t count = query_at(p->run, file, line, &nodes);
    bool several = ambiguous(p, nodes, count);
    for (size_t i = 0; i < count && !several; i++)
        part_node(p, nodes[i]);
    if (count && !several && outline_probed(p->run)) {
        struct outline *o = outline_new(p->run);
        strbuf_puts(p->out, o->estimated ? "\n" : "");
        part_legend(p, o);
        outline_free(o);
    }
    if (!count)
        suggest(p, file, line);
    free(nodes);
    return count && !several ? 0 : -ENOENT;
}
