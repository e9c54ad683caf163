/* SPDX-License-Identifier: MIT */
#include "binary/inlined.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/path.h"
#include "binary/units.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 128, SCOPES_MOST = 1 << 16 };

struct inlined_reader {
    struct units units;
    struct inlined_procedure *procedures;
    Dwarf_Off *offsets; /* of the entries that the procedures come from */
    size_t count, room, offset_room;
    struct map by_offset, by_path;
    char **paths; /* each once */
    size_t path_count, path_room;
};

struct cover { /* bytes of a scope, and of what was inlined into it */
    uint64_t start, end;
    uint32_t scope;
};

struct walk {
    struct inlined_reader *reader;
    struct unit *unit;
    struct inlined *into;
    struct cover *covers; /* a scope's stand behind those of the scope around it */
    size_t count, room;
};

struct inlined_reader *inlined_open(const struct module *module)
{
    struct inlined_reader *r = xcalloc(1, sizeof *r);
    if (module->dwarf)
        units_load(&r->units, module->dwarf);
    return r;
}

void inlined_close(struct inlined_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        free(r->procedures[i].name);
        free(r->procedures[i].linkage);
        free(r->procedures[i].path);
    }
    for (size_t i = 0; i < r->path_count; i++)
        free(r->paths[i]);
    free(r->paths);
    free(r->procedures);
    free(r->offsets);
    map_free(&r->by_offset);
    map_free(&r->by_path);
    units_free(&r->units);
    free(r);
}

static const char *directory_of(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    return dwarf_attr_integrate(die, name, &attribute) &&
                   dwarf_formudata(&attribute, &number) == 0 && number < UINT32_MAX
               ? (uint32_t)number
               : 0;
}

static bool is_set(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    bool set = false;
    return dwarf_attr_integrate(die, name, &attribute) && dwarf_formflag(&attribute, &set) == 0 &&
           set;
}

static bool same_path(const void *key, uint32_t value, const void *data)
{
    return !strcmp(key, ((const struct inlined_reader *)data)->paths[value]);
}

static const char *keep_path(struct inlined_reader *r, char *path)
{
    uint64_t hash = map_hash(MAP_SEED, path, strlen(path));
    uint32_t known = map_find(&r->by_path, hash, same_path, path, r);
    if (known != MAP_NONE) {
        free(path);
        return r->paths[known];
    }
    map_add(&r->by_path, hash, (uint32_t)r->path_count);
    *VEC_PUSH(r->paths, r->path_count, r->path_room) = path;
    return path;
}

/* A number of the file table that an entry's unit has, as a path in full; NULL: none. The entry
 * may be in another unit than the code (link-time optimisation). */
static const char *path_of(struct walk *w, Dwarf_Die *die, uint32_t file)
{
    Dwarf_Files *files;
    Dwarf_Die unit;
    size_t count;
    if (!file || !dwarf_diecu(die, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) ||
        file >= count)
        return NULL;
    const char *name = dwarf_filesrc(files, file, NULL, NULL);
    const char *directory = directory_of(&unit);
    if (!directory)
        directory = directory_of(&w->unit->die);
    return name ? keep_path(w->reader, path_full(name, directory)) : NULL;
}

static bool same_offset(const void *key, uint32_t value, const void *data)
{
    const struct inlined_reader *r = data;
    return *(const Dwarf_Off *)key == r->offsets[value];
}

/* The entry that all copies of a procedure refer to. */
static Dwarf_Die origin_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    return dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
                   dwarf_formref_die(&attribute, &origin)
               ? origin
               : *die;
}

static void replace(char *name, const char *what, const char *with)
{
    size_t from = strlen(what), to = strlen(with); /* never longer */
    for (char *at = name; (at = strstr(at, what)); at += to) {
        memcpy(at, with, to);
        memmove(at + to, at + from, strlen(at + from) + 1);
    }
}

/* As the source has it: a template is one procedure, whatever it was made for. */
static char *as_written(char *name)
{
    char *to = name;
    int depth = 0;
    if (!name)
        return NULL;
    for (const char *at = name; *at; at++) {
        if (!depth && !strncmp(at, "operator", 8) && strchr("<>-", at[8]) && at[8]) {
            size_t length = 8 + strspn(at + 8, "<>=-");
            memmove(to, at, length);
            to += length;
            at += length - 1;
            continue;
        }
        depth += *at == '<';
        if (!depth)
            *to++ = *at;
        depth -= *at == '>' && depth;
    }
    *to = 0;
    replace(name, "(anonymous namespace)", "(anonymous)");
    replace(name, "{unnamed}::operator()", "lambda");
    replace(name, "{lambda}::operator()", "lambda");
    return name;
}

static uint32_t procedure_of(struct walk *w, Dwarf_Die *die)
{
    struct inlined_reader *r = w->reader;
    Dwarf_Die origin = origin_of(die);
    Dwarf_Off offset = dwarf_dieoffset(&origin);
    uint64_t hash = map_hash(MAP_SEED, &offset, sizeof offset);
    uint32_t known = map_find(&r->by_offset, hash, same_offset, &offset, r);
    if (known != MAP_NONE)
        return known;
    Dwarf_Attribute attribute;
    const char *path = path_of(w, &origin, number_of(&origin, DW_AT_decl_file));
    const char *linkage = dwarf_attr_integrate(&origin, DW_AT_linkage_name, &attribute)
                              ? dwarf_formstring(&attribute)
                              : NULL;
    char *name = as_written(units_name(&r->units, &origin));
    bool internal = !is_set(&origin, DW_AT_external);
    const char *symbol = linkage ? linkage : name;
    struct inlined_procedure p = {
        .name = name ? name : xstrdup("?"),
        .linkage = !symbol    ? NULL
                   : internal ? xasprintf("%s@%lx", symbol, (unsigned long)offset)
                              : xstrdup(symbol),
        .path = path ? xstrdup(path) : NULL,
        .line = number_of(&origin, DW_AT_decl_line),
        .internal = internal,
        .made = is_set(&origin, DW_AT_artificial) || !name,
    };
    map_add(&r->by_offset, hash, (uint32_t)r->count);
    size_t count = r->count;
    *VEC_PUSH(r->offsets, count, r->offset_room) = offset;
    *VEC_PUSH(r->procedures, r->count, r->room) = p;
    return (uint32_t)(r->count - 1);
}

static void add_scope(struct walk *w, Dwarf_Die *die, uint32_t parent)
{
    struct inlined *into = w->into;
    Dwarf_Addr base = 0, low, high;
    uint32_t number = (uint32_t)into->scope_count;
    uint32_t file = parent == INLINED_NONE ? 0 : number_of(die, DW_AT_call_file);
    struct inlined_scope scope = {
        .procedure = procedure_of(w, die),
        .parent = parent,
        .call_path = path_of(w, die, file),
        .call_line = parent == INLINED_NONE ? 0 : number_of(die, DW_AT_call_line),
    };
    *VEC_PUSH(into->scopes, into->scope_count, into->scope_room) = scope;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
        if (low < high)
            *VEC_PUSH(w->covers, w->count, w->room) =
                (struct cover){.start = low, .end = high, .scope = number};
}

static void walk_children(struct walk *w, Dwarf_Die *die, uint32_t scope, int depth)
{
    Dwarf_Die child, next;
    if (depth >= DEPTH || !die_child(die, &child))
        return;
    for (bool more = true; more; child = next) {
        int tag = dwarf_tag(&child);
        uint32_t inner = scope;
        more = die_sibling(&child, &next);
        if (tag == DW_TAG_inlined_subroutine && w->into->scope_count < SCOPES_MOST) {
            inner = (uint32_t)w->into->scope_count;
            add_scope(w, &child, scope);
        } else if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
                   tag != DW_TAG_catch_block) {
            continue;
        }
        walk_children(w, &child, inner, depth + 1);
    }
}

static int compare_addresses(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

static size_t cell_of(const uint64_t *bounds, size_t count, uint64_t address)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = (low + high) / 2;
        if (bounds[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Inner scopes are painted over outer ones, between all bounds that there are. */
static void make_segments(struct walk *w)
{
    struct inlined *into = w->into;
    uint64_t *bounds = xcalloc(w->count * 2 + 1, sizeof *bounds);
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        bounds[count++] = w->covers[i].start;
        bounds[count++] = w->covers[i].end;
    }
    qsort(bounds, count, sizeof *bounds, compare_addresses);
    uint32_t *scopes = xcalloc(count + 1, sizeof *scopes);
    memset(scopes, 0xff, (count + 1) * sizeof *scopes);
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = cell_of(bounds, count, w->covers[i].start);
             k < count && bounds[k] < w->covers[i].end; k++)
            scopes[k] = w->covers[i].scope;
    for (size_t k = 0; k + 1 < count; k++) {
        struct inlined_segment *last =
            into->segment_count ? &into->segments[into->segment_count - 1] : NULL;
        if (scopes[k] == INLINED_NONE || bounds[k] == bounds[k + 1])
            continue;
        if (last && last->scope == scopes[k] && last->end == bounds[k])
            last->end = bounds[k + 1];
        else
            *VEC_PUSH(into->segments, into->segment_count, into->segment_room) =
                (struct inlined_segment){
                    .start = bounds[k], .end = bounds[k + 1], .scope = scopes[k]};
    }
    free(bounds);
    free(scopes);
}

uint32_t inlined_root(struct inlined_reader *r, uint64_t address)
{
    struct unit *unit = units_find(&r->units, address);
    const struct function *function = unit ? unit_function(unit, address) : NULL;
    if (!function)
        return INLINED_NONE;
    struct walk w = {.reader = r, .unit = unit};
    Dwarf_Die die = function->die;
    return procedure_of(&w, &die);
}

bool inlined_read(struct inlined_reader *r, uint64_t address, struct inlined *into)
{
    struct unit *unit = units_find(&r->units, address);
    const struct function *function = unit ? unit_function(unit, address) : NULL;
    *into = (struct inlined){0};
    if (!function)
        return false;
    struct walk w = {.reader = r, .unit = unit, .into = into};
    Dwarf_Die die = function->die;
    into->unit = (size_t)(unit - r->units.units);
    into->directory = directory_of(&unit->die);
    add_scope(&w, &die, INLINED_NONE);
    walk_children(&w, &die, 0, 0);
    make_segments(&w);
    free(w.covers);
    return true;
}

void inlined_free(struct inlined *inlined)
{
    free(inlined->scopes);
    free(inlined->segments);
    *inlined = (struct inlined){0};
}

const struct inlined_procedure *inlined_procedure(const struct inlined_reader *r, uint32_t number)
{
    return &r->procedures[number];
}

size_t inlined_units(const struct inlined_reader *r)
{
    return r->units.count;
}

uint32_t inlined_at(const struct inlined *inlined, uint64_t address)
{
    size_t low = 0;
    for (size_t high = inlined->segment_count; low < high;) {
        size_t middle = (low + high) / 2;
        if (inlined->segments[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < inlined->segments[low - 1].end ? inlined->segments[low - 1].scope : 0;
}
