/* SPDX-License-Identifier: MIT */
#include "view/format.h"
#include "view/parts.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void part_title(const struct part *p, const char *title)
{
    if (p->out->len)
        strbuf_putc(p->out, '\n');
    table_color(p->out, TABLE_HEAD, p->color);
    strbuf_puts(p->out, title);
    table_color(p->out, TABLE_PLAIN, p->color);
    strbuf_putc(p->out, '\n');
}

void part_more(const struct part *p, size_t shown, size_t count, const char *what)
{
    if (count <= shown)
        return;
    /* "1 more statement (report --by communication)" */
    size_t word = strcspn(what, " ");
    bool one = count - shown == 1 && word && what[word - 1] == 's';
    strbuf_printf(p->out, "... and %zu more %.*s%s\n", count - shown, (int)(word - one), what,
                  what + word);
}

void part_warnings(const struct part *p, size_t most)
{
    const struct run *run = p->run;
    if (!run->warning_count)
        return;
    strbuf_putc(p->out, '\n');
    for (size_t i = 0; i < run->warning_count && i < most; i++) {
        table_color(p->out, TABLE_WARM, p->color);
        table_wrap(p->out, "warning: ", run->warnings[i], p->width);
        table_color(p->out, TABLE_PLAIN, p->color);
    }
    part_more(p, most, run->warning_count, "warnings (report --by rank shows them all)");
}

void cell_share(struct table *t, double share)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_percent(text, share));
    if (share >= 0.10)
        table_style(t, TABLE_HOT);
    else if (share >= 0.03)
        table_style(t, TABLE_WARM);
}

void cell_time(struct table *t, double seconds)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_time(text, seconds));
}

static void cell_known(struct table *t, double seconds)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_time(text, seconds != 0 ? seconds : NAN));
}

void part_split(struct table *t, const struct run *run, const struct query_item *item)
{
    const struct graph_node *n = &run->graph.nodes[item->node];
    bool known = n->kind != GRAPH_REGION && !run_outside_time(n);
    cell_known(t, known ? item->total.sync : NAN);
    cell_known(t, known ? run_value_transfer(&item->total) : NAN);
}

void cell_waiting(struct table *t, const struct run *run, const struct query_item *item)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_percent(text, query_waiting(run, item)));
}

void cell_estimate(struct table *t, double seconds, bool estimated)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s%s", estimated && seconds != 0 ? "~" : "",
               format_time(text, seconds != 0 ? seconds : NAN));
}

void cell_total(struct table *t, const struct run_value *total, double seconds)
{
    if (total->estimated)
        cell_estimate(t, seconds, true);
    else
        cell_time(t, seconds);
}

void cell_error(struct table *t, const struct run_value *value)
{
    char text[FORMAT_ROOM];
    if (!value->estimated)
        table_cell(t, "%s", "");
    else
        table_cell(t, "%s", isnan(value->error) ? "?" : format_time(text, value->error));
}

void cell_count(struct table *t, uint64_t count)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_count(text, count));
}

void cell_bytes(struct table *t, uint64_t bytes)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", bytes ? format_bytes(text, bytes) : "-");
}

void cell_spread(struct table *t, const struct query_item *item)
{
    char text[FORMAT_ROOM];
    table_cell(t, "%s", format_spread(text, item->min_s, item->avg_s, item->max_s));
}

void cell_node(struct table *t, const struct graph_node *node, int indent)
{
    char *text = format_node(node);
    char *brief = format_node_brief(node);
    table_cell(t, "%*s%s", indent, "", text);
    table_brief(t, brief ? xasprintf("%*s%s", indent, "", brief) : NULL);
    free(brief);
    free(text);
}

void cell_outline(struct table *t, const struct outline *o, uint32_t node, int indent,
                  const char *note)
{
    struct outline_cell cell = {.within = true, .note = note};
    cell_outline_with(t, o, node, xasprintf("%*s", indent, ""), cell);
}

void cell_outline_with(struct table *t, const struct outline *o, uint32_t node, char *before,
                       struct outline_cell how)
{
    static const char kind[] = "procedure ";
    char *text = outline_name(o, node, how.within), *brief = outline_brief(o, node, how.within);
    char *where = format_where(&o->run->graph.nodes[node]), *place = NULL;
    size_t skip = strncmp(text, kind, strlen(kind)) ? 0 : strlen(kind), bare = skip;
    if (!brief && skip)
        brief = xstrdup(text);
    skip = how.bare ? skip : 0;
    const char *comma = how.note ? ", " : "", *note = how.note ? how.note : "";
    table_cell(t, "%s%s%s%s", before, text + skip, comma, note);
    table_brief(t, brief ? xasprintf("%s%s%s%s", before, brief + bare, comma, note) : NULL);
    if (*where && (place = strstr(text, where)) && place > text) {
        char *end = xasprintf("%s%s%s", place - 1, comma, note);
        table_keep(t, end);
        free(end);
    }
    free(where);
    free(brief);
    free(text);
    free(before);
}

void part_note(const struct part *p, const char *text)
{
    table_wrap(p->out, "", text, p->width);
}

void part_legend(const struct part *p, const struct outline *o)
{
    if (o->estimated)
        part_note(p, "~ is estimated from executions timed at random; ± is half of its 95% "
                     "interval, ? not known.");
}

void part_estimates(const struct part *p)
{
    struct query_item *items;
    size_t count = query_items(p->run, GRAPH_COMMUNICATION, QUERY_TIME, &items), i = 0;
    while (i < count && !items[i].total.estimated)
        i++;
    if (i < count)
        part_note(p, "~ is estimated from executions timed at random (--budget off times all).");
    free(items);
}

void part_line(const struct part *p, uint32_t node)
{
    if (p->lines)
        *VEC_PUSH(p->lines->nodes, p->lines->count, p->lines->room) = node;
}

void part_table(const struct part *p, const struct table *t)
{
    size_t rows = p->lines ? p->lines->count : 0, before = 1; /* the titles */
    for (size_t i = 0; rows && i < p->out->len; i++)
        before += p->out->text[i] == '\n';
    for (size_t i = 0; rows && i < before; i++)
        part_line(p, GRAPH_NONE);
    if (rows) {
        memmove(p->lines->nodes + before, p->lines->nodes, rows * sizeof *p->lines->nodes);
        for (size_t i = 0; i < before; i++)
            p->lines->nodes[i] = GRAPH_NONE;
    }
    table_print(t, p->width, p->color, p->out);
}
