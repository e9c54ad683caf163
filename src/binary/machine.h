/* SPDX-License-Identifier: MIT */
/*
 * The static tables of a binary from its machine code (code.h) and its debug information: the same
 * units as `loupe cc` makes, as far as the compiler has left the structure of the source.
 */
#ifndef LOUPE_BINARY_MACHINE_H
#define LOUPE_BINARY_MACHINE_H

#include "binary/tables.h"

#include <stdbool.h>

struct machine_facts {
    size_t procedures; /* in machine code, without those left out */
    size_t not_whole;  /* whose calls and loops are not known: they were not understood */
    bool lines;        /* there is debug information */
    bool symbols;      /* there is a symbol table, not only that for the dynamic linker */
    int bits, machine; /* with -ENOTSUP: 32 or 64, and EM_... of <elf.h> */
};

/*
 * What has no source line has the binary as its file and line 0; loops are named by their address
 * then. `all`: also what compilers and linkers add (_start, calls of __stack_chk_fail). A node
 * has a site if an instruction of it can have a probe. -errno as of code_open; free the tables in
 * either case.
 */
int machine_read(struct tables *tables, const char *path, bool all, struct machine_facts *facts);
/* Whether a procedure comes from the start files of the C library and the compiler: who asks for
 * all of a program's does not mean these. */
bool machine_glue(const char *name);

#endif
