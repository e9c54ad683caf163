/* SPDX-License-Identifier: MIT */
/* A node of a program with probes: what stands above it up to the start, and what below. */
#include "view/format.h"
#include "view/tree.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

enum { LEVELS = 6, CHAIN_MOST = 12 };

/* From the node up to the program: through the call at which a procedure is written out. */
static size_t chain_of(const struct outline *o, uint32_t node, uint32_t **chain)
{
    const struct graph *g = &o->run->graph;
    bool *seen = xcalloc(g->count + 1, sizeof *seen);
    size_t count = 0, room = 0;
    *chain = NULL;
    while (node < g->count && !seen[node]) {
        const struct graph_node *n = &g->nodes[node];
        bool member = n->group && n->group != node;
        seen[node] = true;
        *VEC_PUSH(*chain, count, room) = node;
        if (!node)
            break;
        node = n->kind == GRAPH_PROCEDURE && !member ? o->home[node] : n->parent;
        node = node == GRAPH_NONE ? 0 : node;
    }
    free(seen);
    return count;
}

/* A call and the procedure that only it calls are one line. */
static bool one_with_call(const struct outline *o, uint32_t node, uint32_t above)
{
    const struct graph_node *n = &o->run->graph.nodes[node];
    return n->kind == GRAPH_PROCEDURE && !n->group && outline_callee(o, above) == node &&
           outline_outer_callers(o, node) == 1;
}

static int chain_rows(struct tree *tree, const uint32_t *chain, size_t count)
{
    const struct outline *o = tree->o;
    int depth = 0;
    for (size_t i = count; i-- > 1;) {
        struct strbuf note = {0};
        uint32_t node = chain[i];
        if (i + 1 < count && one_with_call(o, node, chain[i + 1]))
            continue;
        if (count > CHAIN_MOST && i < count - CHAIN_MOST / 2 && i > CHAIN_MOST / 2) {
            depth++;
            continue; /* the depth says that lines are missing */
        }
        size_t callers = outline_callee(o, node) ? outline_outer_callers(o, chain[i - 1]) : 0;
        if (callers > 1)
            strbuf_printf(&note, "of %zu callers", callers);
        tree_row(tree, node, depth++, note.text);
        strbuf_free(&note);
    }
    return depth;
}

static void estimate(struct strbuf *out, double seconds, bool estimated, double error)
{
    char text[FORMAT_ROOM];
    strbuf_printf(out, "%s%s", estimated ? "~" : "", format_time(text, seconds));
    if (estimated && isfinite(error))
        strbuf_printf(out, " ± %s", format_time(text, error));
    else if (estimated)
        strbuf_puts(out, " (interval not known)");
}

static void facts(const struct part *p, const struct outline *o, uint32_t node)
{
    const struct run_value *v = &o->items[node].total;
    const struct graph_node *n = &p->run->graph.nodes[node];
    char a[FORMAT_ROOM], b[FORMAT_ROOM];
    struct strbuf text = {0};
    bool estimated = v->estimated > 0;
    if (v->time != 0) {
        strbuf_puts(&text, "time ");
        estimate(&text, v->time, estimated, v->error);
        strbuf_puts(&text, ", ");
    }
    strbuf_printf(&text, "%s times", format_count(a, v->count));
    if (v->iterations)
        strbuf_printf(&text, ", %s iterations", format_count(a, v->iterations));
    if (v->time != 0 && v->count) {
        strbuf_printf(&text, "; on average %s", format_time(a, v->time / (double)v->count));
        if (isfinite(v->min))
            strbuf_printf(&text, ", %s%s to %s", estimated ? "of those timed " : "",
                          format_time(a, v->min), format_time(b, v->max));
    }
    if (v->time == 0 && v->count)
        strbuf_puts(&text, outline_recursive(o, node) ? "; recursive: its time is in the call that "
                                                        "began it"
                                                      : "; counted, not timed");
    table_wrap(p->out, "  ", text.text, p->width);
    strbuf_clear(&text);
    if ((n->kind == GRAPH_PROCEDURE || n->kind == GRAPH_LOOP) && v->time != 0) {
        const struct outline_sum *sum = &o->sums[node];
        strbuf_puts(&text, "self ");
        estimate(&text, v->self, v->self_error != 0, v->self_error);
        strbuf_printf(&text, "; in it: all calls %s%s, all communications %s",
                      sum->calls_estimated ? "~" : "", format_time(a, sum->calls),
                      format_time(b, sum->communications));
        table_wrap(p->out, "  ", text.text, p->width);
    }
    strbuf_clear(&text);
    if (v->mpi != 0) {
        strbuf_printf(&text, "computing %s%s, ", estimated ? "~" : "",
                      format_time(a, run_value_compute(v)));
        strbuf_printf(&text, "waiting %s, transfer %s", format_time(a, v->sync),
                      format_time(b, run_value_transfer(v)));
        if (v->outside != 0)
            strbuf_printf(&text, ", starting and ending MPI %s", format_time(a, v->outside));
        strbuf_puts(&text, ", with what it calls");
        table_wrap(p->out, "  ", text.text, p->width);
    }
    strbuf_free(&text);
}

void part_around(const struct part *p, const struct outline *o, uint32_t node)
{
    struct part inner = *p;
    struct tree tree;
    uint32_t *chain;
    size_t count = chain_of(o, node, &chain);
    inner.lines = NULL;
    if (p->run->graph.nodes[node].kind != GRAPH_COMMUNICATION)
        facts(p, o, node);
    strbuf_putc(p->out, '\n');
    tree_begin(&tree, &inner, o, node);
    int depth = chain_rows(&tree, chain, count);
    tree_node(&tree, node, depth, p->full ? TREE_LEVELS : LEVELS);
    tree_end(&tree);
    free(chain);
}
