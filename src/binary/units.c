/* SPDX-License-Identifier: MIT */
#include "binary/units.h"

#include "base/alloc.h"
#include "binary/symbols.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH = 64,    /* of nested scopes */
    OVERLAPS = 16, /* ranges before the nearest that may reach over the address */
    ORIGINS = 8,   /* abstract origins and specifications behind one function */
};

bool die_child(Dwarf_Die *die, Dwarf_Die *child)
{
    return dwarf_child(die, child) == 0 && dwarf_dieoffset(child) > dwarf_dieoffset(die);
}

bool die_sibling(Dwarf_Die *die, Dwarf_Die *sibling)
{
    Dwarf_Off here = dwarf_dieoffset(die);
    return dwarf_siblingof(die, sibling) == 0 && dwarf_dieoffset(sibling) > here;
}

static int compare_ranges(const void *pa, const void *pb)
{
    const struct unit_range *a = pa, *b = pb;
    return (a->low > b->low) - (a->low < b->low);
}

static int compare_functions(const void *pa, const void *pb)
{
    const struct function *a = pa, *b = pb;
    return (a->low > b->low) - (a->low < b->low);
}

void units_load(struct units *u, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;
    u->dwarf = dwarf;
    /* .debug_aranges would be quicker, but not every compiler writes it. */
    while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        if (type == DW_UT_type || type == DW_UT_split_type)
            continue;
        *VEC_PUSH(u->units, u->count, u->room) = (struct unit){.die = die};
        Dwarf_Addr base = 0, low, high;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
            if (low < high)
                *VEC_PUSH(u->ranges, u->range_count, u->range_room) =
                    (struct unit_range){.low = low, .high = high, .unit = u->count - 1};
    }
    if (u->range_count)
        qsort(u->ranges, u->range_count, sizeof *u->ranges, compare_ranges);
}

void units_free(struct units *u)
{
    for (size_t i = 0; i < u->count; i++) {
        free(u->units[i].functions);
        free(u->units[i].scopes);
    }
    free(u->units);
    free(u->ranges);
    *u = (struct units){0};
}

/* Index behind the last element of a sorted array that begins at or below the address; the
 * elements begin with their lowest address. */
static size_t behind(const void *array, size_t count, size_t size, Dwarf_Addr address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        Dwarf_Addr begins;
        memcpy(&begins, (const char *)array + middle * size, sizeof begins);
        if (begins <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct unit *units_find(struct units *u, Dwarf_Addr address)
{
    size_t at = behind(u->ranges, u->range_count, sizeof *u->ranges, address);
    for (int i = 0; at && i < OVERLAPS; i++)
        if (address < u->ranges[--at].high)
            return &u->units[u->ranges[at].unit];
    return NULL;
}

static void add_function(struct unit *unit, Dwarf_Die *die)
{
    Dwarf_Addr base = 0, low, high;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
        if (low < high)
            *VEC_PUSH(unit->functions, unit->function_count, unit->function_room) =
                (struct function){.low = low, .high = high, .die = *die};
}

static bool is_scope(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block: return true;
    }
    return false;
}

static void index_children(struct unit *unit, Dwarf_Die *parent, size_t scope, Dwarf_Off end,
                           int depth)
{
    Dwarf_Die die, next;
    if (depth >= DEPTH || !die_child(parent, &die))
        return;
    for (bool more = true; more; die = next) {
        int tag = dwarf_tag(&die);
        more = die_sibling(&die, &next);
        if (tag == DW_TAG_subprogram)
            add_function(unit, &die);
        if (!is_scope(tag) || dwarf_haschildren(&die) != 1)
            continue;
        Dwarf_Off until = more ? dwarf_dieoffset(&next) : end;
        *VEC_PUSH(unit->scopes, unit->scope_count, unit->scope_room) = (struct scope){
            .begin = dwarf_dieoffset(&die), .end = until, .parent = scope, .die = die};
        index_children(unit, &die, unit->scope_count - 1, until, depth + 1);
    }
}

static void unit_index(struct unit *unit)
{
    Dwarf_Die split = {0};
    uint8_t type = 0;
    if (unit->indexed)
        return;
    unit->indexed = true;
    unit->body = unit->die;
    if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton && split.addr)
        unit->body = split;
    index_children(unit, &unit->body, SIZE_MAX, UINT64_MAX, 0);
    if (unit->function_count)
        qsort(unit->functions, unit->function_count, sizeof *unit->functions, compare_functions);
}

const struct function *unit_function(struct unit *unit, Dwarf_Addr address)
{
    unit_index(unit);
    size_t at = behind(unit->functions, unit->function_count, sizeof *unit->functions, address);
    for (int i = 0; at && i < OVERLAPS; i++)
        if (address < unit->functions[--at].high)
            return &unit->functions[at];
    return NULL;
}

static struct unit *unit_of(struct units *u, Dwarf_Die *die)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->units[i].die.cu == die->cu ||
            (u->units[i].indexed && u->units[i].body.cu == die->cu))
            return &u->units[i];
    return NULL;
}

/* Innermost scope around the entry; the entry itself does not count. */
static size_t scope_of(const struct unit *unit, Dwarf_Off offset)
{
    size_t low = 0, high = unit->scope_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (unit->scopes[middle].begin < offset)
            low = middle + 1;
        else
            high = middle;
    }
    size_t scope = low ? low - 1 : SIZE_MAX;
    while (scope != SIZE_MAX && unit->scopes[scope].end <= offset)
        scope = unit->scopes[scope].parent;
    return scope;
}

/* What a scope adds to the names in it; NULL: nothing. */
static const char *scope_name(struct scope *scope)
{
    const char *name = dwarf_diename(&scope->die);
    switch (dwarf_tag(&scope->die)) {
    case DW_TAG_namespace: return name ? name : "(anonymous namespace)";
    case DW_TAG_class_type: return name ? name : "{lambda}";
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type: return name ? name : "{unnamed}";
    case DW_TAG_subprogram: return name;
    }
    return NULL; /* blocks, and the modules of Fortran, whose names nobody writes before a call */
}

static char *qualified(struct unit *unit, Dwarf_Die *die, const char *name)
{
    char *result = xstrdup(name);
    if (!unit)
        return result;
    unit_index(unit);
    size_t scope = scope_of(unit, dwarf_dieoffset(die));
    /* A procedure inside a procedure has a name of its own; a class inside one has not. */
    int tag = scope == SIZE_MAX ? 0 : dwarf_tag(&unit->scopes[scope].die);
    if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
        return result;
    for (; scope != SIZE_MAX; scope = unit->scopes[scope].parent) {
        const char *around = scope_name(&unit->scopes[scope]);
        if (around) {
            char *longer = xasprintf("%s::%s", around, result);
            free(result);
            result = longer;
        }
    }
    return result;
}

/* The declaration that a function's entry refers to in the end. */
static Dwarf_Die declaration(Dwarf_Die *function)
{
    Dwarf_Die die = *function;
    for (int i = 0; i < ORIGINS; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if ((!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
             !dwarf_attr(&die, DW_AT_specification, &attribute)) ||
            !dwarf_formref_die(&attribute, &next))
            break;
        die = next;
    }
    return die;
}

char *units_name(struct units *u, Dwarf_Die *function)
{
    Dwarf_Die die = declaration(function);
    const char *name = dwarf_diename(&die);
    if (!name)
        name = dwarf_diename(function);
    if (name && *name)
        return qualified(unit_of(u, &die), &die, name);
    Dwarf_Attribute attribute;
    const char *symbol = NULL;
    if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute))
        symbol = dwarf_formstring(&attribute);
    return symbol ? symbols_readable(symbol) : NULL;
}
