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
