/* SPDX-License-Identifier: MIT */
/*
 * What `loupe attach` and a program that it attaches to tell each other: a block of memory that
 * both have mapped. It stays in the program for good, as the code that leads to it does.
 *
 * Who writes: loupe, before any import slot leads to the loader; from then on the thread of the
 * program that has moved `state` from WAITING, until it sets another one. Once it is LOADED, loupe
 * may set `units` and then WAITING again, as long as no slot leads to the library yet: the next
 * thread that calls MPI attaches them (record/dynamic.h).
 */
#ifndef LOUPE_RECORD_ATTACH_H
#define LOUPE_RECORD_ATTACH_H

#include <stdint.h>

#define ATTACH_MAGIC 0x6863617474412e6cull

enum { ATTACH_VERSION = 2, ATTACH_PATH = 512, ATTACH_TEXT = 256 };

enum attach_state {
    ATTACH_WAITING, /* for the program's next MPI call */
    ATTACH_LOADING, /* a thread is at it */
    ATTACH_LOADED,
    ATTACH_FAILED, /* `error` says why */
};

/* An import slot of the program or one of its libraries. */
struct attach_slot {
    uint64_t address;
    uint64_t original; /* what stood there, and where calls go on to */
};

/* The loader (inject/arch/x86_64/loader.S) has the offsets of the first members. */
struct attach_block {
    uint64_t magic;
    uint32_t version;
    uint32_t state;                    /* enum attach_state */
    uint64_t open, symbol, error_text; /* dlopen, dlsym, dlerror there */
    uint64_t header;                   /* struct record_header there, once it is loaded */
    char library[ATTACH_PATH];
    char entry[32]; /* ATTACH_ENTRY */
    char error[ATTACH_TEXT];
    char job_dir[ATTACH_TEXT], spill_dir[ATTACH_TEXT], options[ATTACH_TEXT];
    uint64_t units; /* struct dynamic_unit, the first of them; 0: none */
    uint32_t slot_count, spare;
    struct attach_slot slots[];
};

/* int loupe_runtime_attach(struct attach_block *): the new state. */
#define ATTACH_ENTRY "loupe_runtime_attach"
/* struct attach_block *loupe_runtime_attached: the last one; NULL: preloaded, not attached to. */
#define ATTACH_BLOCK "loupe_runtime_attached"

#endif
