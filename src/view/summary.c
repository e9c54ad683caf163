/* SPDX-License-Identifier: MIT */
/* The report that fits one screen. The peer of a statement is the one that costs it most. */
#include "view/format.h"
#include "view/parts.h"
#include "view/path.h"
#include "view/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS_MOST = 3, WAITS_MOST = 3, DOUBTS_MOST = 5, PATH_MORE = 2, LABEL = 12 };
enum { SCREEN = 30, STATEMENTS_MOST = 10, WARNINGS_MOST = 2 };

/* Rows where procedures share the screen with statements. */
enum { PROCEDURES_SHARED = 5, STATEMENTS_SHARED = 4, REGIONS_SHARED = 2, WARNINGS_SHARED = 1 };

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void label(const struct part *p, const char *name)
{
    table_color(p->out, TABLE_FAINT, p->color);
    strbuf_printf(p->out, "%-*s", LABEL, name);
    table_color(p->out, TABLE_PLAIN, p->color);
}

static void line_text(const struct part *p, const char *name, const char *text)
{
    label(p, name);
    table_text(p->out, text, p->width - LABEL);
    strbuf_putc(p->out, '\n');
}

/* What loses its sense with its end takes as many lines as it needs. */
static void line_sentence(const struct part *p, const char *name, const char *text)
{
    struct strbuf lines = {0};
    table_wrap(&lines, "", text, p->width - LABEL);
    for (const char *at = lines.text; at && *at; name = "") {
        size_t len = strcspn(at, "\n") + 1; /* the last one too has its end */
        label(p, name);
        strbuf_add(p->out, at, len);
        at += len;
    }
    strbuf_free(&lines);
}

/* A word of a command as a shell would take it again. */
static void put_word(struct strbuf *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_^";
    if (text->len)
        strbuf_putc(text, ' ');
    size_t len = 0; /* what is not ASCII means nothing to a shell */
    while (word[len] && ((unsigned char)word[len] >= 0x80 || strchr(plain, word[len])))
        len++;
    if (len && !word[len]) {
        strbuf_puts(text, word);
        return;
    }
    strbuf_putc(text, '\'');
    for (; *word; word++)
        if (*word == '\'')
            strbuf_puts(text, "'\\''");
        else
            strbuf_putc(text, *word);
    strbuf_putc(text, '\'');
}

static void line_program(const struct part *p)
{
    const struct run *run = p->run;
    struct strbuf text = {0};
    char date[FORMAT_ROOM];
    size_t hosts = run_hosts(run);
    bool mpi = run->mpi != NULL;
    strbuf_printf(&text, "%s, %zu %s%s", run->program ? run->program : "unknown", run->rank_count,
                  mpi ? "rank" : "process",
                  mpi || run->rank_count == 1 ? plural(run->rank_count) : "es");
    if (hosts == 1 && run->ranks[0].host)
        strbuf_printf(&text, " on %s", run->ranks[0].host);
    else if (hosts > 1)
        strbuf_printf(&text, " on %zu hosts", hosts);
    strbuf_printf(&text, ", %s", mpi ? run->mpi : "no MPI");
    if (run->started_ns > 0)
        strbuf_printf(&text, ", %s", format_date(date, run->started_ns));
    line_text(p, "program", text.text);
    if (run->command && run->command[0]) {
        strbuf_clear(&text);
        for (size_t i = 0; run->command[i]; i++)
            put_word(&text, run->command[i]);
        line_text(p, "command", text.text);
    }
    strbuf_free(&text);
}

static void line_time(const struct part *p)
{
    const struct run_rank *longest = query_longest(p->run);
    char time[FORMAT_ROOM], real[FORMAT_ROOM], overhead[FORMAT_ROOM];
    struct strbuf text = {0};
    if (longest) {
        strbuf_puts(&text, format_time(time, run_rank_time(longest)));
        format_time(real, longest->real_s);
        format_time(overhead, fabs(longest->overhead_s));
        bool local = p->run->compensation == RUN_COMPENSATION_LOCAL;
        const char *own = local ? "its own " : ""; /* and not what came from other ranks */
        if (p->run->compensation == RUN_COMPENSATION_NONE)
            strbuf_puts(&text, " (real; what monitoring cost is not taken out)");
        else if (longest->overhead_s > 0)
            strbuf_printf(&text, " (real %s, less %s of %smonitoring)", real, overhead, own);
        else if (longest->overhead_s < 0) /* it changed who waits for whom */
            strbuf_printf(&text, " (real %s: monitoring made it %s shorter)", real, overhead);
    } else {
        strbuf_puts(&text, "no process was seen");
    }
    line_text(p, "time", text.text);
    strbuf_free(&text);
}

/* "8.72 s compute (87%), ..." */
static void put_share(struct strbuf *text, double seconds, double all, const char *what)
{
    char time[FORMAT_ROOM];
    double percent = all > 0 ? 100 * seconds / all : 0;
    strbuf_printf(text, "%s%s %s (%.*f%%)", text->len ? ", " : "", format_time(time, seconds), what,
                  fabs(percent) < 9.95 ? 1 : 0, percent);
}

static const double worth_saying = 0.005; /* of the time: below that, nothing competes with it */

static void line_spent(const struct part *p)
{
    struct run_rank all = query_all(p->run);
    struct strbuf text = {0};
    double time = run_rank_time(&all);
    if (!p->run->mpi || !p->run->rank_count)
        return;
    put_share(&text, run_rank_compute(&all), time, "compute");
    put_share(&text, all.sync_s, time, "waiting");
    put_share(&text, run_rank_transfer(&all), time, "transfer");
    line_text(p, "ranks' time", text.text);
    strbuf_free(&text);
    if (all.preempted_s >= worth_saying * time) {
        put_share(&text, all.preempted_s, time, "in which others had the ranks' cores");
        line_text(p, "preempted", text.text);
        strbuf_free(&text);
    }
}

/* How far moments on other hosts can be trusted. */
static void line_clocks(const struct part *p)
{
    double error = 0, drift = 0;
    const struct run_rank *ranks = p->run->ranks;
    for (size_t i = 0; ranks && i < p->run->rank_count; i++) {
        error = fmax(error, ranks[i].clock_error_s); /* which passes over NAN */
        drift = fmax(drift, fabs(ranks[i].clock_drift));
    }
    if (error > 0) {
        char text[FORMAT_ROOM];
        struct strbuf line = {0};
        strbuf_printf(&line, "those of other hosts are known to %s", format_time(text, error));
        if (drift > 0)
            strbuf_printf(&line, "; they drift apart by %.3g ppm", drift * 1e6);
        line_text(p, "clocks", line.text);
        strbuf_free(&line);
    }
}

/* What the probes cost, and whether every message had its header. */
static void line_monitoring(const struct part *p)
{
    struct run_rank all = query_all(p->run);
    const struct run_rank *most = NULL;
    struct strbuf text = {0};
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM];
    for (size_t i = 0; i < p->run->rank_count; i++)
        if (!most || p->run->ranks[i].probe_s > most->probe_s)
            most = &p->run->ranks[i];
    if (most && most->probe_s > 0) {
        strbuf_printf(&text, "a rank's own probes cost %s",
                      format_time(a, all.probe_s / (double)p->run->rank_count));
        if (!isnan(all.probe_error_s))
            strbuf_printf(&text, " ± %s",
                          format_time(a, all.probe_error_s / (double)p->run->rank_count));
        strbuf_puts(&text, " on average");
        if (p->run->rank_count > 1)
            strbuf_printf(&text, " and %s at most (rank %s)", format_time(b, most->probe_s),
                          format_rank(c, most));
        line_sentence(p, "monitoring", text.text);
    }
    strbuf_clear(&text);
    strbuf_printf(&text, "%s paired, %s missing, %s ambiguous", format_number(a, all.paired),
                  format_number(b, all.missing), format_number(c, all.ambiguous));
    if (all.paired || all.missing || all.ambiguous)
        line_text(p, "headers", text.text);
    strbuf_free(&text);
    line_clocks(p);
}

/* Waits that are worth a line: 1 % of the run. */
static void line_waits(const struct part *p, size_t most)
{
    struct wait *waits;
    size_t count = waits_list(p->run, &waits);
    double least = 0.01 * query_all_time(p->run);
    for (size_t i = 0; i < count && i < most && waits[i].sync_s >= least; i++) {
        struct strbuf text = {0};
        wait_sentence(p->run, &waits[i], &text);
        line_text(p, i ? "" : "worst waits", text.text);
        strbuf_free(&text);
    }
    free(waits);
}

/* The first of the ranks that ended in this state, by number, with what is known of the end. */
static void list_state(const struct part *p, enum run_state state, struct strbuf *text)
{
    size_t count = 0;
    const struct run_rank *first = NULL;
    char rank[FORMAT_ROOM];
    for (size_t i = 0; i < p->run->rank_count; i++)
        if (p->run->ranks[i].state == state) {
            first = first ? first : &p->run->ranks[i];
            count++;
        }
    if (!count)
        return;
    strbuf_printf(text, "%s%zu of %zu %s (", text->len ? ", " : "", count, p->run->rank_count,
                  run_state_name(state));
    strbuf_printf(text, "%srank %s", count > 1 ? "first " : "", format_rank(rank, first));
    if (state == RUN_KILLED && first->signal > 0)
        strbuf_printf(text, ", signal %d", first->signal);
    else if (state != RUN_RUNNING && first->exit_code >= 0)
        strbuf_printf(text, ", exit code %d", first->exit_code);
    strbuf_putc(text, ')');
}

static void line_state(const struct part *p)
{
    static const enum run_state ends[] = {RUN_KILLED, RUN_ABORTED, RUN_EXITED};
    struct strbuf text = {0};
    if (p->run->complete || !p->run->rank_count)
        return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        list_state(p, ends[i], &text);
    if (!text.len && p->run->live)
        strbuf_puts(&text, "running");
    else if (!text.len)
        list_state(p, RUN_RUNNING, &text);
    label(p, "state");
    if (!p->run->live)
        table_color(p->out, TABLE_HOT, p->color);
    strbuf_puts(p->out, p->run->live ? "" : "not complete: ");
    table_text(p->out, text.text ? text.text : "a rank ended without MPI_Finalize", p->width - 26);
    table_color(p->out, TABLE_PLAIN, p->color);
    strbuf_putc(p->out, '\n');
    strbuf_free(&text);
}

static void line_efficiency(const struct part *p)
{
    struct run_efficiency e = run_efficiency(p->run);
    const struct {
        const char *name, *meaning;
        double value;
    } lines[] = {
        {"parallel", "of the run the average rank computes", e.parallel},
        {"load balance", "the average rank's work / the busiest rank's", e.load_balance},
        {"communication", "of the run the busiest rank computes", e.communication},
    };
    if (!p->run->mpi || isnan(e.parallel))
        return;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char percent[FORMAT_ROOM];
        label(p, i ? "" : "efficiency");
        format_percent(percent, lines[i].value);
        strbuf_printf(p->out, "%6s  ", percent);
        table_color(p->out, TABLE_HEAD, p->color);
        strbuf_printf(p->out, "%s", lines[i].name);
        table_color(p->out, TABLE_PLAIN, p->color);
        strbuf_printf(p->out, "%*s", 15 - (int)strlen(lines[i].name), "");
        table_text(p->out, lines[i].meaning, p->width - LABEL - 23);
        strbuf_putc(p->out, '\n');
    }
}

static void regions(const struct part *p, size_t most)
{
    static const struct table_column columns[] = {{.title = "share"},
                                                  {.title = "time"},
                                                  {.title = "count"},
                                                  {.title = "rank min/avg/max", .drop = 1},
                                                  {.title = "region", .left = true, .shrink = 24}};
    struct query_item *items;
    size_t count = query_items(p->run, GRAPH_REGION, QUERY_TIME, &items);
    most = (size_t)p->top < most ? (size_t)p->top : most;
    if (count) {
        struct table *t = table_new(columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < count && i < most; i++) {
            cell_share(t, items[i].share);
            cell_time(t, items[i].total.time);
            cell_count(t, items[i].total.count);
            cell_spread(t, &items[i]);
            cell_node(t, &p->run->graph.nodes[items[i].node], 0);
        }
        strbuf_putc(p->out, '\n');
        table_print(t, p->width, p->color, p->out);
        part_more(p, most, count, "regions (report --by program)");
        table_free(t);
    }
    free(items);
}

/* Where a rank's threads communicate side by side, what stands in the table is more than the ranks'
 * time inside MPI, and may be more than all their time. */
static void note_threads(const struct part *p, const struct query_item *items, size_t count)
{
    double sum = 0;
    bool threads = false;
    for (size_t i = 0; i < p->run->rank_count; i++)
        threads |= p->run->ranks[i].threads > 1;
    for (size_t i = 0; i < count; i++)
        sum += items[i].total.time;
    if (threads && sum > 1.05 * query_all(p->run).mpi_s)
        part_note(p, "Several threads of a rank communicate at once: statements have the sum of "
                     "their times, ranks the mean.");
}

static void statements(const struct part *p, size_t most)
{
    static const struct table_column columns[] = {
        {.title = "share"},
        {.title = "time"},
        {.title = "waiting", .drop = 5},
        {.title = "count", .drop = 4},
        {.title = "bytes", .drop = 2},
        {.title = "rank min/avg/max", .drop = 3},
        {.title = "peer", .drop = 1},
        {.title = "statement", .left = true, .shrink = 42}};
    struct query_item *items;
    size_t all = query_items(p->run, GRAPH_COMMUNICATION, QUERY_TIME, &items), count = 0;
    while (count < all && !run_outside_time(&p->run->graph.nodes[items[count].node]))
        count++;
    strbuf_putc(p->out, '\n');
    struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && i < most; i++) {
        char pair[FORMAT_ROOM];
        cell_share(t, items[i].share);
        cell_total(t, &items[i].total, items[i].total.time);
        cell_waiting(t, p->run, &items[i]);
        cell_count(t, items[i].total.count);
        cell_bytes(t, items[i].total.bytes);
        cell_spread(t, &items[i]);
        table_cell(t, "%s", items[i].worst ? format_pair(pair, p->run, items[i].worst) : "-");
        cell_node(t, &p->run->graph.nodes[items[i].node], 0);
    }
    if (count)
        table_print(t, p->width, p->color, p->out);
    else
        strbuf_puts(p->out, "no communication statement was executed\n");
    part_more(p, most, count, "statements (report --by communication)");
    note_threads(p, items, count);
    part_estimates(p);
    table_free(t);
    free(items);
}

/* The sentence, and what the next ones would save. */
static void lines_path(const struct part *p)
{
    const struct run_path *path = &p->run->path;
    struct strbuf text = {0};
    double span = path_span(p->run);
    char time[FORMAT_ROOM], percent[FORMAT_ROOM];
    if (!path->known)
        return;
    path_sentence(p->run, &text);
    line_sentence(p, "path", text.text);
    strbuf_clear(&text);
    for (size_t i = 1; !path->searching && i < path->item_count && i <= PATH_MORE; i++) {
        double saves = run_path_saves(path, &path->items[i]);
        char *name = path_item_name(p->run, &path->items[i]);
        if (span > 0 && saves >= worth_saying * span)
            strbuf_printf(&text, "%s%s at most %s (%s)", text.len ? ", " : "then ", name,
                          format_percent(percent, saves / span), format_time(time, saves));
        free(name);
    }
    if (text.len)
        line_sentence(p, "", text.text);
    strbuf_clear(&text);
    if (path->top && path->item_count && !path->searching)
        strbuf_printf(&text, "the items have %s of it; %s", format_percent(percent, path->covered),
                      path->complete ? "complete" : "not complete");
    if (text.len)
        line_sentence(p, "", text.text);
    strbuf_free(&text);
}

static void heading(const struct part *p)
{
    line_program(p);
    line_time(p);
    line_spent(p);
    line_state(p);
    line_efficiency(p);
    lines_path(p);
}

static size_t nodes_of(const struct run *run, enum graph_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < run->graph.count; i++)
        count += run->graph.nodes[i].kind == kind;
    return count;
}

static size_t lines_of(const struct part *p)
{
    size_t lines = 0;
    for (size_t i = 0; i < p->out->len; i++)
        lines += p->out->text[i] == '\n';
    return lines;
}

/* What one screen has left for waits and regions, below the heading, the statements and the
 * warnings. */
static void share_screen(const struct part *p, size_t *waits, size_t *rows)
{
    size_t lines = lines_of(p), statements = nodes_of(p->run, GRAPH_COMMUNICATION);
    lines += 2 + (statements < STATEMENTS_MOST ? statements : STATEMENTS_MOST) + 1;
    lines += p->run->warning_count ? 4 : 0;
    size_t left = lines < SCREEN ? SCREEN - lines : 0;
    size_t regions = nodes_of(p->run, GRAPH_REGION) ? 3 : 0; /* without the rows */
    *waits = left > regions + 1 ? left - regions - 1 : 1;
    *waits = *waits < WAITS_MOST ? *waits : WAITS_MOST;
    *rows = left > regions + *waits ? left - regions - *waits : 1;
    *rows = *rows < REGIONS_MOST ? *rows : REGIONS_MOST;
}

void part_top_down(const struct part *p)
{
    heading(p);
    line_monitoring(p);
    line_waits(p, WAITS_MOST);
    strbuf_putc(p->out, '\n');
    part_program(p);
    part_doubts(p, p->full ? SIZE_MAX : DOUBTS_MOST);
    part_warnings(p, SIZE_MAX);
}

/* One screen has room for procedures only where the rest leaves it. */
static void summary_with_procedures(const struct part *p)
{
    heading(p);
    line_waits(p, 1);
    part_self(p, p->limited ? (size_t)p->top : PROCEDURES_SHARED);
    if (p->run->mpi)
        statements(p, p->limited ? (size_t)p->top : STATEMENTS_SHARED);
    regions(p, REGIONS_SHARED);
    part_warnings(p, WARNINGS_SHARED);
}

void part_summary(const struct part *p)
{
    if (outline_probed(p->run)) {
        summary_with_procedures(p);
        return;
    }
    size_t waits, rows;
    heading(p);
    share_screen(p, &waits, &rows);
    line_waits(p, waits);
    statements(p, (size_t)p->top);
    regions(p, rows);
    /* two of two lines each, an empty one above and "more" below */
    part_warnings(p, lines_of(p) + 6 <= SCREEN ? WARNINGS_MOST : 1);
}
