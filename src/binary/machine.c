/* SPDX-License-Identifier: MIT */
#include "binary/machine.h"

#include "base/alloc.h"
#include "base/map.h"
#include "binary/machine_inner.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* The unit of a compilation unit; `number` unit_room - 1: of what has no source. */
static size_t unit_at(struct machine_maker *m, size_t number, const char *directory)
{
    if (m->unit_of[number] == SIZE_MAX) {
        m->unit_of[number] = m->tables->count;
        struct unit *unit = VEC_PUSH(m->tables->units, m->tables->count, m->tables->room);
        unit->id = m->tables->count;
        unit->directory = xstrdup(directory ? directory : "");
        unit->source = xstrdup("");
    }
    return m->unit_of[number];
}

struct ends {
    struct machine_maker *m;
    struct machine_nodes *x;
};

/* The last line of each procedure that the code comes from. */
static void take_end(void *data, uint32_t scope, const struct code_line *line)
{
    struct ends *e = data;
    const struct inlined *in = &e->x->b.inlined;
    struct unit *u = machine_unit(e->m, e->x);
    struct machine_place p = {.path = line->file, .line = line->line};
    for (uint32_t s = scope; s != INLINED_NONE; s = in->scope_count ? in->scopes[s].parent : s) {
        struct unit_node *node = &u->nodes[e->x->nodes[s]];
        const char *path = in->scope_count
                               ? inlined_procedure(e->m->reader, in->scopes[s].procedure)->path
                               : u->files[node->file];
        if (p.path && path && p.line > node->end_line && !strcmp(p.path, path))
            node->end_line = p.line;
        if (!in->scope_count)
            break;
        p = (struct machine_place){.path = in->scopes[s].call_path,
                                   .line = in->scopes[s].call_line};
    }
}

/* Which loop of the scope around it an inlined scope stands in: the innermost of all its bytes. */
static void place_scopes(struct machine_nodes *x)
{
    const struct inlined *in = &x->b.inlined;
    for (size_t i = 0; i < in->segment_count; i++)
        for (uint32_t s = in->segments[i].scope; in->scopes[s].parent != INLINED_NONE;
             s = in->scopes[s].parent) {
            uint32_t loop = machine_loop_in(&x->b, in->segments[i].start, in->scopes[s].parent);
            if (x->in_loops[s] == CODE_NONE)
                x->in_loops[s] = loop;
            for (uint32_t at = loop; at != CODE_NONE; at = machine_loop_around(&x->b, at))
                if (at == x->in_loops[s])
                    x->in_loops[s] = loop;
        }
}

static void prepare(struct machine_maker *m, struct machine_nodes *x, uint32_t number)
{
    const struct code_function *f = x->b.function;
    const struct inlined *in = &x->b.inlined;
    size_t scopes = in->scope_count ? in->scope_count : 1;
    x->nodes = xcalloc(scopes, sizeof *x->nodes);
    x->in_loops = xcalloc(scopes, sizeof *x->in_loops);
    x->skip = xcalloc(scopes, sizeof *x->skip);
    x->loop_probe = xcalloc(f->loop_count + 1, sizeof *x->loop_probe);
    x->b.loops = xcalloc(f->loop_count + 1, sizeof *x->b.loops);
    x->b.ranges = m->ranges + m->first_range[number];
    x->b.range_count = m->first_range[number + 1] - m->first_range[number];
    if (!in->scope_count)
        x->nodes[0] = machine_unnamed(m, x->unit, &x->b);
    for (size_t s = 0; s < in->scope_count; s++) {
        x->nodes[s] = machine_procedure(m, x->unit, in->scopes[s].procedure);
        x->in_loops[s] = CODE_NONE;
        x->skip[s] = s && machine_placed_of(m, in->scopes[s].procedure)->has_copy;
    }
    for (uint32_t i = f->first_point; i < f->first_point + f->point_count; i++) {
        const struct code_point *p = &m->code->points[i];
        struct unit_node *node = &machine_unit(m, x)->nodes[x->nodes[0]];
        if (p->kind == CODE_ENTRY && machine_can_have_probe(p) && node->site == GRAPH_NONE)
            node->site = m->sites++;
        if (p->kind == CODE_LOOP_NEXT && p->loop - f->first_loop < f->loop_count)
            x->loop_probe[p->loop - f->first_loop] |= machine_can_have_probe(p);
    }
}

static void add_function(struct machine_maker *m, uint32_t number)
{
    const struct code_function *f = &m->code->functions[number];
    struct machine_nodes x = {
        .b = {.code = m->code, .function = f, .lines = m->lines, .reader = m->reader}};
    struct inlined *in = &x.b.inlined;
    if (m->root[number] != INLINED_NONE)
        inlined_read(m->reader, f->start, in);
    x.unit = in->scope_count ? unit_at(m, in->unit, in->directory)
                             : unit_at(m, m->unit_room - 1, m->directory);
    prepare(m, &x, number);
    machine_loops(&x.b);
    place_scopes(&x);
    struct ends ends = {m, &x};
    if (!in->scope_count)
        machine_rows(&x.b, f->start, f->end, take_end, &ends);
    for (size_t i = 0; i < in->segment_count; i++)
        machine_rows(&x.b, in->segments[i].start, in->segments[i].end, take_end, &ends);
    for (uint32_t i = 0; i < f->loop_count; i++)
        if (!x.skip[x.b.loops[i].scope])
            machine_loop_node(m, &x, i);
    for (uint32_t i = f->first_point; i < f->first_point + f->point_count; i++)
        machine_call(m, &x, &m->code->points[i]);
    for (uint32_t s = 1; s < in->scope_count; s++)
        machine_inlined_call(m, &x, s);
    free(x.nodes);
    free(x.in_loops);
    free(x.skip);
    free(x.loop_probe);
    free(x.b.loops);
    inlined_free(in);
}

static bool left_out(const struct machine_maker *m, uint32_t number)
{
    uint32_t root = m->root[number];
    return !m->all && (machine_glue(m->code->functions[number].name) ||
                       (root != INLINED_NONE && inlined_procedure(m->reader, root)->made));
}

static bool same_name(const void *key, uint32_t value, const void *data)
{
    return !strcmp(key, ((const struct code *)data)->functions[value].pretty);
}

static void add_symbols(struct machine_maker *m, uint32_t function)
{
    const struct code_function *f = &m->code->functions[function];
    const char *lists[] = {f->name, f->aliases};
    for (int i = 0; i < 2; i++)
        for (const char *at = lists[i]; at && *at;) {
            size_t length = strcspn(at, "\n");
            map_add(&m->by_symbol, map_hash(MAP_SEED, at, length), (uint32_t)m->symbol_count);
            *VEC_PUSH(m->symbols, m->symbol_count, m->symbol_room) =
                (struct machine_symbol){.name = at, .length = length, .function = function};
            at += length + (at[length] == '\n');
        }
}

/* What is known of all functions before the first one is written. */
static void survey(struct machine_maker *m)
{
    const struct code *c = m->code;
    struct map names = {0};
    m->root = xcalloc(c->function_count + 1, sizeof *m->root);
    m->doubled = xcalloc(c->function_count + 1, sizeof *m->doubled);
    for (uint32_t i = 0; i < c->function_count; i++) {
        const struct code_function *f = &c->functions[i];
        uint64_t hash = map_hash(MAP_SEED, f->pretty, strlen(f->pretty));
        m->root[i] = inlined_root(m->reader, f->start);
        add_symbols(m, i);
        if (m->root[i] != INLINED_NONE && f->whole)
            machine_placed_of(m, m->root[i])->has_copy = true;
        m->doubled[i] = map_find(&names, hash, same_name, f->pretty, c) != MAP_NONE;
        if (!m->doubled[i])
            map_add(&names, hash, i);
    }
    map_free(&names);
    m->first_range = xcalloc(c->function_count + 2, sizeof *m->first_range);
    m->ranges = xcalloc(c->range_count + 1, sizeof *m->ranges);
    for (size_t i = 0; i < c->range_count; i++)
        m->first_range[c->loops[c->ranges[i].loop].function + 2]++;
    for (size_t i = 2; i < c->function_count + 2; i++)
        m->first_range[i] += m->first_range[i - 1];
    for (size_t i = 0; i < c->range_count; i++)
        m->ranges[m->first_range[c->loops[c->ranges[i].loop].function + 1]++] = (uint32_t)i;
}

static void make_all(struct machine_maker *m, struct machine_facts *facts)
{
    survey(m);
    m->unit_room = inlined_units(m->reader) + 1;
    m->unit_of = xcalloc(m->unit_room, sizeof *m->unit_of);
    memset(m->unit_of, 0xff, m->unit_room * sizeof *m->unit_of);
    for (uint32_t i = 0; i < m->code->function_count; i++) {
        if (left_out(m, i))
            continue;
        facts->procedures++;
        facts->not_whole += !m->code->functions[i].whole;
        add_function(m, i);
    }
}

static void find_facts(const struct machine_maker *m, struct machine_facts *facts)
{
    facts->lines = m->module.dwarf != NULL;
    facts->symbols = module_has_symbols(&m->module);
}

int machine_read(struct tables *tables, const char *path, bool all, struct machine_facts *facts)
{
    struct machine_maker m = {.tables = tables, .all = all};
    *tables = (struct tables){0};
    *facts = (struct machine_facts){0};
    int error = code_open(path, false, &m.code);
    int missing =
        error && error != -ENOTSUP ? error : module_open(&m.module, path, NULL, DEBUG_DIRECTORY);
    if (!missing && error) {
        GElf_Ehdr header = {0};
        gelf_getehdr(m.module.binary.elf, &header);
        facts->bits = header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
        facts->machine = header.e_machine;
    }
    error = error ? error : missing;
    if (!error) {
        m.binary = realpath(path, NULL);
        m.binary = m.binary ? m.binary : xstrdup(path);
        char *copy = xstrdup(m.binary);
        m.directory = xstrdup(dirname(copy));
        free(copy);
        m.lines = lines_load(m.module.dwarf);
        m.reader = inlined_open(&m.module);
        find_facts(&m, facts);
        make_all(&m, facts);
        machine_name_loops(tables, m.binary);
    }
    inlined_close(m.reader);
    lines_free(m.lines);
    module_close(&m.module);
    code_close(m.code);
    free(m.binary);
    free(m.directory);
    free(m.unit_of);
    free(m.root);
    free(m.placed);
    free(m.known);
    free(m.ranges);
    free(m.first_range);
    free(m.doubled);
    free(m.symbols);
    map_free(&m.by_symbol);
    return error;
}
