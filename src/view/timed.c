/* SPDX-License-Identifier: MIT */
/* The levels of a program whose procedures, loops and calls are timed themselves. */
#include "view/format.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS_MOST = 10 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Share, time and, where there are estimates, their interval, then waiting: how all these tables
 * begin. */
static void time_cells(struct table *t, const struct outline *o, uint32_t node)
{
    const struct query_item *item = &o->items[node];
    cell_share(t, item->total.time != 0 ? item->share : NAN);
    cell_estimate(t, item->total.time, item->total.estimated > 0);
    if (o->estimated)
        cell_error(t, &item->total);
    if (o->run->mpi)
        cell_estimate(t, item->total.sync, false);
}

static void spread_cell(struct table *t, const struct outline *o, uint32_t node)
{
    if (o->run->rank_count > 1)
        cell_spread(t, &o->items[node]);
}

/* A procedure in a table of them: what it is need not be said. */
static void procedure_cell(struct table *t, const struct outline *o, uint32_t node, int indent,
                           const char *note)
{
    struct outline_cell cell = {.within = true, .bare = true, .note = note};
    cell_outline_with(t, o, node, xasprintf("%*s", indent, ""), cell);
}

/* Columns that would be empty or say the same again are left out. */
static struct table *table_for(const struct outline *o, struct table_column *columns, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if ((o->estimated || strcmp(columns[i].title, "±") != 0) &&
            (o->run->mpi || strcmp(columns[i].title, "waiting") != 0) &&
            (o->run->rank_count > 1 || strncmp(columns[i].title, "rank", 4) != 0))
            columns[kept++] = columns[i];
    return table_new(columns, kept);
}

static void caller_row(const struct part *p, struct table *t, const struct outline *o,
                       uint32_t call)
{
    const struct graph_node *n = &p->run->graph.nodes[call];
    struct strbuf text = {0}, brief = {0};
    char *where = format_where(n), *within = NULL;
    part_line(p, call);
    time_cells(t, o, call);
    table_cell(t, "%s", "");
    cell_count(t, o->items[call].total.count);
    table_cell(t, "%s", "");
    spread_cell(t, o, call);
    strbuf_printf(&text, "  from %s",
                  outline_starts(o, call) ? "the start of the program"
                  : n->file               ? where
                                          : n->name);
    strbuf_puts(&brief, text.text);
    if (n->procedure) {
        within = format_procedure_brief(n->procedure);
        strbuf_printf(&text, " in %s", n->procedure);
        strbuf_printf(&brief, " in %s", within ? within : n->procedure);
    }
    bool recursive = outline_recursive(o, call);
    table_cell(t, "%s%s", text.text, recursive ? ", recursive" : "");
    table_style(t, TABLE_FAINT);
    table_brief(t, within ? xasprintf("%s%s", brief.text, recursive ? ", recursive" : "") : NULL);
    free(within);
    free(where);
    strbuf_free(&text);
    strbuf_free(&brief);
}

static void member_rows(const struct part *p, struct table *t, const struct outline *o,
                        uint32_t group)
{
    uint32_t *members;
    size_t count = run_members(p->run, group, &members);
    for (size_t i = 0; i < count; i++) {
        part_line(p, members[i]);
        time_cells(t, o, members[i]);
        table_cell(t, "%s", "");
        cell_count(t, o->items[members[i]].total.count);
        table_cell(t, "%s", "");
        if (o->run->rank_count > 1)
            table_cell(t, "%s", "");
        procedure_cell(t, o, members[i], 2, "of the group");
        table_style(t, TABLE_FAINT);
    }
    free(members);
}

static void procedure_rows(const struct part *p, struct table *t, const struct outline *o,
                           const struct query_item *item)
{
    bool summed = outline_summed(o, item->node);
    const uint32_t *calls;
    size_t count = outline_callers(o, item->node, &calls), listed = 0, rest = 0;
    part_line(p, item->node);
    time_cells(t, o, item->node);
    const struct outline_sum *sum = &o->sums[item->node];
    cell_estimate(t, summed ? 0 : sum->own, sum->own_estimated);
    cell_count(t, item->total.count);
    cell_estimate(t, sum->calls, sum->calls_estimated);
    spread_cell(t, o, item->node);
    procedure_cell(t, o, item->node, 0, summed ? "its statements" : NULL);
    table_style(t, TABLE_HEAD);
    member_rows(p, t, o, item->node);
    for (size_t i = 0; i < count; i++) {
        if (!outline_executed(o, calls[i]))
            continue;
        if (listed++ < CALLERS_MOST || p->full)
            caller_row(p, t, o, calls[i]);
        else
            rest++;
    }
    if (!rest)
        return;
    part_line(p, GRAPH_NONE);
    for (int i = 0; i < 5 + o->estimated + !!o->run->mpi + (o->run->rank_count > 1); i++)
        table_cell(t, "%s", "");
    table_cell(t, "  and %zu more callers (--full shows them)", rest);
    table_style(t, TABLE_FAINT);
}

/* Members stand below their group, and what was never executed nowhere. */
static bool listed(const struct outline *o, const struct query_item *item)
{
    uint32_t group = o->run->graph.nodes[item->node].group;
    return (!group || group == item->node) && outline_executed(o, item->node);
}

static void not_executed(const struct part *p, size_t count, const char *what)
{
    struct strbuf text = {0};
    strbuf_printf(&text, "%zu more %s%s no time: never executed, or without probes.", count, what,
                  count == 1 ? " has" : "s have");
    if (count)
        part_note(p, text.text);
    strbuf_free(&text);
}

#define PROCEDURE_COLUMNS                                                                          \
    {                                                                                              \
        {.title = "share"}, {.title = "time"}, {.title = "±", .drop = 4},                          \
            {.title = "waiting", .drop = 2}, {.title = "self", .drop = 5},                         \
            {.title = "count", .drop = 3}, {.title = "in calls", .drop = 2},                       \
            {.title = "rank min/avg/max", .drop = 1},                                              \
        {                                                                                          \
            .title = "procedure", .left = true, .shrink = 34                                       \
        }                                                                                          \
    }

void part_callers(const struct part *p, const struct outline *o, uint32_t procedure)
{
    struct table_column columns[] = PROCEDURE_COLUMNS;
    struct part inner = *p;
    struct table *t = table_for(o, columns, COUNT(columns));
    inner.lines = NULL;
    procedure_rows(&inner, t, o, &o->items[procedure]);
    strbuf_putc(p->out, '\n');
    table_print(t, p->width, p->color, p->out);
    table_free(t);
}

void part_timed_procedures(const struct part *p)
{
    struct table_column columns[] = PROCEDURE_COLUMNS;
    struct outline *o = outline_new(p->run);
    struct query_item *items;
    size_t all = query_items(p->run, GRAPH_PROCEDURE, QUERY_TIME, &items), count = 0, none = 0;
    struct table *t = table_for(o, columns, COUNT(columns));
    bool sums = false;
    for (size_t i = 0; i < all; i++) {
        const struct graph_node *n = &p->run->graph.nodes[items[i].node];
        if (!listed(o, &items[i])) {
            none += !n->group;
            continue;
        }
        sums |= outline_summed(o, items[i].node);
        if (count++ < (size_t)p->top)
            procedure_rows(p, t, o, &items[i]);
    }
    if (count)
        part_table(p, t);
    else
        strbuf_puts(p->out, "no procedure was executed\n");
    part_more(p, (size_t)p->top, count, "procedures");
    strbuf_putc(p->out, '\n');
    part_note(p, "Time and count are over all callers, which stand below. Self is outside calls "
                 "and communications, loops included. In calls: of all call statements in it.");
    if (sums)
        part_note(p,
                  "Where it says \"its statements\", a procedure has no probe and shows the sum of "
                  "its communication statements.");
    part_legend(p, o);
    not_executed(p, none, "procedure");
    table_free(t);
    free(items);
    outline_free(o);
}

static void loop_row(const struct part *p, struct table *t, const struct outline *o,
                     const struct query_item *item)
{
    part_line(p, item->node);
    time_cells(t, o, item->node);
    cell_estimate(t, item->total.self, item->total.self_error != 0);
    cell_count(t, item->total.count);
    if (item->total.iterations)
        cell_count(t, item->total.iterations);
    else
        table_cell(t, "-");
    cell_estimate(t, item->total.count ? item->total.time / (double)item->total.count : 0,
                  item->total.estimated > 0);
    spread_cell(t, o, item->node);
    cell_outline(t, o, item->node, 0, NULL);
}

static void call_row(const struct part *p, struct table *t, const struct outline *o,
                     const struct query_item *item)
{
    double each = item->total.count ? item->total.time / (double)item->total.count : 0;
    part_line(p, item->node);
    time_cells(t, o, item->node);
    cell_count(t, item->total.count);
    cell_estimate(t, each, item->total.estimated > 0);
    cell_estimate(t, isfinite(item->total.min) ? item->total.min : 0, false);
    cell_estimate(t, item->total.max, false);
    spread_cell(t, o, item->node);
    cell_outline(t, o, item->node, 0, outline_recursive(o, item->node) ? "recursive" : NULL);
}

void part_timed(const struct part *p, const struct outline *o, enum graph_kind kind)
{
    struct table_column loops[] = {{.title = "share"},
                                   {.title = "time"},
                                   {.title = "±", .drop = 3},
                                   {.title = "waiting", .drop = 2},
                                   {.title = "self", .drop = 5},
                                   {.title = "count", .drop = 6},
                                   {.title = "iterations", .drop = 4},
                                   {.title = "each", .drop = 1},
                                   {.title = "rank min/avg/max", .drop = 2},
                                   {.title = "loop", .left = true, .shrink = 30}};
    struct table_column calls[] = {{.title = "share"},
                                   {.title = "time"},
                                   {.title = "±", .drop = 5},
                                   {.title = "waiting", .drop = 3},
                                   {.title = "count", .drop = 6},
                                   {.title = "each", .drop = 4},
                                   {.title = "min", .drop = 2},
                                   {.title = "max", .drop = 2},
                                   {.title = "rank min/avg/max", .drop = 1},
                                   {.title = "call", .left = true, .shrink = 30}};
    bool loop = kind == GRAPH_LOOP;
    struct query_item *items;
    size_t all = query_items(p->run, kind, QUERY_TIME, &items), count = 0;
    struct table *t = loop ? table_for(o, loops, COUNT(loops)) : table_for(o, calls, COUNT(calls));
    for (size_t i = 0; i < all; i++) {
        if (!outline_executed(o, items[i].node) || count++ >= (size_t)p->top)
            continue;
        if (loop)
            loop_row(p, t, o, &items[i]);
        else
            call_row(p, t, o, &items[i]);
    }
    if (count)
        part_table(p, t);
    else
        strbuf_printf(p->out, "no %s was executed\n", graph_kind_name(kind));
    part_more(p, (size_t)p->top, count, loop ? "loops" : "calls");
    strbuf_putc(p->out, '\n');
    part_note(p, loop
                     ? "Self is outside what stands in the loop and is timed itself. Iterations "
                       "are counted where that does not slow the loop."
                     : "A call without a time is counted only: recursion, through a pointer, or of "
                       "code without probes inside an expression.");
    part_legend(p, o);
    not_executed(p, all - count, graph_kind_name(kind));
    table_free(t);
    free(items);
}

struct own {
    const struct query_item *item;
    double self;
    bool estimated;
};

static int by_self(const void *pa, const void *pb)
{
    const struct own *a = pa, *b = pb;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    return a->item->node < b->item->node ? -1 : a->item->node > b->item->node;
}

void part_self(const struct part *p, size_t most)
{
    struct table_column columns[] = {{.title = "share"},
                                     {.title = "self"},
                                     {.title = "time", .drop = 3},
                                     {.title = "±", .drop = 1},
                                     {.title = "count", .drop = 2},
                                     {.title = "procedure", .left = true, .shrink = 30}};
    struct outline *o = outline_new(p->run);
    struct own *own = xcalloc(p->run->graph.count + 1, sizeof *own);
    size_t count = 0;
    double time = query_all_time(p->run);
    for (uint32_t i = 1; i < p->run->graph.count; i++)
        if (p->run->graph.nodes[i].kind == GRAPH_PROCEDURE && listed(o, &o->items[i]) &&
            !outline_summed(o, i)) {
            const struct outline_sum *sum = &o->sums[i];
            own[count++] = (struct own){&o->items[i], sum->own, sum->own_estimated};
        }
    if (count)
        qsort(own, count, sizeof *own, by_self);
    struct table *t = table_for(o, columns, COUNT(columns));
    for (size_t i = 0; i < count && i < most; i++) {
        const struct run_value *total = &own[i].item->total;
        cell_share(t, time > 0 ? own[i].self / time : NAN);
        cell_estimate(t, own[i].self, own[i].estimated);
        cell_estimate(t, total->time, total->estimated > 0);
        if (o->estimated)
            cell_error(t, total);
        cell_count(t, total->count);
        procedure_cell(t, o, own[i].item->node, 0, NULL);
    }
    strbuf_putc(p->out, '\n');
    if (count)
        table_print(t, p->width, p->color, p->out);
    else
        strbuf_puts(p->out, "no procedure with probes was executed\n");
    part_more(p, most, count, "procedures (report --by procedure)");
    part_legend(p, o);
    table_free(t);
    free(own);
    outline_free(o);
}

void part_mpi(const struct part *p, const char *label)
{
    struct run_rank all = query_all(p->run);
    double time = run_rank_time(&all);
    char inside[FORMAT_ROOM], share[FORMAT_ROOM], sync[FORMAT_ROOM], transfer[FORMAT_ROOM];
    struct strbuf text = {0};
    if (!p->run->mpi)
        return;
    strbuf_printf(&text,
                  "%s of all ranks' time, %s: %s of synchronisation (waiting for others) and %s of "
                  "transmission (transfer)",
                  format_time(inside, all.mpi_s),
                  format_percent(share, time > 0 ? all.mpi_s / time : NAN),
                  format_time(sync, all.sync_s), format_time(transfer, run_rank_transfer(&all)));
    table_wrap(p->out, label, text.text, p->width);
    strbuf_free(&text);
}
