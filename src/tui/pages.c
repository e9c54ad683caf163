/* SPDX-License-Identifier: MIT */
/* The pages of the live view, as lines of text. */
#include "tui/state.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "view/format.h"
#include "view/report.h"
#include "view/table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "loupe top: what the program does, while it runs\n"
    "\n"
    "  f          communication statements\n"
    "  r          ranks\n"
    "  p          peers: the communication matrix\n"
    "  w          waits: who waited for whom\n"
    "  g          the program from the top down, as it is written\n"
    "  d l a      procedures with their callers; loops; calls\n"
    "  Enter      everything about what is selected; again, Escape or f: back\n"
    "  x          the critical path\n"
    "  u          the source of what is selected, with the times beside its lines\n"
    "\n"
    "  t s        sort statements by time, which is by share\n"
    "  c          ... by count\n"
    "  b          ... by bytes\n"
    "  m          ... by the longest execution\n"
    "\n"
    "  arrows, PgUp, PgDn, Home, End    move\n"
    "  space      pause and go on\n"
    "  + -        read more or less often\n"
    "  h ?        this page\n"
    "  q          quit; the program goes on\n"
    "\n"
    "share: of all ranks' time. /s: since the last reading. rank min/avg/max: time per rank.\n"
    "waiting: part of the statement's time; the rest is transfer, as is a call that goes on.\n"
    "peer: the one that costs the statement most, as the rank that executes it sees it.\n";

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_node(const struct graph_node *a, const struct graph_node *b)
{
    return a->kind == b->kind && a->line == b->line && same(a->name, b->name) &&
           same(a->file, b->file) && same(a->procedure, b->procedure) &&
           (a->line || (a->offset == b->offset && same(a->module, b->module)));
}

uint32_t top_find(const struct run *run, const struct graph_node *node, uint32_t hint)
{
    if (hint < run->graph.count && same_node(&run->graph.nodes[hint], node))
        return hint;
    for (uint32_t i = 0; i < run->graph.count; i++)
        if (same_node(&run->graph.nodes[i], node))
            return i;
    return GRAPH_NONE;
}

void top_lines_free(struct top_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->text[i]);
    free(lines->text);
    free(lines->nodes);
    *lines = (struct top_lines){0};
}

static void add_lines(struct top_lines *lines, const char *text)
{
    while (text && *text) {
        size_t len = strcspn(text, "\n"), count = lines->count;
        char **line = VEC_PUSH(lines->text, lines->count, lines->room);
        *line = strndup(text, len);
        if (!*line)
            *line = xstrdup("");
        *VEC_PUSH(lines->nodes, count, lines->node_room) = GRAPH_NONE;
        text += len + (text[len] == '\n');
    }
}

/* What was added since the reading before; a statement that was not there began at nothing. */
static struct run_value before_of(const struct top_state *s, uint32_t node)
{
    struct run_value none = {0};
    if (!s->before)
        return none;
    uint32_t old = top_find(s->before, &s->run->graph.nodes[node], node);
    return old == GRAPH_NONE ? none : run_total(s->before, old);
}

static void rate_cells(const struct top_state *s, struct table *t, const struct query_item *item)
{
    double seconds = s->read_at - s->before_at;
    struct run_value before = before_of(s, item->node);
    char text[FORMAT_ROOM];
    /* A reset makes counts go back. */
    if (!s->before || seconds <= 0 || before.count > item->total.count) {
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    double calls = (double)(item->total.count - before.count) / seconds;
    double bytes =
        item->total.bytes < before.bytes ? 0 : (double)(item->total.bytes - before.bytes) / seconds;
    if (calls > 0 && calls < 10)
        table_cell(t, "%.1f", calls);
    else
        table_cell(t, "%s", format_count(text, (uint64_t)(calls + 0.5)));
    table_cell(t, "%s", bytes > 0 ? format_bytes(text, (uint64_t)bytes) : "-");
}

static void statement_row(const struct top_state *s, struct table *t, const struct query_item *item)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_percent(text, item->share));
    table_cell(t, "%s", format_time(text, item->total.time));
    table_cell(t, "%s", format_percent(text, query_waiting(s->run, item)));
    table_cell(t, "%s", format_count(text, item->total.count));
    table_cell(t, "%s", item->total.bytes ? format_bytes(text, item->total.bytes) : "-");
    rate_cells(s, t, item);
    table_cell(t, "%s", format_time(text, item->total.count ? item->total.max : NAN));
    table_cell(t, "%s", format_spread(text, item->min_s, item->avg_s, item->max_s));
    table_cell(t, "%s", item->worst ? format_pair(text, s->run, item->worst) : "-");
    char *name = format_node(&s->run->graph.nodes[item->node]);
    table_cell(t, "%s", name);
    table_brief(t, format_node_brief(&s->run->graph.nodes[item->node]));
    free(name);
}

static void statements(const struct top_state *s, int width, struct top_lines *lines)
{
    static const struct table_column columns[] = {
        {.title = "share"},
        {.title = "time"},
        {.title = "waiting", .drop = 7},
        {.title = "count"},
        {.title = "bytes", .drop = 4},
        {.title = "calls/s", .drop = 5},
        {.title = "bytes/s", .drop = 3},
        {.title = "longest", .drop = 1},
        {.title = "rank min/avg/max", .drop = 6},
        {.title = "peer", .drop = 2},
        {.title = "statement", .left = true, .shrink = 30}};
    struct query_item *items;
    size_t count = query_items(s->run, GRAPH_COMMUNICATION, s->sort, &items);
    struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        statement_row(s, t, &items[i]);
    struct strbuf out = {0};
    table_print(t, width, false, &out);
    add_lines(lines, out.text);
    lines->fixed = 1;
    for (size_t i = 0; i < count && i + 1 < lines->count; i++)
        lines->nodes[i + 1] = items[i].node;
    if (!count)
        add_lines(lines, "no communication statement was executed yet\n");
    strbuf_free(&out);
    table_free(t);
    free(items);
}

bool top_selectable(enum top_page page)
{
    return page == TOP_STATEMENTS || (page >= TOP_TREE && page <= TOP_SOURCE);
}

/* A level of the report. Its first line has the titles, its lines know what they show. */
static void level(const struct top_state *s, struct view_options *options, size_t fixed,
                  struct top_lines *lines)
{
    struct strbuf out = {0};
    struct view_lines shown = {0};
    options->lines = &shown;
    view_text(s->run, options, &out);
    options->lines = NULL;
    add_lines(lines, out.text);
    for (size_t i = 0; i < shown.count && i < lines->count; i++)
        lines->nodes[i] = shown.nodes[i];
    lines->fixed = fixed && lines->count > fixed && shown.count ? fixed : 0;
    free(shown.nodes);
    strbuf_free(&out);
}

static void source(const struct top_state *s, struct view_options *options, struct top_lines *lines)
{
    options->source = s->source;
    options->full = true;
    level(s, options, 0, lines);
}

static void detail(const struct top_state *s, const struct view_options *options,
                   struct top_lines *lines)
{
    uint32_t node = top_find(s->run, &s->detail, GRAPH_NONE);
    struct strbuf out = {0};
    view_node(s->run, node, options, &out);
    add_lines(lines, out.text ? out.text : "this statement is not in the run any more\n");
    strbuf_free(&out);
}

void top_page_lines(const struct top_state *state, int width, struct top_lines *lines)
{
    struct view_options options = {.width = width, .top = INT_MAX};
    struct strbuf out = {0};
    *lines = (struct top_lines){0};
    switch (state->page) {
    case TOP_STATEMENTS: statements(state, width, lines); break;
    case TOP_DETAIL: detail(state, &options, lines); break;
    case TOP_HELP: add_lines(lines, help); break;
    case TOP_TREE:
    case TOP_PROCEDURES:
    case TOP_LOOPS:
    case TOP_CALLS:
        options.by = state->page == TOP_TREE         ? VIEW_PROGRAM
                     : state->page == TOP_PROCEDURES ? VIEW_PROCEDURE
                     : state->page == TOP_LOOPS      ? VIEW_LOOP
                                                     : VIEW_CALL;
        options.top = 0;
        level(state, &options, 1, lines);
        break;
    case TOP_PATH:
        options.by = VIEW_PATH;
        level(state, &options, 0, lines);
        if (state->switches && !state->ended)
            add_lines(lines,
                      state->run->path.on ? "\nc switches it off\n" : "\nc switches it on\n");
        while (lines->fixed < lines->count && lines->nodes[lines->fixed] == GRAPH_NONE)
            lines->fixed++; /* the sentence and the titles */
        lines->fixed = lines->fixed < lines->count ? lines->fixed : 0;
        break;
    case TOP_SOURCE: source(state, &options, lines); break;
    case TOP_AT:
        options.at_file = state->at_file;
        options.at_line = state->at_line;
        level(state, &options, 0, lines);
        break;
    case TOP_RANKS:
    case TOP_PEERS:
    case TOP_WAITS:
        options.by = state->page == TOP_RANKS ? VIEW_RANK : VIEW_PEER;
        options.waits = state->page == TOP_WAITS;
        options.top = state->page == TOP_RANKS ? INT_MAX : 0;
        view_text(state->run, &options, &out);
        add_lines(lines, out.text);
        lines->fixed = state->page == TOP_RANKS;
        break;
    case TOP_PAGES: break;
    }
    strbuf_free(&out);
}

char *top_header(const struct top_state *state)
{
    const struct run *run = state->run;
    char time[FORMAT_ROOM];
    size_t running = 0;
    struct strbuf out = {0};
    for (size_t i = 0; i < run->rank_count; i++)
        running += run->ranks[i].state == RUN_RUNNING;
    strbuf_printf(&out, "%s  %zu %s%s", run->program ? run->program : "loupe", run->rank_count,
                  run->mpi ? "rank" : "process",
                  run->rank_count == 1 ? ""
                  : run->mpi           ? "s"
                                       : "es");
    if (run_hosts(run) == 1 && run->ranks[0].host)
        strbuf_printf(&out, " on %s", run->ranks[0].host);
    else if (run->rank_count)
        strbuf_printf(&out, " on %zu hosts", run_hosts(run));
    strbuf_printf(&out, "  %s  %s", run->mpi ? run->mpi : "no MPI",
                  format_time(time, run_time(run)));
    if (state->ended)
        strbuf_puts(&out, "  ENDED: this is the last that was seen");
    else if (state->paused)
        strbuf_puts(&out, "  PAUSED");
    else if (running < run->rank_count)
        strbuf_printf(&out, "  %zu running", running);
    return strbuf_take(&out);
}

char *top_subheader(const struct top_state *state)
{
    static const char *const sorts[QUERY_SORTS] = {"time", "count", "bytes", "longest"};
    struct run_efficiency e = run_efficiency(state->run);
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM], every[FORMAT_ROOM];
    struct strbuf out = {0};
    if (state->error && !state->ended)
        strbuf_printf(&out, "not read: %s; ", strerror(-state->error));
    strbuf_printf(&out, "efficiency %s = load balance %s x communication %s",
                  format_percent(a, e.parallel), format_percent(b, e.load_balance),
                  format_percent(c, e.communication));
    if (state->page == TOP_STATEMENTS)
        strbuf_printf(&out, "; by %s", sorts[state->sort]);
    strbuf_printf(&out, "; every %s", format_time(every, state->interval));
    return strbuf_take(&out);
}
