/* SPDX-License-Identifier: MIT */
/* From an address in a binary to procedure, file and line, by DWARF (libdw), with the frames that
 * were inlined there; by symbol table where there is no DWARF. */
#ifndef LOUPE_BINARY_RESOLVE_H
#define LOUPE_BINARY_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

struct resolver; /* keeps opened binaries; one thread */

struct resolver_place {
    const char *procedure; /* innermost function (inlined or not), demangled as written; NULL */
    const char *file;      /* as DWARF has it, shortened to what a person types; NULL */
    uint32_t line;         /* 0: unknown */
    const char *inlined;   /* "file:line < file:line": call sites of inlined frames; NULL: none */
    const char *outer;     /* the function it was inlined into in the end; NULL: not inlined */
    const char *path;      /* the file in full, as far as DWARF knows it; NULL */
    /* Where the outer function is defined: as `file`, `path` and `line`. */
    const char *defined_file, *defined_path;
    uint32_t defined_line;
};

struct resolver *resolver_new(void);
void resolver_free(struct resolver *resolver); /* accepts NULL */
/* Where separate debug files are searched, before the first lookup; /usr/lib/debug at first. */
void resolver_set_debug_dir(struct resolver *resolver, const char *dir);

/*
 * `path` is where the module was when it ran, `build_id` (hex, NULL: none) must match if both have
 * one; separate debug files are found by build-id and debuglink. `offset` is a return address less
 * the load bias: the statement is the instruction before. The strings live as long as the
 * resolver. 0; -ENOENT: module gone or changed; -ENODATA: nothing known about this address.
 */
int resolver_lookup(struct resolver *resolver, const char *path, const char *build_id,
                    uint64_t offset, struct resolver_place *place);

#endif
