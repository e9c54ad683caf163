/* SPDX-License-Identifier: MIT */
/*
 * Code for a point: everything that is requested there, in a straight line, and the instructions
 * that the jump to it has overwritten (paper 2's base trampoline, made anew on every change).
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
    uint32_t version; /* odd while it changes */
    int32_t depth;    /* starts without a stop */
    uint64_t begin;   /* ticks, or ns of CPU time */
    uint64_t total;   /* the same */
    uint64_t starts;
};
union emit_variable {
    struct emit_counter counter;
    struct emit_timer timer;
    uint64_t words[4];
};
struct emit_block {
    uint64_t thread; /* thread pointer; 0: free */
    int32_t tid;
    uint32_t spare;
    union emit_variable variables[EMIT_VARIABLES];
};
struct emit_data {
    struct emit_block blocks[EMIT_BLOCKS]; /* by hash of the thread pointer; the last one: everyone
                                              who found no room, counted atomically */
};

/* A use of one request at one point, in the order in which they are executed. */
struct emit_use {
    const struct spec_action *actions;
    bool after;              /* after the instruction at the point (a call that has returned) */
    uint32_t first_variable; /* of its spec among EMIT_VARIABLES */
};

struct emit_point {
    const struct code_point *point;
    const uint8_t *window; /* the bytes there, as they are in the file */
    uint64_t bias;
    const struct emit_use *uses;
    size_t use_count;
    uint64_t data; /* struct emit_data in the target */
};

struct emit_result {
    size_t bytes;       /* of code */
    uint8_t jump[32];   /* what goes into the window */
    uint64_t moved[32]; /* as of struct target_patch */
    char why[120];      /* it cannot be done */
};

/* Makes the code, to stand at `at` in the target; 0, or -errno with `why`. */
int emit_point(const struct emit_point *p, uint64_t at, uint8_t *code, size_t room,
               struct emit_result *result);

#endif
