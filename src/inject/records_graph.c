/* SPDX-License-Identifier: MIT */
/* The static tables of procedures whose probes were inserted: what `loupe cc` finds in a source,
 * from the machine code and its debug information, with the same names, files and lines. */
#include "inject/records.h"

#include "base/alloc.h"
#include "base/map.h"
#include "binary/resolve.h"
#include "graph/unit.h"
#include "inject/session_parts.h"
#include "record/dynamic.h"

#include <stdlib.h>
#include <string.h>

/* A procedure that has a probe. */
struct chosen {
    const struct loaded *loaded;
    const struct code *code;
    const struct code_function *function;
    uint32_t site, inside; /* CODE_NONE: entries from its group are not told apart */
    uint64_t unit;         /* id */
    uint32_t unit_sites;
    const char *linkage;
};

struct tables_made {
    struct session *session;
    struct process *process;
    struct resolver *resolver;
    struct chosen *chosen;
    size_t count, room;
    struct map names; /* of those, with their other names */
    struct linkages {
        const struct code *code;
        char **list;
    } * linkages;
    size_t linkage_count, linkage_room;
    /* the module at hand */
    const struct loaded *loaded;
    const struct code *code;
    uint64_t id;
    uint32_t sites;
    struct unit *units; /* one for each directory of compilation */
    size_t unit_count, unit_room;
};

static int by_place(const void *pa, const void *pb)
{
    const struct chosen *a = pa, *b = pb;
    if (a->loaded != b->loaded)
        return a->loaded < b->loaded ? -1 : 1;
    return a->function < b->function ? -1 : a->function > b->function;
}

static const char *linkage_of(struct tables_made *t, const struct code *code,
                              const struct code_function *f)
{
    size_t i = 0;
    while (i < t->linkage_count && t->linkages[i].code != code)
        i++;
    if (i == t->linkage_count)
        *VEC_PUSH(t->linkages, t->linkage_count, t->linkage_room) =
            (struct linkages){code, records_linkages(code)};
    return t->linkages[i].list[f - code->functions];
}

static void choose(struct tables_made *t, uint32_t handle)
{
    const struct process *p = t->process;
    for (size_t i = 0; i < p->site_count; i++)
        for (size_t k = 0; k < p->sites[i]->use_count; k++) {
            const struct site_use *u = &p->sites[i]->uses[k];
            struct dynamic_unit unit;
            if (u->handle != handle || !u->record.unit || u->point->kind != CODE_ENTRY ||
                target_read(p->target, u->record.unit, &unit, sizeof unit) < 0)
                continue;
            const struct loaded *l = p->sites[i]->loaded;
            /* of the analysis that its points are of */
            const struct code *code = l->analysis->code;
            if (l->analysis->plain && u->point >= l->analysis->plain->points &&
                u->point < l->analysis->plain->points + l->analysis->plain->point_count)
                code = l->analysis->plain;
            const struct code_function *f = &code->functions[u->point->function];
            *VEC_PUSH(t->chosen, t->count, t->room) =
                (struct chosen){.loaded = l,
                                .code = code,
                                .function = f,
                                .site = u->record.site,
                                .inside = u->record.range_count ? u->record.inside : CODE_NONE,
                                .unit = unit.unit.id,
                                .unit_sites = unit.unit.sites,
                                .linkage = linkage_of(t, code, f)};
        }
    if (t->chosen)
        qsort(t->chosen, t->count, sizeof *t->chosen, by_place);
}

static const struct chosen *chosen_at(const struct tables_made *t, const struct code_function *f)
{
    struct chosen like = {.loaded = t->loaded, .function = f};
    return t->chosen ? bsearch(&like, t->chosen, t->count, sizeof like, by_place) : NULL;
}

static uint64_t hash_name(const char *name, size_t length)
{
    return map_hash(MAP_SEED, name, length);
}

static bool has_alias(const struct code_function *f, const char *name, size_t length)
{
    for (const char *at = f->aliases; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (!strncmp(at, name, length) && (at[length] == '\n' || !at[length]))
            return true;
    }
    return false;
}

static void add_names(struct tables_made *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct code_function *f = t->chosen[i].function;
        map_add(&t->names, hash_name(f->name, strlen(f->name)), i);
        for (const char *at = f->aliases; at; at = strchr(at, '\n')) {
            at += *at == '\n';
            map_add(&t->names, hash_name(at, strcspn(at, "\n")), i);
        }
    }
}

struct called {
    const char *name;
    size_t length;
};

static bool is_called(const void *key, uint32_t value, const void *data)
{
    const struct called *c = key;
    const struct code_function *f = ((const struct tables_made *)data)->chosen[value].function;
    return (!strncmp(f->name, c->name, c->length) && !f->name[c->length]) ||
           has_alias(f, c->name, c->length);
}

/* What a call of this name leads to, through the linkage table: "f" or "f@VERSION". */
static const struct chosen *chosen_named(const struct tables_made *t, const char *name)
{
    struct called c = {name, strcspn(name, "@")};
    uint32_t found = map_find(&t->names, hash_name(name, c.length), is_called, &c, t);
    return found == MAP_NONE ? NULL : &t->chosen[found];
}

static const struct chosen *callee_of(const struct tables_made *t, const struct code_point *p)
{
    if (p->callee != CODE_NONE)
        return chosen_at(t, &t->code->functions[p->callee]);
    return p->callee_name && !p->indirect ? chosen_named(t, p->callee_name) : NULL;
}

static void look_up(const struct tables_made *t, uint64_t return_address,
                    struct resolver_place *place)
{
    *place = (struct resolver_place){0};
    resolver_lookup(t->resolver, t->loaded->path, *t->code->build_id ? t->code->build_id : NULL,
                    return_address, place);
}

/* Paths are shown below the directory of compilation: it is what stands before. */
static struct unit *unit_for(struct tables_made *t, const struct resolver_place *place)
{
    size_t all = place->path ? strlen(place->path) : 0;
    size_t shown = place->file ? strlen(place->file) : 0;
    bool below = shown && all > shown + 1 && !strcmp(place->path + all - shown, place->file) &&
                 place->path[all - shown - 1] == '/';
    char *directory =
        xasprintf("%.*s", below ? (int)(all - shown - 1) : 1, below ? place->path : "/");
    for (size_t i = 0; i < t->unit_count; i++)
        if (!strcmp(t->units[i].directory, directory)) {
            free(directory);
            return &t->units[i];
        }
    struct unit *u = VEC_PUSH(t->units, t->unit_count, t->unit_room);
    *u = (struct unit){
        .id = t->id, .sites = t->sites, .directory = directory, .source = xstrdup(t->loaded->path)};
    return u;
}

/* Where nothing is known of the source, the binary stands for it. */
static uint32_t file_in(const struct tables_made *t, struct unit *u,
                        const struct resolver_place *place)
{
    return unit_file(u, place->path ? place->path : t->loaded->path);
}

static uint64_t behind(const struct tables_made *t, const struct code_point *p)
{
    enum { LONGEST = 15 };
    uint8_t bytes[LONGEST];
    struct code_instruction i;
    for (size_t room = LONGEST; room > 1; room--) /* the last one of the text may be shorter */
        if (loaded_bytes(t->loaded, p->address, bytes, room))
            return code_decode(bytes, room, p->address, &i) ? p->address + i.length : 0;
    return 0;
}

static void add_call(struct tables_made *t, struct unit *u, uint32_t parent,
                     const struct code_point *p)
{
    const struct chosen *callee = callee_of(t, p);
    struct resolver_place place, name;
    uint64_t back = callee || p->indirect ? behind(t, p) : 0;
    if (!back)
        return;
    look_up(t, back, &place);
    if (!callee && !place.line)
        return;
    struct unit_node node = {.kind = GRAPH_CALL,
                             .parent = parent,
                             .site = GRAPH_NONE,
                             .iterations = GRAPH_NONE,
                             .file = file_in(t, u, &place),
                             .line = place.line,
                             .end_line = place.line,
                             .flags = callee ? 0 : UNIT_POINTER,
                             .name = (char *)"a procedure"};
    if (callee) {
        const struct loaded *here = t->loaded;
        const struct code *code = t->code;
        t->loaded = callee->loaded;
        t->code = callee->code;
        look_up(t, callee->function->start + 1, &name);
        t->loaded = here;
        t->code = code;
        node.name = (char *)(name.outer       ? name.outer
                             : name.procedure ? name.procedure
                                              : callee->function->pretty);
        node.linkage = (char *)callee->linkage;
    }
    unit_add(u, &node);
}

/* The last line that something of it stands on. */
static uint32_t last_line(const struct tables_made *t, const struct code_function *f,
                          const struct resolver_place *first)
{
    struct resolver_place place;
    uint32_t last = first->line;
    for (uint32_t i = 0; last && i <= f->point_count; i++) {
        const struct code_point *p = &t->code->points[f->first_point + i];
        look_up(t, i < f->point_count ? p->address + 1 : f->end, &place);
        if (place.line > last && place.path && first->path && !strcmp(place.path, first->path) &&
            !place.outer)
            last = place.line;
    }
    return last;
}

static void add_procedure(struct tables_made *t, const struct code_function *f)
{
    const struct chosen *c = chosen_at(t, f);
    struct resolver_place place;
    look_up(t, f->start + 1, &place);
    if (place.defined_line) {
        place.file = place.defined_file;
        place.path = place.defined_path;
        place.line = place.defined_line;
    }
    struct unit *u = unit_for(t, &place);
    const char *linkage = c ? c->linkage : linkage_of(t, t->code, f);
    struct unit_node node = {.kind = GRAPH_PROCEDURE,
                             .parent = GRAPH_NONE,
                             .site = c ? c->site : GRAPH_NONE,
                             .iterations = GRAPH_NONE,
                             .file = file_in(t, u, &place),
                             .line = place.line,
                             .end_line = last_line(t, f, &place),
                             .flags = c ? UNIT_INSERTED : UNIT_ALONE,
                             .name = (char *)(place.outer       ? place.outer
                                              : place.procedure ? place.procedure
                                                                : f->pretty),
                             .linkage = (char *)linkage};
    uint32_t number = unit_add(u, &node);
    if (c && c->inside != CODE_NONE) { /* the same node */
        node.site = c->inside;
        unit_add(u, &node);
    }
    for (uint32_t i = 0; i < f->point_count; i++) {
        const struct code_point *p = &t->code->points[f->first_point + i];
        if (p->kind == CODE_CALL && (c || !p->indirect))
            add_call(t, u, number, p);
    }
}

static bool calls_chosen(const struct tables_made *t, const struct code_function *f)
{
    for (uint32_t i = 0; i < f->point_count; i++) {
        const struct code_point *p = &t->code->points[f->first_point + i];
        if (p->kind == CODE_CALL && callee_of(t, p))
            return true;
    }
    return false;
}

static void add_module(struct tables_made *t, struct strbuf *out)
{
    const struct code *code = t->code;
    for (size_t i = 0; i < code->function_count; i++)
        if (chosen_at(t, &code->functions[i]) || calls_chosen(t, &code->functions[i]))
            add_procedure(t, &code->functions[i]);
    for (size_t i = 0; i < t->unit_count; i++) {
        unit_encode(&t->units[i], out);
        unit_free(&t->units[i]);
    }
    t->unit_count = 0;
}

void records_graph(struct session *session, size_t process, uint32_t handle, struct strbuf *out)
{
    struct tables_made t = {
        .session = session, .process = &session->processes[process], .resolver = resolver_new()};
    choose(&t, handle);
    add_names(&t);
    for (size_t i = 0; t.count && i < t.process->loaded_count; i++) {
        struct loaded *l = t.process->loaded[i];
        const struct code *code = l->analysis ? l->analysis->code : NULL;
        t.id = t.sites = 0;
        for (size_t k = 0; k < t.count; k++)
            if (t.chosen[k].loaded == l) {
                code = t.chosen[k].code;
                t.id = t.chosen[k].unit;
                t.sites = t.chosen[k].unit_sites;
            }
        if (l->gone || !code)
            continue;
        t.loaded = l;
        t.code = code;
        add_module(&t, out);
    }
    for (size_t i = 0; i < t.linkage_count; i++)
        records_linkages_free(t.linkages[i].list, t.linkages[i].code->function_count);
    free(t.linkages);
    free(t.chosen);
    map_free(&t.names);
    free(t.units);
    resolver_free(t.resolver);
}
