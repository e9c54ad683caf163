/* SPDX-License-Identifier: MIT */
/*
 * Code for a point: everything that is requested there, in a straight line but for what predicates
 * guard, which stands behind, and the instructions that the jump to it has overwritten (paper 2's
 * base trampoline, made anew on every change).
 */
#ifndef LOUPE_INJECT_EMIT_H
#define LOUPE_INJECT_EMIT_H

#include "binary/code.h"
#include "inject/spec.h"

#include <stddef.h>
#include <stdint.h>

/* Where the variables are in the target: a table of blocks, one per thread, found by the thread
 * pointer. Laid out here, read from outside without stopping anyone. */
enum { EMIT_BLOCKS = 1024, EMIT_VARIABLES = 64 };

struct emit_counter {
    int64_t value;
};
struct emit_timer {
    uint32_t version; /* odd while it changes; a reader keeps the largest value it has seen, as the
                         clock may be read a little before this is seen to be odd */
    int32_t depth;    /* starts without a stop */
    uint64_t begin;   /* ticks, or ns of CPU time; of the outermost start */
    uint64_t total;   /* the same, without what is open since `begin` */
    uint32_t starts;  /* outermost ones */
    uint32_t clock;   /* of the last start: 0 wall (TSC), 1 CPU time of the thread */
};
union emit_variable {
    struct emit_counter counter;
    struct emit_timer timer;
    uint64_t words[4];
};
/* A block belongs to a thread pointer for good. When its thread has ended and a new one gets the
 * same pointer, that one counts on in the block, and `tid` stays the first one's. Only the owner
 * writes, with single instructions where it adds, so a signal handler's counts are not lost. */
struct emit_block {
    uint64_t thread; /* thread pointer; 0: free */
    int32_t tid;     /* 0: not known (yet; or for good, with no_system_calls) */
    uint32_t spare;
    union emit_variable variables[EMIT_VARIABLES];
};
/* The last block is for all who found no room within EMIT_PROBES blocks from where the hash leads.
 * Counters are exact there. Timers have their version as a lock; as the threads share the depth,
 * a timer there runs while any of them is inside, and CPU time is that of the whole process. */
enum { EMIT_SHARED = EMIT_BLOCKS - 1, EMIT_PROBES = 16 };
struct emit_data {
    struct emit_block blocks[EMIT_BLOCKS];
};

enum { EMIT_RANGES = 4 };
/* A probe of the runtime that the target has loaded (record/dynamic.h): at the entry and the exits
 * of a procedure, in place of actions. */
struct emit_record {
    uint64_t unit;      /* struct dynamic_unit in the target, within 2 GiB of the code; 0: none */
    uint32_t site;      /* in it */
    uint32_t index;     /* of the unit, as the runtime has numbered it */
    int32_t cells, top; /* as of struct dynamic_entry */
    /* Entries with a return address in one of these ranges of the target are counted at another
     * site: a procedure that calls itself, or others that call it back. */
    uint32_t inside;
    uint32_t range_count;
    struct emit_range {
        uint64_t start;
        uint32_t bytes;
    } ranges[EMIT_RANGES];
};

/* A use of one request at one point, in the order in which they are executed. */
struct emit_use {
    const struct spec_action *actions;
    const struct emit_record *record; /* NULL: `actions` */
    bool after;              /* after the instruction at the point (a call that has returned) */
    uint32_t first_variable; /* of its spec among EMIT_VARIABLES */
};

/*
 * With CODE_SHORT the window gets a short jump, and the relay that it leads to is written as well.
 * Uses `after` a call are refused: no frame of ours may be on the stack while it lasts; a point at
 * the instruction behind it takes them. At an edge (CODE_LOOP_*), and at an exit that has a target,
 * the code runs only when that is where it leads.
 */
struct emit_point {
    const struct code_point *point;
    const uint8_t *window; /* the bytes there, as they are in the file */
    const uint8_t *relay;  /* the same of the relay, with CODE_SHORT */
    uint64_t bias;
    const struct emit_use *uses;
    size_t use_count;
    uint64_t data;        /* struct emit_data in the target */
    uint64_t common;      /* code of emit_common in the target; 0: the point gets its own copy */
    uint64_t tick_scale;  /* ticks of the TSC in a ns, times 2^32; only for setTimer to other
                             values than 0; 0: they are refused */
    bool shared;          /* the process has no thread pointers (fs is 0 somewhere): all of it
                             counts in the last block */
    bool no_system_calls; /* it may be killed for them (seccomp): tids are not known, process
                             time is refused */
};

struct emit_result {
    size_t bytes;         /* of code; also with -ENOSPC: what it takes */
    uint64_t window;      /* in the target: what `jump` replaces */
    uint8_t window_bytes; /* at most 32; of one point, the same as the point's */
    uint8_t jump[32];     /* what goes into the window; bytes that need not change are as before */
    uint64_t moved[32];   /* as of struct target_patch */
    uint64_t relay;       /* with CODE_SHORT the same once more: what `relay_jump` replaces */
    uint8_t relay_bytes;  /* 0: none */
    uint8_t relay_stands; /* the relay's offset: threads may stand there, coming from the window */
    uint8_t relay_jump[32];
    uint64_t relay_moved[32];
    char why[120]; /* it cannot be done */
};

/*
 * Makes the code, to stand at `at` in the target; 0, or -errno with `why`: -ENOSPC room is too
 * small, -ENOTSUP this cannot be moved or expressed, -EINVAL the window is none.
 */
int emit_point(const struct emit_point *p, uint64_t at, uint8_t *code, size_t room,
               struct emit_result *result);
/*
 * The same for points whose windows are one or overlap (entry and exit of a tiny procedure, two
 * edges of one jump), at most EMIT_POINTS: one window for them all. `bias`, `data` and what follows
 * it are the first one's.
 */
enum { EMIT_POINTS = 16 };
int emit_points(const struct emit_point *points, size_t count, uint64_t at, uint8_t *code,
                size_t room, struct emit_result *result);
/* What the points of a module share (claiming a block, process time): written once, within 2 GiB
 * of their code. `p` gives data, shared and no_system_calls. */
int emit_common(const struct emit_point *p, uint64_t at, uint8_t *code, size_t room, size_t *bytes);

#endif
