/* SPDX-License-Identifier: MIT */
/* What the parts of attach.h's implementation share. */
#ifndef LOUPE_INJECT_ATTACH_PARTS_H
#define LOUPE_INJECT_ATTACH_PARTS_H

#include "base/map.h"
#include "inject/attach.h"
#include "record/attach.h"

/* A function that slots can lead to in our library. */
struct symbol {
    char *name;
    uint64_t address; /* in the library's file */
    bool at_last;     /* only redirected, never used for loading */
};

struct import {
    uint64_t address;
    uint32_t symbol;
};

/* A file that some process has mapped, looked at once. */
struct file {
    uint64_t device, inode;
    bool ours, other, mpi;             /* our library; another build of it; defines MPI */
    uint64_t open, symbol, error_text; /* of the C library */
    struct import *imports;
    size_t import_count, import_room;
};

struct files {
    struct symbol *symbols;
    size_t symbol_count, symbol_room;
    struct map names;
    uint64_t device, inode; /* of our library */
    uint64_t attached;      /* where it says who has attached it last (ATTACH_BLOCK) */
    uint64_t dynamic;       /* and how to reach its probes (record/dynamic.h) */
    struct file **list;
    size_t count, room;
};

struct slot {
    uint64_t address, original;
    uint64_t now;  /* what we have put there; 0: nothing yet */
    uint64_t seen; /* what stood there at the last look */
    uint32_t symbol;
};

struct process {
    pid_t pid;
    struct target *target; /* NULL: not attached to at the moment */
    bool ended;
    enum attach_kind kind;
    bool mpi, mpi_static, other;
    uint64_t ours, ours_end; /* where our library is loaded; 0: not */
    uint64_t open, symbol, error_text;
    struct slot *slots; /* by address */
    size_t slot_count, slot_room;
    struct attach_block *block; /* while attached to */
    uint64_t block_remote, code;
    size_t block_room;     /* in slots */
    uint64_t header;       /* struct record_header there */
    uint64_t mapped;       /* hash of the code that it has mapped */
    uint32_t looks, pause; /* chances to look for more of it; every how many are taken */
};

struct attach {
    struct files files;
    struct process *processes;
    size_t count;
    bool probes; /* are inserted */
};

int files_open(struct files *f, const char *library);
void files_free(struct files *f);

/* Looks at the modules and slots of a process as they are now; new slots are added. */
int process_look(struct files *f, struct process *p);
void process_kind(struct files *f, struct process *p);
/* MPI is part of the program, as far as its symbols tell. */
bool process_linked(pid_t pid);
/* A hash of what code it has mapped; 0: it has ended. */
uint64_t process_mapped(const struct process *p);

/* One word for each slot that is to be changed, all processes in one stop. */
struct slot_changes {
    struct target_words *words;
    uint32_t **slots; /* by process and word: which slot; UINT32_MAX: none */
    size_t count;
};
void slot_changes_begin(struct slot_changes *c, struct attach *a);
/* `slot` UINT32_MAX: a word that is none; two of these at most. */
void slot_changes_add(struct slot_changes *c, size_t process, uint32_t slot, uint64_t address,
                      uint64_t from, uint64_t to);
/* As targets_write. */
int slot_changes_make(struct slot_changes *c, struct attach *a, void (*last)(void *), void *data,
                      bool leave, struct target_pause *pause);
/* Notes what was written; `left`: in a stop in which the processes were let go of. */
void slot_changes_made(struct slot_changes *c, struct attach *a, bool left);
void slot_changes_free(struct slot_changes *c);

/* The slots of all processes lead to the runtime, and their time begins. */
struct redirecting {
    struct attach *attach;
    struct slot_changes changes;
    struct target_word **moments; /* when it begins */
    uint32_t *clocks;             /* enum record_clock, of each */
    size_t moment_count;
};
/* As they are now; -errno. */
int redirecting_begin(struct redirecting *r, struct attach *a);
void redirecting_set_moments(void *r); /* to now */
void redirecting_free(struct redirecting *r);
/* attach_records.c: with probes. -errno: nothing is changed; `gave_up`: and is not to be. */
int redirect_with_records(struct attach *a, const struct attach_wish *wish,
                          struct attach_error *error, bool *gave_up);

bool process_lives(struct process *p);
/* Attaches to it again, once it is redirected; -ESRCH: it has ended, whoever has its number now. */
int process_seize(struct process *p);
void process_let_go(struct process *p);
uint64_t attach_now_ns(void);

#endif
