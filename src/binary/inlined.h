/* SPDX-License-Identifier: MIT */
/* What DWARF says of a procedure in machine code: which procedures of the source its bytes come
 * from (its own and those that were inlined into it), and where these stand. */
#ifndef LOUPE_BINARY_INLINED_H
#define LOUPE_BINARY_INLINED_H

#include "binary/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINED_NONE UINT32_MAX

struct inlined_procedure { /* of the source */
    char *name;            /* as written, with namespaces and classes */
    char *linkage;         /* of one with internal linkage: "name@" and a number of its own */
    char *path;            /* in full; NULL: not known */
    uint32_t line;
    bool internal; /* linkage */
    bool made;     /* by the compiler: nobody wrote it */
};

struct inlined_scope {
    uint32_t procedure;
    uint32_t parent; /* scope that it was inlined into; stands before. INLINED_NONE: none */
    uint32_t call_line;
    const char *call_path; /* where it was called; NULL: not known */
};

struct inlined_segment {
    uint64_t start, end;
    uint32_t scope; /* the innermost */
};

struct inlined {
    struct inlined_scope *scopes; /* [0]: the procedure itself */
    size_t scope_count, scope_room;
    struct inlined_segment *segments; /* sorted, disjoint */
    size_t segment_count, segment_room;
    size_t unit;           /* number of its compilation unit */
    const char *directory; /* where the compiler ran; NULL: not known */
};

struct inlined_reader;
/* The module must outlive it. */
struct inlined_reader *inlined_open(const struct module *module);
void inlined_close(struct inlined_reader *reader); /* accepts NULL */
/* The procedure of the source that begins here in machine code; INLINED_NONE: not known. */
uint32_t inlined_root(struct inlined_reader *reader, uint64_t address);
/* False: DWARF has no procedure at this address. */
bool inlined_read(struct inlined_reader *reader, uint64_t address, struct inlined *inlined);
void inlined_free(struct inlined *inlined); /* what it holds */
/* Pointers are valid until the next inlined_read. */
const struct inlined_procedure *inlined_procedure(const struct inlined_reader *reader,
                                                  uint32_t number);
size_t inlined_units(const struct inlined_reader *reader); /* how many there are */
/* The innermost scope; 0 where none is known. */
uint32_t inlined_at(const struct inlined *inlined, uint64_t address);

#endif
