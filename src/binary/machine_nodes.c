/* SPDX-License-Identifier: MIT */
/* The nodes of the tables: procedures of the source, and what stands in them. */
#include "base/alloc.h"
#include "binary/machine_inner.h"
#include "binary/symbols.h"

#include <stdlib.h>
#include <string.h>

struct machine_placed *machine_placed_of(struct machine_maker *m, uint32_t procedure)
{
    while (m->placed_count <= procedure) {
        struct machine_placed *p = VEC_PUSH(m->placed, m->placed_count, m->placed_room);
        p->node = p->loops = GRAPH_NONE;
    }
    return &m->placed[procedure];
}

bool machine_can_have_probe(const struct code_point *p)
{
    return p->way != CODE_NEVER;
}

/* The node of a procedure of the source. */
uint32_t machine_procedure(struct machine_maker *m, size_t unit, uint32_t procedure)
{
    struct machine_placed *placed = machine_placed_of(m, procedure);
    if (placed->node != GRAPH_NONE && placed->unit == unit)
        return placed->node;
    const struct inlined_procedure *p = inlined_procedure(m->reader, procedure);
    struct unit *u = &m->tables->units[unit];
    struct unit_node node = {.kind = GRAPH_PROCEDURE,
                             .parent = GRAPH_NONE,
                             .site = GRAPH_NONE,
                             .iterations = GRAPH_NONE,
                             .line = p->line,
                             .end_line = p->line,
                             .flags = p->internal ? UNIT_STATIC : 0,
                             .name = p->name,
                             .linkage = p->linkage};
    node.file = unit_file(u, p->path && p->line ? p->path : m->binary);
    placed->unit = unit;
    placed->loops = GRAPH_NONE;
    return placed->node = unit_add(u, &node);
}

static char *linkage_of(const struct code_function *f)
{
    return xasprintf("%s@%lx", f->name, (unsigned long)f->start);
}

/* A procedure that DWARF does not have: by its symbol, and a line if there is one. */
uint32_t machine_unnamed(struct machine_maker *m, size_t unit, const struct machine_body *b)
{
    const struct code_function *f = b->function;
    struct machine_place place = machine_place(b, f->start);
    struct unit *u = &m->tables->units[unit];
    char *name = !place.line && m->doubled[f - m->code->functions]
                     ? xasprintf("%s+0x%lx", f->pretty, (unsigned long)f->start)
                     : NULL;
    char *linkage = linkage_of(f);
    struct unit_node node = {.kind = GRAPH_PROCEDURE,
                             .parent = GRAPH_NONE,
                             .site = GRAPH_NONE,
                             .iterations = GRAPH_NONE,
                             .line = place.line,
                             .end_line = place.line,
                             .name = name ? name : (char *)f->pretty,
                             .linkage = linkage};
    node.file = unit_file(u, place.path ? place.path : m->binary);
    uint32_t number = unit_add(u, &node);
    free(name);
    free(linkage);
    return number;
}

struct unit *machine_unit(const struct machine_maker *m, const struct machine_nodes *x)
{
    return &m->tables->units[x->unit];
}

static uint32_t parent_node(struct machine_maker *m, struct machine_nodes *x, uint32_t loop,
                            uint32_t scope);

/* A loop of the same place that an earlier copy of the procedure had, or that the compiler has
 * made of the same loop (vectorised and rest, say). */
static uint32_t same_loop(struct machine_maker *m, struct machine_nodes *x,
                          const struct machine_loop *l, uint32_t parent)
{
    if (!x->b.inlined.scope_count || !l->line)
        return GRAPH_NONE;
    struct machine_placed *p = machine_placed_of(m, x->b.inlined.scopes[l->scope].procedure);
    for (uint32_t k = p->loops; k != GRAPH_NONE; k = m->known[k].next) {
        struct unit_node *n = &machine_unit(m, x)->nodes[m->known[k].node];
        if (n->parent != parent || (n->line != l->line && n->end_line != l->end_line))
            continue;
        n->line = l->line < n->line ? l->line : n->line;
        n->end_line = l->end_line > n->end_line ? l->end_line : n->end_line;
        return m->known[k].node;
    }
    return GRAPH_NONE;
}

static uint32_t add_loop(struct machine_maker *m, struct machine_nodes *x,
                         const struct machine_loop *l, uint32_t number, uint32_t parent)
{
    const struct code_loop *loop = &m->code->loops[x->b.function->first_loop + number];
    struct unit *u = machine_unit(m, x);
    char *name = l->line ? xstrdup("loop") : xasprintf("+0x%lx", (unsigned long)loop->header);
    struct unit_node node = {.kind = GRAPH_LOOP,
                             .parent = parent,
                             .site = x->loop_probe[number] ? m->sites++ : GRAPH_NONE,
                             .iterations = GRAPH_NONE,
                             .file = u->nodes[parent].file,
                             .line = l->line,
                             .end_line = l->end_line,
                             .name = name};
    uint32_t added = unit_add(u, &node);
    free(name);
    if (x->b.inlined.scope_count && l->line) {
        struct machine_placed *p = machine_placed_of(m, x->b.inlined.scopes[l->scope].procedure);
        *VEC_PUSH(m->known, m->known_count, m->known_room) =
            (struct machine_known){.node = added, .next = p->loops};
        p->loops = (uint32_t)(m->known_count - 1);
    }
    return added;
}

/* A loop in a loop with the very same lines is one that the compiler has made. */
uint32_t machine_loop_node(struct machine_maker *m, struct machine_nodes *x, uint32_t number)
{
    struct machine_loop *l = &x->b.loops[number];
    if (l->node != GRAPH_NONE)
        return l->node;
    uint32_t around = machine_loop_around(&x->b, number);
    bool inside = around != CODE_NONE && x->b.loops[around].scope == l->scope;
    uint32_t parent = parent_node(m, x, inside ? around : CODE_NONE, l->scope);
    const struct machine_loop *p = inside ? &x->b.loops[around] : NULL;
    if (p && l->line && p->line == l->line && p->end_line == l->end_line && l->end_line > l->line)
        l->node = parent;
    else
        l->node = same_loop(m, x, l, parent);
    if (l->node == GRAPH_NONE)
        l->node = add_loop(m, x, l, number, parent);
    return l->node;
}

static uint32_t parent_node(struct machine_maker *m, struct machine_nodes *x, uint32_t loop,
                            uint32_t scope)
{
    return loop == CODE_NONE ? x->nodes[scope] : machine_loop_node(m, x, loop);
}

static bool same_symbol(const void *key, uint32_t value, const void *data)
{
    const struct machine_symbol *a = key,
                                *b = &((const struct machine_maker *)data)->symbols[value];
    return a->length == b->length && !memcmp(a->name, b->name, a->length);
}

static uint32_t find_symbol(const struct machine_maker *m, const char *name)
{
    struct machine_symbol key = {.name = name, .length = strlen(name)};
    uint32_t found =
        map_find(&m->by_symbol, map_hash(MAP_SEED, name, key.length), same_symbol, &key, m);
    return found == MAP_NONE ? CODE_NONE : m->symbols[found].function;
}

/* What a call leads to; false: it is left out. The strings are to be freed. */
static bool name_callee(struct machine_maker *m, const struct machine_nodes *x,
                        const struct code_point *p, uint32_t scope, struct unit_node *node)
{
    /* through its PLT a library calls its own procedures, unless another one has such a name */
    uint32_t callee =
        p->callee == CODE_NONE && p->callee_name ? find_symbol(m, p->callee_name) : p->callee;
    const struct code_function *g = callee == CODE_NONE ? NULL : &m->code->functions[callee];
    const char *symbol = p->callee_name ? p->callee_name : g ? g->name : NULL;
    uint32_t root = g ? m->root[callee] : INLINED_NONE;
    node->kind = GRAPH_CALL;
    if (!symbol) {
        node->name = xstrdup("*");
        node->flags = UNIT_POINTER;
        return true;
    }
    if (!m->all && machine_hidden(symbol))
        return false;
    if (root != INLINED_NONE && x->b.inlined.scope_count && strstr(symbol, ".part.") &&
        root == x->b.inlined.scopes[scope].procedure)
        return false; /* the rest of the same procedure */
    node->name = machine_communication(symbol);
    if (node->name) {
        node->kind = GRAPH_COMMUNICATION;
        node->linkage = xstrdup(symbol);
        return true;
    }
    if (root != INLINED_NONE) {
        const struct inlined_procedure *q = inlined_procedure(m->reader, root);
        node->name = xstrdup(q->name);
        node->linkage = q->linkage ? xstrdup(q->linkage) : NULL;
    } else {
        node->name = g ? xstrdup(g->pretty) : machine_without_parameters(symbols_readable(symbol));
        node->linkage = g ? linkage_of(g) : xstrdup(symbol);
    }
    return true;
}

void machine_call(struct machine_maker *m, struct machine_nodes *x, const struct code_point *p)
{
    uint32_t scope = inlined_at(&x->b.inlined, p->address);
    bool call = p->kind == CODE_CALL ||
                (p->kind == CODE_EXIT && (p->callee != CODE_NONE || p->callee_name || p->indirect));
    struct unit_node node = {.iterations = GRAPH_NONE, .site = GRAPH_NONE};
    if (!call || x->skip[scope] || !name_callee(m, x, p, scope, &node))
        return;
    struct machine_place place = machine_place(&x->b, p->address);
    struct unit *u = machine_unit(m, x);
    node.parent = parent_node(m, x, machine_loop_in(&x->b, p->address, scope), scope);
    node.file = place.path ? unit_file(u, place.path) : u->nodes[node.parent].file;
    node.line = node.end_line = place.line;
    if (machine_can_have_probe(p))
        node.site = m->sites++;
    unit_add(u, &node);
    free(node.name);
    free(node.linkage);
}

/* A procedure that was inlined was called all the same. */
void machine_inlined_call(struct machine_maker *m, struct machine_nodes *x, uint32_t scope)
{
    const struct inlined_scope *s = &x->b.inlined.scopes[scope];
    const struct inlined_procedure *p = inlined_procedure(m->reader, s->procedure);
    struct unit *u = machine_unit(m, x);
    if (x->skip[s->parent] || !s->call_path || !s->call_line || (p->made && !m->all))
        return;
    struct unit_node node = {
        .kind = unit_communication(p->name) ? GRAPH_COMMUNICATION : GRAPH_CALL,
        .parent = parent_node(m, x, x->in_loops[scope], s->parent),
        .site = GRAPH_NONE,
        .iterations = GRAPH_NONE,
        .file = unit_file(u, s->call_path),
        .line = s->call_line,
        .end_line = s->call_line,
        .name = p->name,
        .linkage = p->linkage,
    };
    unit_add(u, &node);
}
