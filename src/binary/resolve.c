/* SPDX-License-Identifier: MIT */
#include "binary/resolve.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "binary/module.h"
#include "binary/symbols.h"
#include "binary/units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INLINED = 64 }; /* frames inlined into each other */

struct opened {
    char *path, *build_id;
    int error;
    struct module module;
    struct units units;
    struct symbols symbols;
    bool symbols_loaded;
};

struct answer {
    const struct opened *module; /* NULL: free */
    uint64_t offset;
    int error;
    struct resolver_place place;
};

struct resolver {
    char *debug_dir;
    struct opened **modules;
    size_t count, room;
    struct answer *answers; /* hash table, a power of two */
    size_t answer_count, answer_room;
    char **texts; /* what the answers point to */
    size_t text_count, text_room;
};

struct resolver *resolver_new(void)
{
    struct resolver *r = xcalloc(1, sizeof *r);
    elf_version(EV_CURRENT);
    resolver_set_debug_dir(r, "/usr/lib/debug");
    return r;
}

void resolver_set_debug_dir(struct resolver *r, const char *dir)
{
    free(r->debug_dir);
    r->debug_dir = xstrdup(dir);
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        struct opened *o = r->modules[i];
        units_free(&o->units);
        symbols_free(&o->symbols);
        module_close(&o->module);
        free(o->path);
        free(o->build_id);
        free(o);
    }
    for (size_t i = 0; i < r->text_count; i++)
        free(r->texts[i]);
    free(r->texts);
    free(r->modules);
    free(r->answers);
    free(r->debug_dir);
    free(r);
}

/* Hands a text over to the resolver; NULL stays NULL. */
static const char *keep(struct resolver *r, char *text)
{
    if (text)
        *VEC_PUSH(r->texts, r->text_count, r->text_room) = text;
    return text;
}

static struct opened *open_module(struct resolver *r, const char *path, const char *build_id)
{
    for (size_t i = 0; i < r->count; i++) {
        struct opened *o = r->modules[i];
        if (!strcmp(o->path, path) &&
            (o->build_id && build_id ? !strcmp(o->build_id, build_id) : !o->build_id == !build_id))
            return o;
    }
    struct opened *o = xcalloc(1, sizeof *o);
    o->path = xstrdup(path);
    o->build_id = build_id ? xstrdup(build_id) : NULL;
    o->error = module_open(&o->module, path, build_id, r->debug_dir);
    if (o->module.dwarf)
        units_load(&o->units, o->module.dwarf);
    *VEC_PUSH(r->modules, r->count, r->room) = o;
    return o;
}

/* The row of the line table that holds the address; rows with line 0 belong to the one before. */
static Dwarf_Line *line_at(struct unit *unit, Dwarf_Addr address)
{
    Dwarf_Lines *lines;
    size_t count, low = 0;
    if (dwarf_getsrclines(&unit->die, &lines, &count))
        return NULL;
    for (size_t high = count; low < high;) {
        size_t middle = (low + high) / 2;
        Dwarf_Addr begins = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, middle), &begins);
        if (begins <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low--) {
        Dwarf_Line *line = dwarf_onesrcline(lines, low);
        bool end;
        int number;
        if (dwarf_lineendsequence(line, &end) || end)
            break;
        if (dwarf_lineno(line, &number) == 0 && number > 0)
            return line;
    }
    return NULL;
}

static const char *directory_of(struct unit *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* The inlined functions around the address, outermost first. */
struct chain {
    Dwarf_Die frames[INLINED];
    int count;
};

/* Whether the address lies in one of the entry's children, which are then in the chain. */
static bool find_inlined(Dwarf_Die *die, Dwarf_Addr address, struct chain *chain, int depth)
{
    Dwarf_Die child, next;
    if (depth >= 2 * INLINED || !die_child(die, &child))
        return false;
    for (bool more = true; more; child = next) {
        int tag = dwarf_tag(&child);
        more = die_sibling(&child, &next);
        if (tag == DW_TAG_inlined_subroutine && chain->count < INLINED &&
            dwarf_haspc(&child, address) == 1) {
            chain->frames[chain->count++] = child;
            find_inlined(&child, address, chain, depth + 1);
            return true;
        }
        bool block =
            tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
        if (block && find_inlined(&child, address, chain, depth + 1))
            return true;
    }
    return false;
}

static bool number_of(Dwarf_Die *die, unsigned name, Dwarf_Word *number)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, number) == 0;
}

/* "file:line" where the frame was inlined. */
static void add_call_site(struct strbuf *text, struct unit *unit, Dwarf_Die *frame)
{
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files *files;
    size_t count;
    const char *name = NULL;
    if (number_of(frame, DW_AT_call_file, &file) &&
        dwarf_getsrcfiles(&unit->body, &files, &count) == 0 && file < count)
        name = dwarf_filesrc(files, file, NULL, NULL);
    number_of(frame, DW_AT_call_line, &line);
    char *shown = name ? path_shown(name, directory_of(unit)) : xstrdup("?");
    strbuf_printf(text, "%s%s:%llu", text->len ? " < " : "", shown, (unsigned long long)line);
    free(shown);
}

static void by_function(struct resolver *r, struct opened *o, struct unit *unit, Dwarf_Addr address,
                        struct resolver_place *place)
{
    const struct function *function = unit_function(unit, address);
    struct chain chain = {.count = 0};
    struct strbuf sites = {0};
    if (!function)
        return;
    Dwarf_Die outer = function->die;
    find_inlined(&outer, address, &chain, 0);
    if (!chain.count) {
        place->procedure = keep(r, units_name(&o->units, &outer));
        return;
    }
    place->procedure = keep(r, units_name(&o->units, &chain.frames[chain.count - 1]));
    place->outer = keep(r, units_name(&o->units, &outer));
    for (int i = chain.count; i--;)
        add_call_site(&sites, unit, &chain.frames[i]);
    place->inlined = keep(r, strbuf_take(&sites));
}

/* Of the whole function, whatever was inlined at the address. Its declaration, or what it is a copy
 * of, may have it. */
static bool defined_at(Dwarf_Die *die, unsigned name, Dwarf_Word *number)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) && dwarf_formudata(&attribute, number) == 0;
}

static void by_definition(struct resolver *r, struct unit *unit, Dwarf_Addr address,
                          struct resolver_place *place)
{
    const struct function *function = unit_function(unit, address);
    Dwarf_Word number = 0, line = 0;
    Dwarf_Files *files;
    size_t count;
    if (!function)
        return;
    Dwarf_Die die = function->die;
    if (!defined_at(&die, DW_AT_decl_file, &number) || !defined_at(&die, DW_AT_decl_line, &line) ||
        dwarf_getsrcfiles(&unit->body, &files, &count) || number >= count || line > UINT32_MAX)
        return;
    const char *file = dwarf_filesrc(files, number, NULL, NULL);
    if (!file)
        return;
    place->defined_file = keep(r, path_shown(file, directory_of(unit)));
    place->defined_path = keep(r, path_full(file, directory_of(unit)));
    place->defined_line = (uint32_t)line;
}

static void by_dwarf(struct resolver *r, struct opened *o, Dwarf_Addr address,
                     struct resolver_place *place)
{
    struct unit *unit = units_find(&o->units, address);
    if (!unit)
        return;
    by_function(r, o, unit, address, place);
    by_definition(r, unit, address, place);
    Dwarf_Line *line = line_at(unit, address);
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number;
    if (!file || dwarf_lineno(line, &number))
        return;
    place->file = keep(r, path_shown(file, directory_of(unit)));
    place->path = keep(r, path_full(file, directory_of(unit)));
    place->line = (uint32_t)number;
}

static int resolve(struct resolver *r, struct opened *o, uint64_t offset,
                   struct resolver_place *place)
{
    if (o->error)
        return o->error;
    if (!offset)
        return -ENODATA;
    if (o->module.dwarf)
        by_dwarf(r, o, offset - 1, place);
    if (!place->procedure) {
        if (!o->symbols_loaded)
            symbols_load(&o->symbols, &o->module);
        o->symbols_loaded = true;
        place->procedure = keep(r, symbols_name(&o->symbols, offset - 1));
    }
    return place->procedure || place->file ? 0 : -ENODATA;
}

/* The answer's place in the table, or the free one where it belongs. */
static struct answer *slot(const struct resolver *r, const struct opened *module, uint64_t offset)
{
    uint64_t hash = (offset ^ (uintptr_t)module) * 0x9e3779b97f4a7c15u;
    for (size_t at = (size_t)(hash >> 32);; at++) {
        struct answer *a = &r->answers[at & (r->answer_room - 1)];
        if (!a->module || (a->module == module && a->offset == offset))
            return a;
    }
}

static void grow(struct resolver *r)
{
    if (r->answer_count * 2 < r->answer_room)
        return;
    struct resolver old = *r;
    r->answer_room = old.answer_room ? old.answer_room * 2 : 256;
    r->answers = xcalloc(r->answer_room, sizeof *r->answers);
    for (size_t i = 0; i < old.answer_room; i++)
        if (old.answers[i].module)
            *slot(r, old.answers[i].module, old.answers[i].offset) = old.answers[i];
    free(old.answers);
}

int resolver_lookup(struct resolver *r, const char *path, const char *build_id, uint64_t offset,
                    struct resolver_place *place)
{
    struct opened *o = open_module(r, path, build_id);
    grow(r);
    struct answer *a = slot(r, o, offset);
    if (!a->module) {
        *a = (struct answer){.module = o, .offset = offset};
        a->error = resolve(r, o, offset, &a->place);
        r->answer_count++;
    }
    *place = a->place;
    return a->error;
}
