/* SPDX-License-Identifier: MIT */
#include "graph/program.h"

#include "base/alloc.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return map_hash(seed, text, strlen(text));
}

static bool same_path(const void *key, uint32_t value, const void *data)
{
    return !strcmp(key, ((const struct program *)data)->files[value]->path);
}

/* Files are many times fewer than nodes: their place in memory is fixed, nodes point there. */
static struct program_file *file_of(struct program *p, const char *path, const char *directory)
{
    char *full = path_full(path, directory);
    uint64_t hash = hash_text(MAP_SEED, full);
    uint32_t found = map_find(&p->file_map, hash, same_path, full, p);
    if (found != MAP_NONE) {
        free(full);
        return p->files[found];
    }
    struct program_file *file = xcalloc(1, sizeof *file);
    file->path = full;
    file->shown = path_shown(path, directory);
    for (size_t i = 0; i < p->file_count; i++)
        if (!strcmp(p->files[i]->shown, file->shown))
            p->files[i]->doubled = file->doubled = true;
    *VEC_PUSH(p->files, p->file_count, p->file_room) = file;
    map_add(&p->file_map, hash, (uint32_t)(p->file_count - 1));
    return file;
}

static bool same_node(const void *key, uint32_t value, const void *data)
{
    const struct program_node *a = key, *b = &((const struct program *)data)->nodes[value];
    return a->kind == b->kind && a->line == b->line && a->parent == b->parent &&
           a->path == b->path && !strcmp(a->name, b->name);
}

static uint64_t hash_node(const struct program_node *n)
{
    uint64_t words[] = {n->kind, n->line, n->parent, (uintptr_t)n->path};
    return hash_text(map_hash(MAP_SEED, words, sizeof words), n->name);
}

static uint64_t hash_line(const char *file, uint32_t line)
{
    return hash_text(map_hash(MAP_SEED, &line, sizeof line), file);
}

static uint32_t add_node(struct program *p, const struct program_node *node)
{
    uint64_t hash = hash_node(node);
    uint32_t found = map_find(&p->node_map, hash, same_node, node, p);
    if (found != MAP_NONE)
        return found;
    struct program_node *n = VEC_PUSH(p->nodes, p->count, p->room);
    uint32_t number = (uint32_t)(p->count - 1);
    *n = *node;
    n->name = xstrdup(node->name);
    n->linkage = node->linkage ? xstrdup(node->linkage) : NULL;
    n->procedure = n->parent == GRAPH_NONE ? number : p->nodes[n->parent].procedure;
    map_add(&p->node_map, hash, number);
    if (n->line) /* else all of a binary without lines would be in one place */
        map_add(&p->line_map, hash_line(n->path, n->line), number);
    return number;
}

static uint64_t hash_site(uint32_t module, uint64_t unit, uint32_t site)
{
    uint64_t words[] = {unit, (uint64_t)module << 32 | site};
    return map_hash(MAP_SEED, words, sizeof words);
}

static bool same_site(const void *key, uint32_t value, const void *data)
{
    const struct program_site *a = key, *b = &((const struct program *)data)->sites[value];
    return a->unit == b->unit && a->module == b->module && a->site == b->site;
}

const struct program_site *program_site(const struct program *p, uint32_t module, uint64_t unit,
                                        uint32_t site)
{
    struct program_site key = {.unit = unit, .module = module, .site = site};
    uint32_t found = map_find(&p->site_map, hash_site(module, unit, site), same_site, &key, p);
    return found == MAP_NONE ? NULL : &p->sites[found];
}

/* A site may stand at a statement and count the turns of the loop around it as well. */
static void add_site(struct program *p, const struct program_site *site)
{
    uint32_t found = site->site == GRAPH_NONE
                         ? MAP_NONE
                         : map_find(&p->site_map, hash_site(site->module, site->unit, site->site),
                                    same_site, site, p);
    if (site->site == GRAPH_NONE)
        return;
    if (found != MAP_NONE) {
        struct program_site *known = &p->sites[found];
        known->node = known->node == GRAPH_NONE ? site->node : known->node;
        known->sole = known->sole == GRAPH_NONE ? site->sole : known->sole;
        known->loop = known->loop == GRAPH_NONE ? site->loop : known->loop;
        return;
    }
    *VEC_PUSH(p->sites, p->site_count, p->site_room) = *site;
    map_add(&p->site_map, hash_site(site->module, site->unit, site->site),
            (uint32_t)(p->site_count - 1));
}

static bool same_linkage(const void *key, uint32_t value, const void *data)
{
    const struct program_linkage *a = key, *b = &((const struct program *)data)->linkages[value];
    return (a->module == GRAPH_NONE || a->module == b->module) && !strcmp(a->name, b->name);
}

/* The procedure of this name in a module; GRAPH_NONE for any. */
static uint32_t find_linkage(const struct program *p, const char *name, uint32_t module)
{
    struct program_linkage key = {.name = (char *)name, .module = module};
    uint32_t found = map_find(&p->linkage_map, hash_text(MAP_SEED, name), same_linkage, &key, p);
    return found == MAP_NONE ? GRAPH_NONE : p->linkages[found].node;
}

static void add_linkage(struct program *p, const char *name, uint32_t module, uint32_t node)
{
    if (!name || find_linkage(p, name, module) != GRAPH_NONE)
        return;
    struct program_linkage *l = VEC_PUSH(p->linkages, p->linkage_count, p->linkage_room);
    *l = (struct program_linkage){.name = xstrdup(name), .module = module, .node = node};
    map_add(&p->linkage_map, hash_text(MAP_SEED, name), (uint32_t)(p->linkage_count - 1));
}

void program_add(struct program *p, uint32_t module, const struct unit *unit)
{
    struct program_file **files = xcalloc(unit->file_count + 1, sizeof(struct program_file *));
    uint32_t *map = xcalloc(unit->count + 1, sizeof *map);
    for (size_t i = 0; i < unit->file_count; i++)
        files[i] = file_of(p, unit->files[i], unit->directory);
    for (size_t i = 0; i < unit->count; i++) {
        const struct unit_node *u = &unit->nodes[i];
        struct program_node node = {
            .kind = u->kind,
            .parent = u->parent == GRAPH_NONE ? GRAPH_NONE : map[u->parent],
            .callee = GRAPH_NONE,
            .module = module,
            .line = u->line,
            .end_line = u->end_line,
            .name = u->name,
            .file = files[u->file]->shown,
            .path = files[u->file]->path,
            .linkage = u->linkage,
        };
        map[i] = add_node(p, &node);
        p->nodes[map[i]].flags |= u->flags;
        p->nodes[map[i]].mixed |= !(u->flags & UNIT_RECURSIVE);
        p->nodes[map[i]].probe |= u->site != GRAPH_NONE;
        bool sole = u->kind == GRAPH_CALL && u->flags & UNIT_SOLE;
        struct program_site site = {.unit = unit->id,
                                    .module = module,
                                    .site = u->site,
                                    .node = sole ? GRAPH_NONE : map[i],
                                    .sole = sole ? map[i] : GRAPH_NONE,
                                    .loop = GRAPH_NONE};
        add_site(p, &site);
        site.site = u->kind == GRAPH_LOOP ? u->iterations : GRAPH_NONE;
        site.node = site.sole = GRAPH_NONE;
        site.loop = map[i];
        add_site(p, &site);
        if (u->kind == GRAPH_PROCEDURE)
            add_linkage(p, u->linkage, module, map[i]);
    }
    free(files);
    free(map);
}

void program_finish(struct program *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct program_node *n = &p->nodes[i];
        if (n->kind == GRAPH_CALL && n->linkage && !(n->flags & UNIT_POINTER)) {
            n->callee = find_linkage(p, n->linkage, n->module);
            if (n->callee == GRAPH_NONE)
                n->callee = find_linkage(p, n->linkage, GRAPH_NONE);
        }
        struct program_file *file =
            p->files[map_find(&p->file_map, hash_text(MAP_SEED, n->path), same_path, n->path, p)];
        n->file = file->doubled ? file->path : file->shown;
        if (n->line && strcmp(n->file, n->path)) /* found by either name */
            map_add(&p->line_map, hash_line(file->shown, n->line), (uint32_t)i);
    }
}

void program_free(struct program *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->nodes[i].name);
        free(p->nodes[i].linkage);
    }
    for (size_t i = 0; i < p->file_count; i++) {
        free(p->files[i]->path);
        free(p->files[i]->shown);
        free(p->files[i]);
    }
    for (size_t i = 0; i < p->linkage_count; i++)
        free(p->linkages[i].name);
    free(p->nodes);
    free(p->files);
    free(p->sites);
    free(p->linkages);
    map_free(&p->node_map);
    map_free(&p->file_map);
    map_free(&p->site_map);
    map_free(&p->linkage_map);
    map_free(&p->line_map);
    *p = (struct program){0};
}

static int compare(const void *pa, const void *pb, void *data)
{
    uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
    const struct program_node *nodes = data, *a = &nodes[i], *b = &nodes[j];
    int order = a->path == b->path ? 0 : strcmp(a->file, b->file);
    if (order)
        return order;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return i < j ? -1 : i > j;
}

uint32_t *program_order(const struct program *p)
{
    uint32_t *sorted = xcalloc(p->count + 1, sizeof *sorted), *order = sorted;
    /* Lists of children; that of what has no parent stands at the end. */
    uint32_t *first = xcalloc(p->count + 1, sizeof *first);
    uint32_t *next = xcalloc(p->count + 1, sizeof *next);
    for (size_t i = 0; i < p->count; i++) {
        sorted[i] = (uint32_t)i;
        first[i] = GRAPH_NONE;
    }
    first[p->count] = GRAPH_NONE;
    if (p->count)
        qsort_r(sorted, p->count, sizeof *sorted, compare, p->nodes);
    for (size_t i = p->count; i-- > 0;) {
        uint32_t n = sorted[i], parent = p->nodes[n].parent;
        uint32_t *list = &first[parent == GRAPH_NONE ? p->count : parent];
        next[n] = *list;
        *list = n;
    }
    uint32_t at = first[p->count];
    for (size_t count = 0; at != GRAPH_NONE;) {
        order[count++] = at;
        uint32_t then = first[at];
        while (then == GRAPH_NONE && at != GRAPH_NONE) {
            then = next[at];
            at = p->nodes[at].parent;
        }
        at = then;
    }
    free(first);
    free(next);
    return order;
}

struct at {
    const char *file;
    bool full;
    uint32_t line;
    program_take *take;
    void *data;
};

static bool stands_at(const void *key, uint32_t value, const void *data)
{
    const struct program *p = data;
    const struct at *at = key;
    const struct program_node *n = &p->nodes[value];
    return n->line == at->line && !strcmp(at->full ? n->path : n->file, at->file) &&
           at->take(p, value, at->data);
}

uint32_t program_at(const struct program *p, const char *path, const char *shown, uint32_t line,
                    program_take *take, void *data)
{
    const char *files[] = {path, shown};
    for (int i = 0; i < 2; i++) {
        struct at at = {files[i], i == 0, line, take, data};
        uint32_t found = !files[i]
                             ? MAP_NONE
                             : map_find(&p->line_map, hash_line(files[i], line), stands_at, &at, p);
        if (found != MAP_NONE)
            return found;
    }
    return GRAPH_NONE;
}
