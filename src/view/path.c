/* SPDX-License-Identifier: MIT */
/* The critical path: what it is made of, and what would be gained. */
#include "view/path.h"

#include "view/format.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CARRIERS_MOST = 8 };
static const double worth_saying = 0.005; /* of the run: less is no answer to "what next?" */
static const double whole_but = 0.01;     /* of the run: with less before it a path is all of it */

double path_span(const struct run *run)
{
    double time = run_time(run), since = run->path.since_s;
    if (!run->path.on) /* when it was switched off is not known */
        return run->path.length_s;
    return fmax(since > 0 ? time - since : time, run->path.length_s);
}

char *path_item_name(const struct run *run, const struct run_path_item *item)
{
    if (!item->node || item->node >= run->graph.count)
        return xstrdup(item->name ? item->name : "items that are not known any more");
    const struct graph_node *n = &run->graph.nodes[item->node];
    char *where = format_where(n), *brief = n->name ? format_procedure_brief(n->name) : NULL;
    const char *name = brief ? brief : n->name ? n->name : "?";
    struct strbuf text = {0};
    strbuf_puts(&text, n->kind == GRAPH_CALL   ? "the call of "
                       : n->kind == GRAPH_LOOP ? "the "
                                               : "");
    strbuf_puts(&text, name);
    if (n->kind == GRAPH_LOOP)
        strbuf_puts(&text, " loop");
    else if ((n->kind == GRAPH_PROCEDURE || n->kind == GRAPH_CALL) && !strchr(name, '('))
        strbuf_puts(&text, n->group == item->node ? "" : "()");
    if (n->kind != GRAPH_REGION && *where)
        strbuf_printf(&text, " (%s)", where);
    free(brief);
    free(where);
    return strbuf_take(&text);
}

/* The greatest items were asked for, and nobody has begun to look for them. */
static bool unsearched(const struct run_path *path)
{
    return path->top && !path->item_count && !path->searching && !path->complete;
}

/* What was found is measured from then on. Where that is a small part of the run, another run can
 * say more: a search that has just ended leaves a path that is short. */
static bool after_search(const struct run *run)
{
    const struct run_path *path = &run->path;
    return path->top && path->item_count && !path->searching &&
           2 * path->since_s > run_time(run); /* false: NAN, too */
}

void path_sentence(const struct run *run, struct strbuf *out)
{
    const struct run_path *path = &run->path;
    const struct run_path_item *best = path->item_count ? path->items : NULL;
    double span = path_span(run), saves = best ? run_path_saves(path, best) : 0;
    char length[FORMAT_ROOM], time[FORMAT_ROOM], percent[FORMAT_ROOM];
    /* The first event is some microseconds behind the beginning. Of a part of the run nothing
     * follows for all of it. */
    bool last = path->since_s > whole_but * run_time(run);
    const char *what = !path->on ? "it" : last ? "that time" : "this run";
    strbuf_puts(out, format_time(length, path->length_s));
    if (!path->on)
        strbuf_puts(out, " until it was switched off");
    else
        strbuf_printf(out, " of %s%s", last ? "the last " : "", format_time(time, span));
    if (!best && path->top && path->complete) {
        strbuf_printf(out, "; no procedure or statement has 1/%u of it", path->top);
    } else if (!best) {
        strbuf_puts(out, path->searching    ? "; its greatest items are being looked for"
                         : unsearched(path) ? "; its greatest items were not found"
                                            : "; no items were selected");
    } else if (path->searching) {
        strbuf_puts(out, "; its greatest items are being looked for");
    } else if (span > 0 && saves >= worth_saying * span) {
        char *name = path_item_name(run, best);
        strbuf_printf(out, "; speeding up %s shortens %s by at most %s", name, what,
                      format_percent(percent, saves / span));
        free(name);
    } else {
        strbuf_printf(out, "; none of its items alone shortens %s by %s", what,
                      format_percent(percent, worth_saying));
    }
}

static int compare_carriers(const void *pa, const void *pb)
{
    const struct path_carrier *a = pa, *b = pb;
    if (a->parts != b->parts)
        return a->parts > b->parts ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

size_t path_carriers(const struct run_path *path, struct path_carrier carriers[RECORD_PATH_STRIP],
                     size_t *parts)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#@";
    size_t count = 0;
    int32_t highest = 0;
    *parts = 0;
    for (size_t i = 0; i < RECORD_PATH_STRIP; i++) {
        size_t at = 0;
        if (path->strip[i] < 0)
            continue;
        *parts = i + 1;
        while (at < count && carriers[at].rank != path->strip[i])
            at++;
        if (at == count)
            carriers[count++] = (struct path_carrier){.rank = path->strip[i]};
        carriers[at].parts++;
        highest = path->strip[i] > highest ? path->strip[i] : highest;
    }
    if (count)
        qsort(carriers, count, sizeof *carriers, compare_carriers);
    for (size_t i = 0; i < count; i++) /* where a digit can be the rank itself it is */
        carriers[i].letter = highest < 10 ? (char)('0' + carriers[i].rank) : letters[i];
    return count;
}

static void put_rank(const struct run *run, int32_t rank, struct strbuf *text)
{
    int32_t world = run->path.rank < run->rank_count ? run->ranks[run->path.rank].world : 0;
    if (world > 0)
        strbuf_printf(text, "w%d:", world);
    strbuf_printf(text, "%d", rank);
}

/* The bar, on as many lines as the width needs. The three that carried most stand out. */
static void put_strip(const struct part *p, const struct path_carrier *carriers, size_t count,
                      size_t parts)
{
    static const enum table_style styles[] = {TABLE_HOT, TABLE_WARM, TABLE_HEAD};
    const struct run_path *path = &p->run->path;
    size_t width = (size_t)p->width - 2;
    for (size_t i = 0; i < parts; i++) {
        size_t at = 0;
        if (i % width == 0)
            strbuf_puts(p->out, i ? "\n  " : "  ");
        while (at < count && carriers[at].rank != path->strip[i])
            at++;
        if (at < 3)
            table_color(p->out, styles[at], p->color);
        strbuf_putc(p->out, at < count ? carriers[at].letter : '.');
        if (at < 3)
            table_color(p->out, TABLE_PLAIN, p->color);
    }
    strbuf_putc(p->out, '\n');
}

static void strip(const struct part *p)
{
    struct path_carrier carriers[RECORD_PATH_STRIP];
    size_t parts, count = path_carriers(&p->run->path, carriers, &parts);
    struct strbuf text = {0};
    char time[FORMAT_ROOM], percent[FORMAT_ROOM];
    if (!count || !p->run->mpi)
        return;
    strbuf_printf(&text, "Which rank carried it, from its start to its end; a character is %s:",
                  format_time(time, p->run->path.strip_s));
    strbuf_putc(p->out, '\n');
    part_note(p, text.text);
    strbuf_clear(&text);
    put_strip(p, carriers, count, parts);
    size_t shown = p->full || count <= CARRIERS_MOST + 1 ? count : CARRIERS_MOST;
    for (size_t i = 0; i < shown; i++) {
        strbuf_printf(&text, "%s%c rank ", i ? ", " : "", carriers[i].letter);
        put_rank(p->run, carriers[i].rank, &text);
        strbuf_printf(&text, " %s", format_percent(percent, carriers[i].parts / (double)parts));
    }
    if (shown < count)
        strbuf_printf(&text, ", and %zu more ranks (--full names them)", count - shown);
    table_wrap(p->out, "  ", text.text, p->width);
    strbuf_free(&text);
}

static void row(const struct part *p, struct table *t, const struct run_path_item *item)
{
    const struct run_path *path = &p->run->path;
    double length = path->length_s > 0 ? path->length_s : NAN, saves = run_path_saves(path, item);
    char text[FORMAT_ROOM];
    cell_time(t, item->share_s);
    table_cell(t, "%s", format_percent(text, item->share_s / length));
    cell_time(t, item->exclusive_s);
    cell_time(t, item->zeroed_s);
    cell_time(t, saves);
    cell_share(t, saves / length);
    cell_time(t, item->cpu_s);
    table_cell(t, "%s", format_percent(text, path->cpu_s > 0 ? item->cpu_s / path->cpu_s : NAN));
    if (item->node && item->node < p->run->graph.count)
        cell_node(t, &p->run->graph.nodes[item->node], 0);
    else
        table_cell(t, "%s", item->name ? item->name : "?");
    part_line(p, item->node && item->node < p->run->graph.count ? item->node : GRAPH_NONE);
}

static void items(const struct part *p)
{
    static const struct table_column columns[] = {{.title = "CP"},
                                                  {.title = "% CP", .drop = 6},
                                                  {.title = "CP self", .drop = 1},
                                                  {.title = "CP zero", .drop = 3},
                                                  {.title = "saves"},
                                                  {.title = "% saves"},
                                                  {.title = "CPU", .drop = 2},
                                                  {.title = "% CPU", .drop = 5},
                                                  {.title = "item", .left = true, .shrink = 24}};
    const struct run_path *path = &p->run->path;
    size_t count = 0, shown = 0;
    struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < path->item_count; i++) { /* of buckets many are empty */
        if (path->searching && !(path->items[i].share_s > 0))
            continue;
        count++;
        if (shown < (size_t)p->top)
            row(p, t, &path->items[i]);
        shown += shown < (size_t)p->top;
    }
    if (shown) {
        strbuf_putc(p->out, '\n');
        part_table(p, t);
    }
    part_more(p, shown, count, "items");
    table_free(t);
}

/* What is on the path besides, and what can be said of the list. */
static void notes(const struct part *p)
{
    const struct run_path *path = &p->run->path;
    struct strbuf text = {0};
    char time[FORMAT_ROOM], percent[FORMAT_ROOM];
    strbuf_putc(p->out, '\n');
    if (path->item_count) {
        strbuf_printf(&text, "The items have %s of the path",
                      format_percent(percent, path->covered));
        if (path->searching)
            strbuf_puts(&text, "; the search for the greatest goes on, each is still a group of "
                               "procedures and statements");
        else if (path->top && path->complete)
            strbuf_printf(&text, "; complete: whatever has 1/%u of it or more is here", path->top);
        else if (path->top)
            strbuf_printf(&text, "; not complete: what has 1/%u of it or more may be missing",
                          path->top);
        strbuf_puts(&text, ". ");
    }
    if (after_search(p->run))
        strbuf_puts(&text, "That is since they were found; with --items they are measured from the "
                           "start. ");
    if (unsearched(path))
        strbuf_puts(&text, "The search for its greatest items has not begun: it takes a while. "
                           "--items names them. ");
    if (p->run->mpi)
        strbuf_printf(
            &text, "MPI itself has %s of it (%s): transfer, waiting is on no path.",
            format_time(time, path->mpi_s),
            format_percent(percent, path->length_s > 0 ? path->mpi_s / path->length_s : 0));
    if (text.len)
        part_note(p, text.text);
    strbuf_clear(&text);
    if (path->item_count)
        part_note(p, "CP: on the path, with what it called; CP zero: the longest path if it took "
                     "no time; CPU: in all ranks, without waiting.");
    if (!path->on && p->run->live)
        part_note(p, "It is switched off now; this is how it was.");
    strbuf_free(&text);
}

void part_path(const struct part *p)
{
    struct strbuf text = {0};
    if (!p->run->path.known) {
        part_note(p, p->run->live
                         ? "No critical path is computed. Switch it on: loupe ctl JOB "
                           "critical-path on"
                         : "No critical path was computed in this run. Start it with loupe run "
                           "--critical-path (--items names what to look at), or switch it on while "
                           "it runs: loupe ctl JOB critical-path on");
        return;
    }
    strbuf_puts(&text, "critical path ");
    path_sentence(p->run, &text);
    table_color(p->out, TABLE_HEAD, p->color);
    part_note(p, text.text);
    table_color(p->out, TABLE_PLAIN, p->color);
    strbuf_free(&text);
    items(p);
    notes(p);
    strip(p);
}
