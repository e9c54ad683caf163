/* SPDX-License-Identifier: MIT */
/*
 * The compilation units of a module and, once looked into, their functions, sorted by address.
 * libdw's own search walks through a unit's whole tree for every address; here that is done once
 * per unit.
 */
#ifndef LOUPE_BINARY_UNITS_H
#define LOUPE_BINARY_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

struct function {
    Dwarf_Addr low, high;
    Dwarf_Die die;
};

/* A namespace, class or function: what a name may be qualified with. In the order of offsets. */
struct scope {
    Dwarf_Off begin, end;
    size_t parent; /* SIZE_MAX: none */
    Dwarf_Die die;
};

struct unit {
    Dwarf_Die die;  /* has the lines */
    Dwarf_Die body; /* has the functions: the same, or that of the .dwo file */
    bool indexed;
    struct function *functions;
    size_t function_count, function_room;
    struct scope *scopes;
    size_t scope_count, scope_room;
};

struct units {
    Dwarf *dwarf;
    struct unit *units;
    size_t count, room;
    struct unit_range {
        Dwarf_Addr low, high;
        size_t unit;
    } * ranges;
    size_t range_count, range_room;
};

void units_load(struct units *units, Dwarf *dwarf);
void units_free(struct units *units);

/* NULL: none has it. */
struct unit *units_find(struct units *units, Dwarf_Addr address);
const struct function *unit_function(struct unit *unit, Dwarf_Addr address);
/* Name of a function as the source has it, with namespaces and classes, to be freed; NULL: none. */
char *units_name(struct units *units, Dwarf_Die *function);

/* The next child or sibling, if it really comes later: damaged files may lead in circles. */
bool die_child(Dwarf_Die *die, Dwarf_Die *child);
bool die_sibling(Dwarf_Die *die, Dwarf_Die *sibling);

#endif
