/* SPDX-License-Identifier: MIT */
/* What the preloaded library and a shim tell each other; neither knows the other's symbols. */
#ifndef LOUPE_MPI_SHIM_TABLE_H
#define LOUPE_MPI_SHIM_TABLE_H

#include <stdint.h>

#define SHIM_VERSION 2
#define SHIM_SYMBOL  "loupe_shim"

struct shim_table {
    uint32_t version;
    uint32_t calls;
    void *const *wrappers; /* by call; NULL: this MPI has no such function */
    void **next;           /* [2 * calls] to be filled before a wrapper is used */
    /* Once, when `next` has all PMPI_ functions; symbol() finds data of the MPI library. */
    int (*open)(void *(*symbol)(const char *name));
    /* MPI was initialised before us: the rank's time begins. Called where the program calls MPI,
     * in a process that has a segment; again for each new one. */
    void (*attach)(void);
};

#endif
