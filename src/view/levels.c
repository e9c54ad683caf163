/* SPDX-License-Identifier: MIT */
/* The levels of the program's structure, and the ranks. */
#include "view/format.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void program_row(const struct part *p, struct table *t, const struct query_item *item,
                        int indent)
{
    const struct graph_node *n = &p->run->graph.nodes[item->node];
    cell_share(t, item->share);
    if (item->node) {
        cell_total(t, &item->total, item->total.time);
        cell_total(t, &item->total, item->total.self);
    } else { /* measured as a whole */
        cell_time(t, item->total.time);
        cell_time(t, item->total.self);
    }
    if (p->run->mpi)
        part_split(t, p->run, item);
    cell_count(t, item->total.count);
    cell_bytes(t, item->total.bytes);
    cell_spread(t, item);
    if (n->kind == GRAPH_COMMUNICATION) {
        /* its procedure stands above it already */
        struct graph_node alone = *n;
        alone.procedure = NULL;
        cell_node(t, &alone, indent);
    } else {
        const char *kind = graph_kind_name(n->kind);
        char *brief = n->name ? format_procedure_brief(n->name) : NULL;
        table_cell(t, "%*s%s %s", indent, "", kind, n->name ? n->name : "?");
        table_brief(t, brief ? xasprintf("%*s%s %s", indent, "", kind, brief) : NULL);
        table_style(t, TABLE_HEAD);
        free(brief);
    }
}

static size_t program_rows(const struct part *p, struct table *t, uint32_t parent, int indent)
{
    struct query_item *items;
    size_t count = query_children(p->run, parent, &items), hidden = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= (size_t)p->top) {
            hidden += count - i;
            break;
        }
        program_row(p, t, &items[i], indent);
        /* A parent stands before its children, so that this ends. */
        if (items[i].node > parent)
            hidden += program_rows(p, t, items[i].node, indent + 2);
    }
    free(items);
    return hidden;
}

void part_program(const struct part *p)
{
    if (outline_probed(p->run)) {
        part_tree(p);
        return;
    }
    struct table_column columns[] = {
        {.title = "share"},
        {.title = "time"},
        {.title = "self", .drop = 2},
        {.title = "waiting", .drop = 5},
        {.title = "transfer", .drop = 1},
        {.title = "count", .drop = 6},
        {.title = "bytes", .drop = 4},
        {.title = "rank min/avg/max", .drop = 3},
        {.title = "program, regions, procedures, statements", .left = true, .shrink = 30}};
    size_t count = table_without(columns, COUNT(columns), p->run->mpi ? NULL : "waiting");
    struct table *t =
        table_new(columns, table_without(columns, count, p->run->mpi ? NULL : "transfer"));
    size_t hidden = 0;
    if (p->run->graph.count) {
        struct query_item item = query_item(p->run, 0, query_all_time(p->run));
        program_row(p, t, &item, 0);
        hidden = program_rows(p, t, 0, 2);
    }
    table_print(t, p->width, p->color, p->out);
    part_more(p, 0, hidden, "below (--top shows more)");
    strbuf_puts(p->out,
                "\nSelf is what the program computes; of a region, outside what is nested in it."
                "\nA region contains what runs inside it, also of the procedures beside it."
                "\nA procedure shows the sum of its statements: no probe times it itself.\n");
    if (p->run->mpi)
        strbuf_puts(p->out,
                    "Waiting for other ranks and transfer are all that happens inside MPI.\n"
                    "Initialising and finalising MPI is outside the ranks' time.\n");
    part_estimates(p);
    table_free(t);
}

void part_procedures(const struct part *p)
{
    if (outline_probed(p->run)) {
        part_timed_procedures(p);
        return;
    }
    static const struct table_column columns[] = {
        {.title = "share"},
        {.title = "time"},
        {.title = "waiting", .drop = 6},
        {.title = "count", .drop = 4},
        {.title = "bytes", .drop = 3},
        {.title = "rank min/avg/max", .drop = 2},
        {.title = "statements", .drop = 1},
        {.title = "procedure", .left = true, .shrink = 16},
        {.title = "file", .left = true, .drop = 5, .shrink = 12}};
    struct query_item *items;
    size_t count = query_items(p->run, GRAPH_PROCEDURE, QUERY_TIME, &items);
    size_t *statements = calloc(p->run->graph.count + 1, sizeof *statements);
    for (size_t i = 0; statements && i < p->run->graph.count; i++)
        if (p->run->graph.nodes[i].parent < p->run->graph.count)
            statements[p->run->graph.nodes[i].parent]++;
    struct table *t = table_new(columns, COUNT(columns));
    for (size_t i = 0; i < count && i < (size_t)p->top; i++) {
        const struct graph_node *n = &p->run->graph.nodes[items[i].node];
        cell_share(t, items[i].share);
        cell_total(t, &items[i].total, items[i].total.time);
        cell_time(t, items[i].total.sync);
        cell_count(t, items[i].total.count);
        cell_bytes(t, items[i].total.bytes);
        cell_spread(t, &items[i]);
        table_cell(t, "%zu", statements ? statements[items[i].node] : 0);
        table_cell(t, "%s", n->name ? n->name : "?");
        table_brief(t, n->name ? format_procedure_brief(n->name) : NULL);
        table_cell(t, "%s", n->file ? format_tail(n->file, 40) : "-");
    }
    if (count)
        table_print(t, p->width, p->color, p->out);
    else
        strbuf_puts(p->out, "no procedure is known: the program has no debug information (compile "
                            "with -g), or never called MPI\n");
    part_more(p, (size_t)p->top, count, "procedures");
    part_estimates(p);
    strbuf_puts(p->out,
                count ? "\nA procedure shows the sum of its communication statements.\n" : "");
    free(statements);
    table_free(t);
    free(items);
}

/* Minimum, average and maximum are of one execution here, for the spread over the ranks stands
 * beside them. */
void part_communications(const struct part *p)
{
    static const struct table_column columns[] = {
        {.title = "share"},
        {.title = "time"},
        {.title = "waiting", .drop = 6},
        {.title = "count", .drop = 5},
        {.title = "bytes", .drop = 4},
        {.title = "min", .drop = 2},
        {.title = "max", .drop = 2},
        {.title = "rank min/avg/max", .drop = 3},
        {.title = "peer", .drop = 1},
        {.title = "statement", .left = true, .shrink = 30}};
    struct query_item *items;
    size_t count = query_items(p->run, GRAPH_COMMUNICATION, QUERY_TIME, &items);
    struct table *t = table_new(columns, COUNT(columns));
    for (size_t i = 0; i < count && i < (size_t)p->top; i++) {
        const struct query_item *item = &items[i];
        char pair[FORMAT_ROOM];
        cell_share(t, item->share);
        cell_total(t, &item->total, item->total.time);
        cell_waiting(t, p->run, item);
        cell_count(t, item->total.count);
        cell_bytes(t, item->total.bytes);
        cell_time(t, item->total.min);
        cell_time(t, item->total.count ? item->total.max : NAN);
        cell_spread(t, item);
        table_cell(t, "%s", item->worst ? format_pair(pair, p->run, item->worst) : "-");
        cell_node(t, &p->run->graph.nodes[item->node], 0);
    }
    if (count)
        table_print(t, p->width, p->color, p->out);
    else
        strbuf_puts(p->out, "no communication statement was executed\n");
    part_more(p, (size_t)p->top, count, "statements");
    part_estimates(p);
    if (outline_probed(p->run)) {
        strbuf_putc(p->out, '\n');
        part_mpi(p, "Inside MPI: ");
    }
    part_doubts(p, p->full ? SIZE_MAX : (size_t)p->top);
    table_free(t);
    free(items);
}

void part_others(const struct part *p, enum graph_kind kind)
{
    for (size_t i = 0; i < p->run->graph.count; i++)
        if (p->run->graph.nodes[i].kind == kind) {
            struct outline *o = outline_new(p->run);
            part_timed(p, o, kind);
            outline_free(o);
            return;
        }
    if (outline_probed(p->run)) {
        strbuf_printf(p->out, "this program has no %ss that probes can time\n",
                      graph_kind_name(kind));
        return;
    }
    strbuf_printf(p->out,
                  "this run has no %ss: they need probes in the program, and this one ran "
                  "with none.\n--by program, procedure and communication have answers.\n",
                  graph_kind_name(kind));
}

void part_ranks(const struct part *p)
{
    struct table_column columns[] = {{.title = "rank"},
                                     {.title = "time"},
                                     {.title = "compute"},
                                     {.title = "waiting"},
                                     {.title = "transfer"},
                                     {.title = "MPI share", .drop = 2},
                                     {.title = "events", .drop = 5},
                                     {.title = "init", .drop = 1},
                                     {.title = "finalize", .drop = 1},
                                     {.title = "overhead", .drop = 7},
                                     {.title = "preempted", .drop = 6},
                                     {.title = "state", .left = true},
                                     {.title = "pid", .drop = 3},
                                     {.title = "host", .left = true, .drop = 4, .shrink = 8}};
    bool preempted = !isnan(query_all(p->run).preempted_s);
    struct table *t =
        table_new(columns, table_without(columns, COUNT(columns), preempted ? NULL : "preempted"));
    for (size_t i = 0; i < p->run->rank_count && i < (size_t)p->top; i++) {
        const struct run_rank *r = &p->run->ranks[i];
        double time = run_rank_time(r);
        char text[FORMAT_ROOM];
        table_cell(t, "%s", format_rank(text, r));
        cell_time(t, time);
        cell_time(t, run_rank_compute(r));
        cell_time(t, r->sync_s);
        cell_time(t, run_rank_transfer(r));
        cell_share(t, time > 0 ? r->mpi_s / time : NAN);
        cell_count(t, r->events);
        cell_time(t, r->mpi ? r->init_real_s : NAN);
        cell_time(t, r->mpi ? r->finalize_real_s : NAN);
        cell_time(t, r->overhead_s);
        if (preempted)
            cell_time(t, r->preempted_s);
        if (r->state == RUN_KILLED && r->signal > 0)
            table_cell(t, "killed (signal %d)", r->signal);
        else if ((r->state == RUN_EXITED || r->state == RUN_ABORTED) && r->exit_code >= 0)
            table_cell(t, "%s (code %d)", run_state_name(r->state), r->exit_code);
        else
            table_cell(t, "%s", run_state_name(r->state));
        if (r->state != RUN_RUNNING && r->state != RUN_FINISHED)
            table_style(t, TABLE_HOT);
        table_cell(t, "%d", r->pid);
        table_cell(t, "%s", r->host ? r->host : "-");
    }
    if (p->run->rank_count)
        table_print(t, p->width, p->color, p->out);
    else
        strbuf_puts(p->out, "no process was seen\n");
    part_more(p, (size_t)p->top, p->run->rank_count, "ranks");
    part_warnings(p, SIZE_MAX);
    table_free(t);
}
