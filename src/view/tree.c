/* SPDX-License-Identifier: MIT */
/*
 * The program from the top down. A call stands where it is written, with the time that the
 * procedure took from there; what is in the procedure follows below the call that costs most (or
 * that the hot path takes), once. What is in a procedure is known over all its callers, so a
 * procedure with several has a line of its own that says so.
 */
#include "view/tree.h"

#include "base/alloc.h"
#include "view/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 0.005 /* share of the whole below which lines are put together */

void tree_begin(struct tree *tree, const struct part *p, const struct outline *o, uint32_t subject)
{
    size_t count = 0;
    *tree = (struct tree){.p = p, .o = o, .subject = subject};
    tree->least = SMALL * (subject ? o->items[subject].total.time : query_all_time(o->run));
    tree->shown = xcalloc(o->run->graph.count + 1, sizeof *tree->shown);
    tree->columns[count++] = (struct table_column){.title = ""};
    tree->columns[count++] = (struct table_column){.title = "share"};
    tree->columns[count++] = (struct table_column){.title = "time"};
    if (o->estimated)
        tree->columns[count++] = (struct table_column){.title = "±", .drop = 5};
    tree->columns[count++] = (struct table_column){.title = "self", .drop = 4};
    if (o->run->mpi) {
        tree->columns[count++] = (struct table_column){.title = "waiting", .drop = 3};
        tree->columns[count++] = (struct table_column){.title = "transfer", .drop = 1};
    }
    tree->columns[count++] = (struct table_column){.title = "count", .drop = 6};
    if (o->iterations)
        tree->columns[count++] = (struct table_column){.title = "iterations", .drop = 3};
    if (o->run->rank_count > 1)
        tree->columns[count++] = (struct table_column){.title = "rank min/avg/max", .drop = 2};
    tree->columns[count++] = (struct table_column){
        .title = "program, procedures, loops, calls, statements", .left = true, .shrink = 38};
    tree->column_count = count;
    tree->t = table_new(tree->columns, count);
}

/* Deep down the names keep their room; a number says how deep it is. */
static char *indentation(const struct tree *tree, int depth)
{
    int most = tree->p->width / 10 * 2;
    return 2 * depth <= most ? xasprintf("%*s", 2 * depth, "")
                             : xasprintf("%*s[%d] ", most, "", depth);
}

/* `self` is of the procedure where one line stands for the call and the procedure. */
static void row_with(struct tree *tree, uint32_t node, const struct run_value *self, int depth,
                     const char *note)
{
    const struct query_item *item = &tree->o->items[node];
    const struct graph_node *n = &tree->o->run->graph.nodes[node];
    bool marked = tree->subject ? node == tree->subject : tree->o->hot[node];
    bool head = n->kind == GRAPH_PROCEDURE || n->kind == GRAPH_REGION || n->kind == GRAPH_PROGRAM;
    part_line(tree->p, node);
    table_cell(tree->t, "%s", marked ? ">" : "");
    table_style(tree->t, TABLE_HOT);
    /* What lasts no time was not timed: recursion, calls through pointers, members of a group. */
    cell_share(tree->t, item->total.time != 0 ? item->share : NAN);
    tree->beyond |= item->share >= 1.0005; /* as it is shown */
    cell_estimate(tree->t, item->total.time, item->total.estimated > 0);
    if (tree->o->estimated)
        cell_error(tree->t, &item->total);
    if (self)
        cell_estimate(tree->t, self->self, self->self_error != 0);
    else
        table_cell(tree->t, "-");
    if (tree->o->run->mpi)
        part_split(tree->t, tree->o->run, item);
    cell_count(tree->t, item->total.count);
    if (item->total.iterations)
        cell_count(tree->t, item->total.iterations);
    else if (tree->o->iterations)
        table_cell(tree->t, "%s", n->kind == GRAPH_LOOP ? "-" : "");
    if (tree->o->run->rank_count > 1)
        cell_spread(tree->t, item);
    cell_outline_with(tree->t, tree->o, node, indentation(tree, depth),
                      (struct outline_cell){.note = note});
    table_style(tree->t, head || marked ? TABLE_HEAD : TABLE_PLAIN);
}

void tree_row(struct tree *tree, uint32_t node, int depth, const char *note)
{
    const struct run_value *total = &tree->o->items[node].total;
    uint32_t callee = outline_callee(tree->o, node);
    bool member = tree->o->run->graph.nodes[node].kind == GRAPH_PROCEDURE && total->time == 0;
    row_with(tree, node, callee || member ? NULL : total, depth, note);
}

/* What a procedure is written out with: nothing is said of one that one statement calls. */
static void procedure_note(struct tree *tree, uint32_t node, struct strbuf *note)
{
    const struct graph_node *n = &tree->o->run->graph.nodes[node];
    const uint32_t *calls;
    size_t callers = outline_outer_callers(tree->o, node);
    size_t count = outline_callers(tree->o, node, &calls);
    bool unknown = false;
    for (size_t i = 0; i < count; i++)
        unknown |=
            !tree->o->run->graph.nodes[calls[i]].parent && outline_executed(tree->o, calls[i]);
    unknown &= strcmp(n->name ? n->name : "", "main") != 0; /* somebody has to start the program */
    tree->unknown |= unknown;
    if (callers > 1) {
        strbuf_printf(note, "all %zu callers%s", callers, unknown ? ", also unknown" : "");
        tree->totals = true;
    } else if (outline_summed(tree->o, node)) {
        strbuf_puts(note, "its statements");
    } else if (unknown) {
        strbuf_puts(note, RUN_UNKNOWN_CALLER);
    }
}

static void procedure(struct tree *tree, uint32_t node, int depth, int levels)
{
    struct strbuf note = {0};
    procedure_note(tree, node, &note);
    tree->shown[node] = true;
    tree_row(tree, node, depth, note.text);
    strbuf_free(&note);
    tree_below(tree, node, depth + 1, levels - 1);
}

static void call(struct tree *tree, uint32_t node, uint32_t callee, int depth, int levels)
{
    const struct outline *o = tree->o;
    const struct graph_node *n = &o->run->graph.nodes[callee];
    bool again = tree->shown[callee], here = o->home[callee] == node || tree->subject;
    if (outline_recursive(o, node)) {
        tree_row(tree, node, depth, "recursive");
    } else if (!here || again || levels <= 1) {
        tree_row(tree, node, depth, again ? "see above" : here ? NULL : "see below");
    } else if (outline_outer_callers(o, callee) > 1 || n->group) {
        tree_row(tree, node, depth, NULL);
        procedure(tree, callee, depth + 1, levels);
    } else {
        tree->shown[callee] = true;
        row_with(tree, node, &o->items[callee].total, depth, NULL);
        tree_below(tree, callee, depth + 1, levels - 1);
    }
}

void tree_node(struct tree *tree, uint32_t node, int depth, int levels)
{
    uint32_t callee = outline_callee(tree->o, node);
    if (callee) {
        call(tree, node, callee, depth, levels);
    } else if (tree->o->run->graph.nodes[node].kind == GRAPH_PROCEDURE) {
        procedure(tree, node, depth, levels);
    } else {
        tree_row(tree, node, depth, NULL);
        tree_below(tree, node, depth + 1, levels - 1);
    }
}

/* Procedures stand below the program in the graph, and below their callers here. */
static bool stands_here(const struct tree *tree, uint32_t parent, uint32_t node)
{
    const struct graph_node *n = &tree->o->run->graph.nodes[node];
    uint32_t callee = outline_callee(tree->o, node);
    if (!tree->p->full && !outline_executed(tree->o, node))
        return false;
    if (parent)
        return true;
    if (callee)
        return tree->o->home[callee] != 0;
    return n->kind != GRAPH_PROCEDURE || tree->o->home[node] == 0 ||
           (tree->o->home[node] == GRAPH_NONE && !tree->shown[node]);
}

static void fold_row(struct tree *tree, size_t folded, double time, int depth)
{
    char text[FORMAT_ROOM], *indent = indentation(tree, depth);
    double all = query_all_time(tree->o->run);
    part_line(tree->p, GRAPH_NONE);
    table_cell(tree->t, "%s", "");
    cell_share(tree->t, all > 0 ? time / all : NAN);
    cell_time(tree->t, time);
    for (size_t i = 4; i < tree->column_count; i++)
        table_cell(tree->t, "%s", "");
    table_cell(tree->t, "%sand %zu more, %s", indent, folded, format_time(text, time));
    table_style(tree->t, TABLE_FAINT);
    tree->folded = true;
    free(indent);
}

/* Too small for a line of its own. What is only counted says something all the same where it is
 * recursion. */
static bool small(const struct tree *tree, uint32_t node)
{
    const struct graph_node *n = &tree->o->run->graph.nodes[node];
    bool member = n->kind == GRAPH_PROCEDURE && n->group && n->group != node;
    return tree->o->items[node].total.time < tree->least && !tree->p->full &&
           node != tree->subject && !member && !outline_recursive(tree->o, node);
}

void tree_below(struct tree *tree, uint32_t node, int depth, int levels)
{
    const uint32_t *below;
    size_t count = outline_below(tree->o, node, &below), folded = 0, rows = 0;
    double time = 0;
    if (levels <= 0)
        return;
    uint32_t *kept = xcalloc(count + 1, sizeof *kept);
    for (size_t i = 0; i < count; i++)
        if (stands_here(tree, node, below[i]))
            kept[rows++] = below[i];
    for (size_t i = 0; i < rows; i++) {
        const struct query_item *item = &tree->o->items[kept[i]];
        if (small(tree, kept[i]) || i >= (size_t)tree->p->top) {
            folded++;
            time += isnan(item->share) ? 0 : item->total.time;
        } else {
            tree_node(tree, kept[i], depth, levels);
        }
    }
    if (folded && (time >= tree->least || rows > (size_t)tree->p->top))
        fold_row(tree, folded, time, depth);
    else
        tree->left_out += folded;
    free(kept);
}

void tree_end(struct tree *tree)
{
    const struct part *p = tree->p;
    part_table(p, tree->t);
    if (tree->totals && tree->subject)
        strbuf_puts(p->out, "  (what is in a procedure is known over all its callers)\n");
    if (tree->left_out && tree->subject)
        strbuf_printf(p->out, "  (left out: %zu below 0.5%% of it; --full shows them)\n",
                      tree->left_out);
    table_free(tree->t);
    free(tree->shown);
    if (tree->subject)
        return;
    strbuf_putc(p->out, '\n');
    part_note(p, "> is the way down that takes most of the time.");
    part_note(p, "Self is the time outside what stands below; for the program, what it computes.");
    if (p->run->mpi)
        part_note(p, "Waiting for other ranks and transfer are all that happens inside MPI; a call "
                     "has its part of the procedure's by time.");
    if (tree->totals)
        part_note(p, "What is in a procedure is shown once, over all its callers.");
    if (tree->unknown)
        part_note(p, "An unknown caller is code without probes, such as a library that calls back; "
                     "the call into that code has the time too.");
    if (tree->left_out || (tree->folded && !p->limited)) {
        struct strbuf text = {0};
        strbuf_puts(&text, "What takes less than 0.5% of the run is put together");
        if (tree->left_out)
            strbuf_printf(&text, " or left out (%zu)", tree->left_out);
        strbuf_puts(&text, "; --full shows it.");
        part_note(p, text.text);
        strbuf_free(&text);
    }
    part_legend(p, tree->o);
}

/* Procedures that are worth a line and stand nowhere yet: each of their many callers is small. */
static void left_over(struct tree *tree)
{
    const struct outline *o = tree->o;
    struct query_item *items;
    size_t count = query_items(o->run, GRAPH_PROCEDURE, QUERY_TIME, &items);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = items[i].node, group = o->run->graph.nodes[node].group;
        bool member = group && group != node;
        if (!member && !tree->shown[node] && items[i].total.time >= tree->least &&
            outline_executed(o, node))
            procedure(tree, node, 1, TREE_LEVELS);
    }
    free(items);
}

void part_tree(const struct part *p)
{
    struct outline *o = outline_new(p->run);
    struct tree tree;
    tree_begin(&tree, p, o, 0);
    tree_row(&tree, 0, 0, NULL);
    tree_below(&tree, 0, 1, TREE_LEVELS);
    if (!p->limited)
        left_over(&tree);
    tree_end(&tree);
    bool regions = false, outside = false;
    for (size_t i = 0; i < p->run->graph.count; i++) {
        regions |= p->run->graph.nodes[i].kind == GRAPH_REGION;
        outside |= run_outside_time(&p->run->graph.nodes[i]);
    }
    if (regions)
        part_note(p, "A region contains what runs inside it, also of the procedures.");
    struct run_rank all = query_all(p->run);
    if (all.preempted_s >= 0.005 * run_rank_time(&all))
        part_note(p, "What others had the ranks' cores for (preempted) is in the times of "
                     "procedures and loops, not in what the program computes.");
    if (outside)
        part_note(p, "Initialising and finalising MPI is outside the ranks' time, yet in that of "
                     "the procedures that do it; their share and transfer are without it.");
    if (tree.beyond)
        part_note(p, "More than 100% is what runs before MPI_Init or after MPI_Finalize, or in "
                     "several threads at once.");
    outline_free(o);
}
