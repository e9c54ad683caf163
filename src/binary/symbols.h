/* SPDX-License-Identifier: MIT */
/* Functions by the symbol table, for binaries without debug information. */
#ifndef LOUPE_BINARY_SYMBOLS_H
#define LOUPE_BINARY_SYMBOLS_H

#include "binary/module.h"

#include <stddef.h>
#include <stdint.h>

struct symbol {
    uint64_t low, high;
    int weight;       /* of several names for one function the heaviest is shown */
    const char *name; /* in the module's memory */
};

struct symbols {
    struct symbol *symbols; /* sorted by low, then falling weight */
    size_t count, room;
};

void symbols_load(struct symbols *symbols, const struct module *module);
void symbols_free(struct symbols *symbols);

/* As the source has it (demangled, without what compilers add), to be freed; NULL: unknown. */
char *symbols_name(const struct symbols *symbols, uint64_t address);
/* The same for any symbol's name. */
char *symbols_readable(const char *name);

#endif
