/* SPDX-License-Identifier: MIT */
#include "view/report.h"

#include "view/parts.h"

#include <limits.h>
#include <string.h>

enum { WIDTH_DEFAULT = 100, WIDTH_LEAST = 40 };

static const char *const level_names[VIEW_LEVELS] = {
    "summary",       "program", "procedure", "loop",     "call",
    "communication", "rank",    "peer",      "top-down", "critical-path"};

int view_level_by_name(const char *name)
{
    for (int i = 0; i < VIEW_LEVELS; i++)
        if (!strcmp(name, level_names[i]))
            return i;
    return -1;
}

/* Rows of a level that nobody limited. */
static int default_top(const struct view_options *options)
{
    if (options->at_file || options->by == VIEW_PEER)
        return 20;
    return options->by == VIEW_SUMMARY ? 10 : INT_MAX;
}

static struct part part_of(const struct run *run, const struct view_options *options,
                           struct strbuf *out)
{
    struct part p = {.run = run,
                     .top = options->top > 0 ? options->top : default_top(options),
                     .width = options->width > 0 ? options->width : WIDTH_DEFAULT,
                     .limited = options->top > 0,
                     .full = options->full,
                     .color = options->color,
                     .out = out,
                     .lines = options->lines};
    if (p.width < WIDTH_LEAST)
        p.width = WIDTH_LEAST;
    return p;
}

void view_node(const struct run *run, uint32_t node, const struct view_options *options,
               struct strbuf *out)
{
    struct part p = part_of(run, options, out);
    if (node < run->graph.count)
        part_node(&p, node);
}

int view_text(const struct run *run, const struct view_options *options, struct strbuf *out)
{
    struct strbuf text = {0};
    struct part p = part_of(run, options, &text);
    int error = 0;
    if (options->source)
        error = part_source(&p, options->source);
    else if (options->at_file)
        error = part_at(&p, options->at_file, options->at_line);
    else
        switch (options->by) {
        case VIEW_PROGRAM: part_program(&p); break;
        case VIEW_PROCEDURE: part_procedures(&p); break;
        case VIEW_LOOP: part_others(&p, GRAPH_LOOP); break;
        case VIEW_CALL: part_others(&p, GRAPH_CALL); break;
        case VIEW_COMMUNICATION: part_communications(&p); break;
        case VIEW_RANK: part_ranks(&p); break;
        case VIEW_PEER: options->waits ? part_waits(&p) : part_matrix(&p); break;
        case VIEW_TOP_DOWN: part_top_down(&p); break;
        case VIEW_PATH: part_path(&p); break;
        default: part_summary(&p); break;
        }
    if (text.len)
        strbuf_add(out, text.text, text.len);
    strbuf_free(&text);
    return error;
}
