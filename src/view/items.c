/* SPDX-License-Identifier: MIT */
#include "view/items.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "binary/resolve.h"
#include "binary/tables.h"

#include <errno.h>
#include <loupe-probe.h>
#include <stdlib.h>
#include <string.h>

/* While the items are found: static nodes first, as it is not known yet which were executed. */
struct finding {
    struct items *items;
    struct run *run;
    struct resolver *resolver;
    struct raw *raw; /* here `item` is a static node, or an index of calls */
    const char **modules, **build_ids;
    size_t module_count, module_room, build_id_room;
    bool *present;    /* static nodes */
    uint32_t *first;  /* communications: the first raw node */
    struct met_call { /* a call that a procedure has seen: statement and procedure */
        uint32_t statement, callee;
        uint32_t item;
    } * calls;
    size_t call_count, call_room;
    bool *units_added; /* of the run: its tables are in the program */
    uint64_t lost;     /* probes that the tables do not have */
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static const char *reason(int error)
{
    switch (error) {
    case -ENOENT: return "the file has changed or is gone";
    case -ENOEXEC: return "it is not an ELF file";
    case -ENODATA: return "it has none";
    case -EPROTO: return "it is damaged";
    case -ENOTSUP: return "it has another format";
    }
    return strerror(-error);
}

static uint32_t known_module(const struct finding *f, const char *path, const char *build_id)
{
    for (size_t i = 0; i < f->module_count; i++)
        if (same(f->modules[i], path) && same(f->build_ids[i], build_id))
            return (uint32_t)i;
    return GRAPH_NONE;
}

/* The number of a module; reads its tables if it is new. `inserted`: it need not have any. */
static uint32_t module_of(struct finding *f, const char *path, const char *build_id, bool inserted)
{
    uint32_t known = known_module(f, path, build_id);
    if (known != GRAPH_NONE)
        return known;
    uint32_t number = (uint32_t)f->module_count;
    size_t also = f->module_count;
    *VEC_PUSH(f->modules, f->module_count, f->module_room) = path;
    *VEC_PUSH(f->build_ids, also, f->build_id_room) = build_id;
    struct tables tables = {0};
    int error = path ? tables_read(&tables, path, build_id, NULL) : -ENOENT;
    if (error && !inserted)
        run_warn(f->run,
                 "%s has probes, but its program graph cannot be read (%s): what they counted is "
                 "left out",
                 path ? path : "a module", reason(error));
    for (size_t i = 0; i < tables.count; i++)
        program_add(&f->items->program, number, &tables.units[i]);
    tables_free(&tables);
    return number;
}

/* The static tables of a probe: those in its module, or what was noted when it was inserted. */
static uint32_t tables_of(struct finding *f, const struct graph_node *n)
{
    struct run *run = f->run;
    bool inserted = false;
    for (size_t i = 0; i < run->unit_count && !inserted; i++)
        inserted = run->units[i].sites && run->units[i].id == n->probe.unit;
    uint32_t number = module_of(f, n->module, n->build_id, inserted);
    for (size_t i = 0; inserted && i < run->unit_count; i++)
        if (!f->units_added[i] && run->units[i].id == n->probe.unit) {
            program_add(&f->items->program, number, &run->units[i]);
            f->units_added[i] = true;
        }
    return number;
}

/* Modules that only call what has probes. */
static void add_callers(struct finding *f)
{
    uint32_t number = (uint32_t)f->module_count;
    for (size_t i = 0; i < f->run->unit_count; i++)
        if (!f->units_added[i])
            program_add(&f->items->program, number++, &f->run->units[i]);
}

/* What a place in the source is asked for. */
struct wanted {
    enum graph_kind kind;
    const char *name; /* of a communication */
    uint32_t callee;  /* of a call */
    bool through;     /* a call through a pointer will do, */
    bool any;         /* or of anything */
};

static bool fits(const struct program *p, uint32_t node, void *data)
{
    const struct program_node *n = &p->nodes[node];
    const struct wanted *w = data;
    if (n->kind != w->kind)
        return false;
    if (n->kind == GRAPH_COMMUNICATION)
        return same(n->name, w->name);
    return w->any       ? n->callee != GRAPH_NONE
           : w->through ? n->flags & UNIT_POINTER
                        : n->callee == w->callee;
}

static bool inside(const struct program *p, uint32_t node, void *data)
{
    (void)data;
    return p->nodes[node].kind == GRAPH_PROCEDURE || p->nodes[node].kind == GRAPH_LOOP;
}

/* A statement may have several lines, and the compiler names any of them: of those that fit and
 * have the line in them, the one that begins last. */
static uint32_t around(const struct program *p, const char *path, const char *shown, uint32_t line,
                       program_take *take, void *data)
{
    uint32_t best = GRAPH_NONE;
    for (uint32_t i = 0; line && i < p->count; i++) {
        const struct program_node *n = &p->nodes[i];
        if (n->line <= line && line <= n->end_line &&
            (same(n->path, path) || same(n->file, shown)) && take(p, i, data) &&
            (best == GRAPH_NONE || n->line >= p->nodes[best].line))
            best = i;
    }
    return best;
}

static uint32_t find_at(const struct program *p, const struct resolver_place *place,
                        struct wanted *wanted)
{
    uint32_t found = program_at(p, place->path, place->file, place->line, fits, wanted);
    return found == GRAPH_NONE ? around(p, place->path, place->file, place->line, fits, wanted)
                               : found;
}

/* Without debug information the symbol table still names the procedure: "f", or "f(int)". Which of
 * several of that name it is cannot be told. */
static uint32_t by_name(const struct finding *f, const struct graph_node *n)
{
    const struct program *p = &f->items->program;
    uint32_t module = known_module(f, n->module, n->build_id), found = GRAPH_NONE;
    for (uint32_t i = 0; module != GRAPH_NONE && n->procedure && i < p->count; i++) {
        const struct program_node *procedure = &p->nodes[i];
        size_t length = strlen(procedure->name);
        if (procedure->kind != GRAPH_PROCEDURE || procedure->module != module ||
            strncmp(n->procedure, procedure->name, length) ||
            (n->procedure[length] && n->procedure[length] != '('))
            continue;
        if (found != GRAPH_NONE)
            return GRAPH_NONE;
        found = i;
    }
    return found;
}

static void place_communication(struct finding *f, uint32_t raw)
{
    const struct program *p = &f->items->program;
    const struct graph_node *n = &f->run->graph.nodes[raw];
    struct resolver_place place = {0};
    f->raw[raw] = (struct raw){RAW_APART, GRAPH_NONE, GRAPH_NONE};
    if (n->kind != GRAPH_COMMUNICATION)
        return;
    if (!n->line) {
        f->raw[raw].item = by_name(f, n);
        return;
    }
    if (n->module && f->resolver)
        resolver_lookup(f->resolver, n->module, n->build_id, n->offset, &place);
    place.file = n->file;
    place.line = n->line;
    struct wanted wanted = {.kind = GRAPH_COMMUNICATION, .name = n->name};
    uint32_t found = find_at(p, &place, &wanted);
    if (found == GRAPH_NONE) {
        f->raw[raw].item = around(p, place.path, place.file, place.line, inside, NULL);
        return;
    }
    f->raw[raw] = (struct raw){RAW_ITEM, found, GRAPH_NONE};
    if (f->first[found] == GRAPH_NONE)
        f->first[found] = raw;
}

static uint32_t met_call(struct finding *f, uint32_t statement, uint32_t callee)
{
    for (size_t i = f->call_count; i-- > 0;)
        if (f->calls[i].statement == statement && f->calls[i].callee == callee)
            return (uint32_t)i;
    *VEC_PUSH(f->calls, f->call_count, f->call_room) =
        (struct met_call){statement, callee, GRAPH_NONE};
    return (uint32_t)(f->call_count - 1);
}

/* Without debug information a call is known by the procedure that it stands in. Callee GRAPH_NONE:
 * any. */
static uint32_t call_in(const struct program *p, const struct resolver_place *place,
                        uint32_t callee)
{
    const char *in = place->outer ? place->outer : place->procedure;
    for (uint32_t i = 0; in && i < p->count; i++)
        if (p->nodes[i].kind == GRAPH_CALL && !p->nodes[i].line &&
            (callee == GRAPH_NONE || p->nodes[i].callee == callee) &&
            same(p->nodes[p->nodes[i].procedure].name, in))
            return i;
    return GRAPH_NONE;
}

/* A procedure's executions from one return address. */
static struct raw place_caller(struct finding *f, const struct graph_node *n, uint32_t procedure)
{
    const struct program *p = &f->items->program;
    struct resolver_place place = {0};
    struct wanted wanted = {.kind = GRAPH_CALL, .callee = procedure};
    if (f->resolver)
        resolver_lookup(f->resolver, n->probe.caller, n->probe.caller_build_id,
                        n->probe.caller_offset, &place);
    uint32_t found = place.line ? find_at(p, &place, &wanted) : call_in(p, &place, procedure);
    if (found != GRAPH_NONE) { /* counted where it stands, if it has a probe */
        f->present[found] = true;
        return (struct raw){p->nodes[found].probe ? RAW_TIME : RAW_ITEM, found, GRAPH_NONE};
    }
    wanted.through = true;
    found = place.line ? find_at(p, &place, &wanted) : GRAPH_NONE;
    /* What is called there has called it as its last act, and let it return in its place. */
    wanted.any = p->nodes[procedure].flags & UNIT_INSERTED;
    if (found == GRAPH_NONE && wanted.any)
        found = place.line ? find_at(p, &place, &wanted) : call_in(p, &place, GRAPH_NONE);
    return (struct raw){RAW_CALL, met_call(f, found, procedure), GRAPH_NONE};
}

static void place_probe(struct finding *f, uint32_t raw)
{
    const struct program *p = &f->items->program;
    const struct graph_node *n = &f->run->graph.nodes[raw];
    const struct program_site *site =
        program_site(p, known_module(f, n->module, n->build_id), n->probe.unit, n->probe.site);
    f->raw[raw] = (struct raw){RAW_LEFT_OUT, GRAPH_NONE, GRAPH_NONE};
    if (!site) {
        f->lost++;
        return;
    }
    bool inside = n->probe.kind == LOUPE_SITE_RECURSIVE;
    bool by_caller = (inside || n->probe.kind == LOUPE_SITE_PROCEDURE) && n->probe.caller;
    if (!by_caller && site->loop != GRAPH_NONE) {
        f->raw[raw].loop = site->loop;
        f->present[site->loop] = true;
    }
    if (site->node == GRAPH_NONE)
        return;
    f->present[site->node] = true;
    f->raw[raw].item = site->node;
    if (n->probe.kind == LOUPE_SITE_SOLE && site->sole != GRAPH_NONE) {
        f->present[site->sole] = true;
        f->raw[raw].item = site->sole;
        f->raw[raw].role = RAW_SOLE;
    } else if (n->probe.kind != LOUPE_SITE_PROCEDURE && n->probe.kind != LOUPE_SITE_SOLE && !inside)
        f->raw[raw].role = RAW_ITEM;
    else if (p->nodes[site->node].kind != GRAPH_PROCEDURE)
        f->raw[raw].item = GRAPH_NONE;
    else if (by_caller)
        f->raw[raw] = place_caller(f, n, site->node);
    else
        f->raw[raw].role = inside ? RAW_INSIDE : RAW_ENTRIES;
}

/* The calls of itself that a procedure's entries count: one statement; GRAPH_NONE: several. */
static uint32_t recursive_call(const struct program *p, uint32_t procedure)
{
    uint32_t found = GRAPH_NONE;
    for (uint32_t i = procedure + 1; i < p->count; i++) {
        const struct program_node *n = &p->nodes[i];
        if (n->kind != GRAPH_CALL || n->procedure != procedure || n->callee != procedure)
            continue;
        if (found != GRAPH_NONE)
            return GRAPH_NONE;
        found = i;
    }
    return found;
}

static bool is_recursive(const struct program *p, uint32_t node)
{
    return p->nodes[node].kind == GRAPH_PROCEDURE && p->nodes[node].flags & UNIT_RECURSIVE &&
           !p->nodes[node].mixed;
}

/* What stands around something that was executed is there as well. */
static void mark_present(struct finding *f)
{
    const struct program *p = &f->items->program;
    for (size_t i = 0; i < f->run->graph.count; i++) {
        const struct raw *raw = &f->raw[i];
        if (raw->role <= RAW_TIME && raw->item != GRAPH_NONE)
            f->present[raw->item] = true;
    }
    for (size_t i = 0; i < f->call_count; i++) {
        f->present[f->calls[i].callee] = true;
        if (f->calls[i].statement != GRAPH_NONE)
            f->present[f->calls[i].statement] = true;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t again = f->present[i] && is_recursive(p, i) ? recursive_call(p, i) : GRAPH_NONE;
        if (again != GRAPH_NONE)
            f->present[again] = true;
    }
    for (size_t i = p->count; i-- > 0;)
        if (f->present[i] && p->nodes[i].parent != GRAPH_NONE)
            f->present[p->nodes[i].parent] = true;
}

static struct item *add_item(struct items *items, enum graph_kind kind)
{
    struct item *item = VEC_PUSH(items->list, items->count, items->room);
    *item = (struct item){.kind = kind,
                          .node = GRAPH_NONE,
                          .parent = GRAPH_NONE,
                          .procedure = GRAPH_NONE,
                          .callee = GRAPH_NONE,
                          .group = GRAPH_NONE,
                          .unknown = GRAPH_NONE,
                          .raw = GRAPH_NONE,
                          .statement = GRAPH_NONE,
                          .out = GRAPH_NONE};
    return item;
}

/* Items for static nodes; `map` gets their numbers. */
static void add_static(struct finding *f, uint32_t *map)
{
    struct items *items = f->items;
    const struct program *p = &items->program;
    uint32_t *order = program_order(p);
    for (size_t i = 0; i < p->count; i++) {
        const struct program_node *n = &p->nodes[order[i]];
        map[order[i]] = GRAPH_NONE;
        if (!f->present[order[i]])
            continue;
        map[order[i]] = (uint32_t)items->count;
        struct item *item = add_item(items, n->kind);
        item->node = order[i];
        item->parent = n->parent == GRAPH_NONE ? GRAPH_NONE : map[n->parent];
        item->procedure = map[n->procedure];
        item->raw = f->first[order[i]];
        item->probe = n->probe || n->kind == GRAPH_COMMUNICATION || n->kind == GRAPH_CALL;
        item->optional = n->kind == GRAPH_CALL && n->flags & (UNIT_POINTER | UNIT_RECURSIVE);
    }
    for (size_t i = 0; i < items->count; i++) {
        uint32_t callee = p->nodes[items->list[i].node].callee;
        items->list[i].callee = callee == GRAPH_NONE ? GRAPH_NONE : map[callee];
    }
    free(order);
}

/* Calls that no table has: by pointers, and from code without probes. */
static void add_met(struct finding *f, const uint32_t *map)
{
    struct items *items = f->items;
    size_t static_count = items->count;
    for (size_t i = 0; i < static_count; i++) {
        if (items->list[i].kind != GRAPH_PROCEDURE || !items->list[i].probe)
            continue;
        bool recursive = is_recursive(&items->program, items->list[i].node);
        uint32_t again =
            recursive ? recursive_call(&items->program, items->list[i].node) : GRAPH_NONE;
        if (again != GRAPH_NONE) {
            items->list[i].unknown = map[again];
            continue;
        }
        items->list[i].unknown = (uint32_t)items->count;
        struct item *item = add_item(items, GRAPH_CALL);
        item->callee = (uint32_t)i;
        item->optional = item->probe = true;
        if (recursive) {
            item->parent = item->procedure = (uint32_t)i;
            item->inside = true;
        }
    }
    for (size_t i = 0; i < f->call_count; i++) {
        struct met_call *call = &f->calls[i];
        uint32_t callee = map[call->callee];
        if (call->statement == GRAPH_NONE) {
            call->item = callee;
            continue;
        }
        uint32_t statement = map[call->statement];
        call->item = (uint32_t)items->count;
        struct item *item = add_item(items, GRAPH_CALL);
        const struct item *pointer = &items->list[statement];
        item->node = call->statement;
        item->parent = pointer->parent;
        item->procedure = pointer->procedure;
        item->callee = callee;
        item->statement = statement;
        item->optional = item->probe = true;
    }
}

static void set_raw(struct finding *f, const uint32_t *map)
{
    for (size_t i = 0; i < f->run->graph.count; i++) {
        struct raw *raw = &f->raw[i];
        if (raw->role == RAW_CALL && f->calls) {
            const struct met_call *call = &f->calls[raw->item];
            bool unknown = call->statement == GRAPH_NONE;
            bool counted = !(f->items->program.nodes[call->callee].flags & UNIT_INSERTED);
            uint32_t callers = unknown ? f->items->list[call->item].unknown : call->item;
            *raw = (struct raw){unknown && counted ? RAW_TIME : RAW_ITEM, callers, GRAPH_NONE};
        } else {
            raw->item = raw->item == GRAPH_NONE ? GRAPH_NONE : map[raw->item];
            raw->loop = raw->loop == GRAPH_NONE ? GRAPH_NONE : map[raw->loop];
        }
    }
}

void items_build(struct items *items, struct run *run, struct resolver *resolver)
{
    struct finding f = {.items = items, .run = run, .resolver = resolver};
    size_t raw_count = run->graph.count;
    *items = (struct items){.raw = xcalloc(raw_count, sizeof *items->raw)};
    f.raw = items->raw;
    f.units_added = xcalloc(run->unit_count + 1, sizeof *f.units_added);
    for (size_t i = 0; i < raw_count; i++)
        if (run->graph.nodes[i].probe.kind)
            tables_of(&f, &run->graph.nodes[i]);
    add_callers(&f);
    program_finish(&items->program);
    size_t count = items->program.count;
    f.present = xcalloc(count + 1, sizeof *f.present);
    f.first = xcalloc(count + 1, sizeof *f.first);
    uint32_t *map = xcalloc(count + 1, sizeof *map);
    memset(f.first, 0xff, (count + 1) * sizeof *f.first);
    for (uint32_t i = 0; i < raw_count; i++) {
        if (run->graph.nodes[i].probe.kind)
            place_probe(&f, i);
        else
            place_communication(&f, i);
    }
    mark_present(&f);
    add_static(&f, map);
    add_met(&f, map);
    set_raw(&f, map);
    if (f.lost && items->program.count)
        run_warn(run, "%llu probes are not in the program graph of their binary: left out",
                 (unsigned long long)f.lost);
    free(map);
    free(f.present);
    free(f.first);
    free(f.calls);
    free(f.modules);
    free(f.build_ids);
    free(f.units_added);
}

void items_free(struct items *items)
{
    program_free(&items->program);
    free(items->list);
    free(items->raw);
    *items = (struct items){0};
}
