/* SPDX-License-Identifier: MIT */
/*
 * What the runtime in a process and whoever inserts probes into its machine code agree on
 * (runtime/dynamic.c, inject/records.h).
 *
 * The procedures of a module that get probes are a unit, as those of a source are that `loupe cc`
 * compiled, with one site for each. Who inserts makes it in the process's memory, within reach of
 * the code that he makes, and has the process call loupe_attach with it. At an entry the code
 * counts down the thread's cell and calls unit.enter when that was below zero; at an exit it calls
 * unit.leave if a timed visit is open that began no higher in the stack. Both slow paths keep all
 * registers and find everything by their return address and the stack: DYNAMIC_GAP bytes above
 * where they were called from stands the procedure's return address. Behind the call of unit.enter
 * stands the site's number, as loupe-probe.h has it.
 */
#ifndef LOUPE_RECORD_DYNAMIC_H
#define LOUPE_RECORD_DYNAMIC_H

#include <loupe-probe.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    DYNAMIC_VERSION = 2,
    DYNAMIC_GAP = 128 + 16,  /* the red zone, and what the code saves */
    DYNAMIC_UNIT = 1 << 16,  /* in unit.flags, with LOUPE_UNIT_MODULE */
    DYNAMIC_PATIENCE_S = 30, /* a process that waits for its probes goes on without then */
};

struct dynamic_unit {
    struct loupe_unit unit;
    uint64_t code; /* some address of the module that the sites are in */
    uint64_t next; /* another one that is attached with it; 0: none */
};

/* How to reach the runtime; the process has it under the name `loupe_dynamic`. Addresses are its
 * own, distances are from the thread pointer. */
struct dynamic_entry {
    uint32_t version; /* DYNAMIC_VERSION */
    uint32_t bytes;   /* of this */
    uint64_t attach;  /* void loupe_attach(struct loupe_unit *) */
    uint64_t where;   /* for unit.where */
    int64_t cells;    /* pointer to the table of pointers to cells, in which unit.index is */
    int64_t top; /* where in the stack the innermost timed visit began; all ones: there is none */
    uint64_t starter; /* what `cells` of a thread is set to that is to count; 0: no unit yet */
};

/*
 * A process that is started to have probes inserted waits for them before its main program begins.
 * PLACE_ENV_DYNAMIC is the number of a socket to who inserts them, which it closes then; who
 * inserts begins, and each waits for the other's message. When libraries have been loaded later,
 * it connects to who inserts once more, and both say the same.
 */
enum dynamic_kind {
    DYNAMIC_READY = 1, /* from both; from the process: `address` of its struct dynamic_entry */
    DYNAMIC_ATTACH,    /* to it: a unit is at `address`; answered by DYNAMIC_ATTACHED */
    DYNAMIC_ATTACHED,  /* from it: `address` is the unit's number; 0: there is no room */
    DYNAMIC_GO,        /* to it: that is all; `address` is dynamic_name's, 0: nobody listens */
};

struct dynamic_message {
    uint32_t kind; /* enum dynamic_kind */
    int32_t pid;   /* of the sender, as it knows itself */
    uint64_t address;
};

enum { DYNAMIC_NAME = 5 }; /* characters of a name that the kernel gives (unix(7), autobind) */

/* Where who inserts listens: such a name, its characters in the lower bytes. No file is left if he
 * is killed. */
static inline socklen_t dynamic_name(uint64_t name, struct sockaddr_un *to)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    for (int i = 0; i < DYNAMIC_NAME; i++)
        to->sun_path[1 + i] = (char)(name >> (8 * i));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + DYNAMIC_NAME);
}

#endif
