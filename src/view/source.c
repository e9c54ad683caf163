/* SPDX-License-Identifier: MIT */
/* A source file with the times beside its lines. */
#include "view/format.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Short files are shown whole; of others what lies around the lines that have something. */
enum { CONTEXT = 2, WHOLE = 60, TAB = 8, LINE_MOST = 4096, FILES_MOST = 10 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

struct mark {
    uint32_t line, node;
};

struct listing {
    const struct part *p;
    const struct outline *o;
    struct table *t;
    struct mark *marks; /* of this file, by line, what contains others first */
    size_t count, room;
    const char *path;    /* as the run knows it */
    struct strbuf found; /* where it was read */
    char **lines;
    size_t line_count, line_room;
    struct timespec changed;
};

/* The file that is meant: its name as the run has it, exactly or by its end. False: there is none
 * or more than one, which `out` says. */
static bool choose(struct listing *l, const char *asked)
{
    const struct graph *g = &l->p->run->graph;
    const char *others[FILES_MOST];
    size_t count = 0;
    for (int exactly = 1; exactly >= 0 && !count; exactly--)
        for (size_t i = 0; i < g->count; i++) {
            const char *file = g->nodes[i].line ? g->nodes[i].file : NULL;
            size_t at = 0;
            if (!file || (exactly ? strcmp(file, asked) != 0 : !query_same_file(file, asked)))
                continue;
            while (at < count && strcmp(others[at], file))
                at++;
            if (at == count && count < FILES_MOST)
                others[count++] = file;
        }
    l->path = count ? others[0] : NULL;
    if (count > 1)
        strbuf_puts(l->p->out, "several files match, name one with its directory:\n");
    for (size_t i = 0; count > 1 && i < count; i++) {
        strbuf_puts(l->p->out, "  ");
        table_text(l->p->out, others[i], l->p->width);
        strbuf_putc(l->p->out, '\n');
    }
    return count == 1;
}

static void nothing_there(const struct part *p, const char *asked)
{
    const struct graph *g = &p->run->graph;
    const char *last = "";
    size_t listed = 0;
    strbuf_puts(p->out, "nothing is known of ");
    table_text(p->out, asked, p->width);
    strbuf_putc(p->out, '\n');
    for (size_t i = 0; i < g->count && listed < FILES_MOST; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (!n->line || !n->file || !strcmp(n->file, last))
            continue;
        strbuf_puts(p->out, listed++ ? ", " : "files of this run: ");
        table_text(p->out, n->file, p->width);
        last = n->file;
    }
    strbuf_puts(p->out, listed ? "\n" : "no statement of this run has a source line\n");
}

/* Whatever the file holds, a line of the listing is text: tabs become blanks here, what is not
 * printable is dealt with by the table. */
static char *line_text(const char *line)
{
    struct strbuf text = {0};
    for (; *line && *line != '\n' && *line != '\r' && text.len < LINE_MOST; line++)
        if (*line == '\t')
            strbuf_printf(&text, "%*s", TAB - (int)(text.len % TAB), "");
        else
            strbuf_putc(&text, *line);
    return strbuf_take(&text);
}

static bool read_source(struct listing *l, const char *path)
{
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    if (!file)
        return false;
    while (getline(&line, &room, file) >= 0)
        *VEC_PUSH(l->lines, l->line_count, l->line_room) = line_text(line);
    l->changed = st.st_mtim;
    strbuf_puts(&l->found, path);
    free(line);
    fclose(file);
    return true;
}

/* As the run knows it, as it was asked for, and as ever shorter ends of the path from here. */
static bool find_source(struct listing *l, const char *asked)
{
    if (read_source(l, l->path) || read_source(l, asked))
        return true;
    for (const char *end = strchr(l->path, '/'); end; end = strchr(end + 1, '/'))
        if (end[1] && read_source(l, end + 1))
            return true;
    return false;
}

static int by_line(const void *pa, const void *pb)
{
    const struct mark *a = pa, *b = pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node; /* a parent stands before its children */
}

static void collect(struct listing *l)
{
    const struct graph *g = &l->p->run->graph;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->nodes[i].line && g->nodes[i].file && !strcmp(g->nodes[i].file, l->path) &&
            outline_executed(l->o, i))
            *VEC_PUSH(l->marks, l->count, l->room) = (struct mark){g->nodes[i].line, i};
    if (l->count)
        qsort(l->marks, l->count, sizeof *l->marks, by_line);
}

static void head(const struct listing *l)
{
    const struct part *p = l->p;
    table_color(p->out, TABLE_HEAD, p->color);
    table_text(p->out, l->path, p->width);
    table_color(p->out, TABLE_PLAIN, p->color);
    strbuf_putc(p->out, '\n');
    struct strbuf text = {0};
    if (!l->found.text)
        strbuf_puts(&text, "the source was not found, neither there nor below this directory: "
                           "only what is known of its lines is shown");
    else if (p->run->started_ns > 0 && l->changed.tv_sec > p->run->started_ns / 1000000000)
        strbuf_puts(&text, "the source was changed after the run began: times may stand beside "
                           "lines that they are not of");
    if (text.len) {
        table_color(p->out, TABLE_WARM, p->color);
        table_wrap(p->out, "warning: ", text.text, p->width);
        table_color(p->out, TABLE_PLAIN, p->color);
    }
    if (l->found.text && strcmp(l->found.text, l->path)) {
        strbuf_puts(p->out, "read from ");
        table_text(p->out, l->found.text, p->width - 10);
        strbuf_putc(p->out, '\n');
    }
    strbuf_putc(p->out, '\n');
    strbuf_free(&text);
}

static void value_cells(const struct listing *l, uint32_t node)
{
    const struct query_item *item = &l->o->items[node];
    bool timed = item->total.time != 0;
    bool call = l->p->run->graph.nodes[node].kind == GRAPH_CALL;
    part_line(l->p, node);
    cell_share(l->t, timed ? item->share : NAN);
    cell_estimate(l->t, item->total.time, item->total.estimated > 0);
    cell_estimate(l->t, call ? 0 : item->total.self, item->total.self_error != 0);
    part_split(l->t, l->p->run, item);
    cell_count(l->t, item->total.count);
}

static void empty_cells(const struct listing *l)
{
    part_line(l->p, GRAPH_NONE);
    for (int i = 0; i < 6; i++)
        table_cell(l->t, "%s", "");
}

/* The numbers of what contains the others stand beside the line, those of the others below it. */
static void line_rows(const struct listing *l, size_t line, const struct mark *marks, size_t count)
{
    const char *text = line && line <= l->line_count ? l->lines[line - 1] : "";
    if (count)
        value_cells(l, marks[0].node);
    else
        empty_cells(l);
    table_cell(l->t, "%zu", line);
    table_style(l->t, TABLE_FAINT);
    bool named = count > 1 || (count && !l->found.text);
    char *name = named ? outline_name(l->o, marks[0].node, false) : NULL;
    if (name && l->found.text)
        table_cell(l->t, "%s    <- %s", text, name);
    else
        table_cell(l->t, "%s", name ? name : text);
    free(name);
    for (size_t i = 1; i < count; i++) {
        name = outline_name(l->o, marks[i].node, false);
        value_cells(l, marks[i].node);
        table_cell(l->t, "%s", "");
        table_cell(l->t, "%*s<- %s", (int)strspn(text, " "), "", name);
        free(name);
    }
}

static void gap_row(const struct listing *l)
{
    empty_cells(l);
    table_cell(l->t, "..");
    table_style(l->t, TABLE_FAINT);
    table_cell(l->t, "%s", "");
}

/* Whether a line lies so close to one with numbers that it is shown. */
static bool wanted(const struct listing *l, size_t line, size_t next)
{
    if (l->p->full || l->line_count <= WHOLE)
        return true;
    if (next < l->count && l->marks[next].line <= line + CONTEXT)
        return true;
    return next && l->marks[next - 1].line + CONTEXT >= line;
}

static void rows(const struct listing *l)
{
    size_t at = 0, last = l->line_count;
    bool skipped = false;
    if (l->count && l->marks[l->count - 1].line > last)
        last = l->marks[l->count - 1].line;
    for (size_t line = 1; line <= last; line++) {
        size_t count = 0;
        if (line > l->line_count) { /* where there is no text any more, only lines with numbers */
            skipped |= l->marks[at].line > line;
            line = l->marks[at].line;
        }
        while (at + count < l->count && l->marks[at + count].line == line)
            count++;
        bool show = count || wanted(l, line, at);
        if (show && skipped)
            gap_row(l);
        if (show)
            line_rows(l, line, l->marks + at, count);
        skipped = !show;
        at += count;
    }
}

static void free_listing(struct listing *l)
{
    for (size_t i = 0; i < l->line_count; i++)
        free(l->lines[i]);
    free(l->lines);
    free(l->marks);
    strbuf_free(&l->found);
}

int part_source(const struct part *p, const char *file)
{
    static const struct table_column columns[] = {{.title = "share"},
                                                  {.title = "time"},
                                                  {.title = "self", .drop = 2},
                                                  {.title = "waiting", .drop = 3},
                                                  {.title = "transfer", .drop = 1},
                                                  {.title = "count"},
                                                  {.title = "line"},
                                                  {.title = "source", .left = true, .shrink = 30}};
    struct listing l = {.p = p};
    if (!choose(&l, file)) {
        if (!l.path)
            nothing_there(p, file);
        return -ENOENT;
    }
    struct outline *o = outline_new(p->run);
    l.o = o;
    l.t = table_new(columns, COUNT(columns));
    find_source(&l, file);
    collect(&l);
    head(&l);
    rows(&l);
    part_table(p, l.t);
    strbuf_puts(p->out, o->estimated || !outline_probed(p->run) ? "\n" : "");
    if (!outline_probed(p->run))
        part_note(p, "Only communication statements have times: procedures, loops and calls need "
                     "probes, which loupe cc puts into a program.");
    part_legend(p, o);
    table_free(l.t);
    outline_free(o);
    free_listing(&l);
    return 0;
}
