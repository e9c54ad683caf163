/* SPDX-License-Identifier: MIT */
/*
 * The program graph of an ELF file from its machine code: procedures, call statements and natural
 * loops, and the points where instrumentation can be put, with what must be known there. Addresses
 * are those of the file; a loaded module's bias comes on top.
 */
#ifndef LOUPE_BINARY_CODE_H
#define LOUPE_BINARY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_kind {
    CODE_ENTRY,      /* of a procedure, before its first instruction */
    CODE_EXIT,       /* before a return, or a jump that leaves it for another (tail call) */
    CODE_CALL,       /* before a call instruction; code after it stands behind it */
    CODE_LOOP_ENTRY, /* on an edge into a loop's header from outside */
    CODE_LOOP_EXIT,  /* on an edge out of the loop */
    CODE_LOOP_NEXT,  /* on a back edge: one more iteration */
    CODE_KINDS
};

/* How code can be put there. */
enum code_way {
    CODE_JUMP,  /* five bytes of whole instructions in one block, none of them a target */
    CODE_SHORT, /* two bytes, and a relay within a short jump's reach */
    CODE_NEVER  /* not at all; `why` says why not */
};

#define CODE_NONE UINT32_MAX
#define CODE_FLAGS                                                                                 \
    (1u << 16) /* in `live`: the arithmetic flags; bits 0 to 15: rax, rcx, rdx, ... r15 */
#define CODE_VECTORS (1u << 17) /* some vector or floating-point register may be live */

struct code_point {
    uint8_t kind;         /* enum code_kind */
    uint8_t way;          /* enum code_way */
    uint8_t window_bytes; /* from `window`, whole instructions: with CODE_JUMP 5 to 31, with
                             CODE_SHORT 2 to 31 */
    bool indirect;        /* call or tail call through a register or memory */
    uint8_t relay_bytes;  /* with CODE_SHORT, from `relay`: 5 of padding, or instructions, 10 to 31,
                             that are moved away: a jump to them first, then the relay's */
    uint32_t function;    /* index */
    uint32_t
        callee; /* of a call or tail call in this file: index; CODE_NONE: elsewhere, or not known */
    uint32_t loop; /* index; CODE_NONE */
    /* Of the instruction before which the code is to run. For an edge, of the instruction that it
     * begins with: a jump to `target`, or one behind which `target` stands (it falls through). */
    uint64_t address;
    uint64_t target;         /* of an edge, an exit by a conditional jump, or an exit on the way to
                                a return that stands alone: where it leads */
    uint64_t relay;          /* with CODE_SHORT; it has no byte in common with any window */
    uint64_t window;         /* first byte that may be overwritten; at or before `address`. Two
                                points have the same window, or none of its bytes in common. */
    uint32_t live;           /* registers and flags that hold something the program will read */
    const char *callee_name; /* of a call, also through the PLT; NULL: not known */
    const char *why;
};

struct code_loop {
    uint32_t function, parent; /* loop around it; CODE_NONE */
    uint64_t header;
    uint32_t line, end_line;
    const char *file; /* NULL: not known */
};

struct code_range { /* code of a loop; what belongs to a loop in it has a range of its own */
    uint64_t start, end;
    uint32_t loop;
};

struct code_function {
    const char *name;    /* linkage name */
    const char *pretty;  /* demangled, or the same */
    const char *aliases; /* its other names, one per line; NULL: none */
    uint64_t start, end; /* its main part */
    const char *file;
    uint32_t line;
    uint32_t first_point, point_count;
    uint32_t first_loop, loop_count;
    bool whole;      /* every way out is a point: jump tables and all were understood */
    bool returns;    /* some way out exists */
    bool indirect;   /* its code only chooses the one that is called, once (ifunc) */
    const char *why; /* not instrumented at all; NULL: it is */
};

struct code {
    struct code_function *functions; /* sorted by start */
    size_t function_count;
    struct code_point *points; /* by function, in order of address */
    size_t point_count;
    struct code_loop *loops;
    size_t loop_count;
    struct code_range *ranges; /* sorted, disjoint */
    size_t range_count;
    char build_id[65]; /* hexadecimal; "": none */
    bool stripped;     /* only what it exports has a name; the rest is called sub_ADDRESS */
    bool cached;       /* came from the cache */
};

/*
 * Analyses the file; symbols also from .gnu_debugdata and separate debug files. `lines`: with
 * source lines (slower the first time). Cached by build-id in the user's cache directory. -errno:
 * -ENOEXEC not an ELF file for this machine, -ENOTSUP (32 bits, another machine).
 */
int code_open(const char *path, bool lines, struct code **code);
/* The same with debug files of another directory than /usr/lib/debug. */
int code_open_with(const char *path, bool lines, const char *debug_dir, struct code **code);
void code_close(struct code *code); /* accepts NULL */

/* The function that has this address; NULL: none. */
const struct code_function *code_at(const struct code *code, uint64_t address);

/* The innermost loop that has this address; CODE_NONE. */
uint32_t code_loop_at(const struct code *code, uint64_t address);

/* Does a glob match its name, the readable one, or an alias? */
bool code_named(const struct code_function *function, const char *glob);

/* One instruction, for those who move it. */
struct code_instruction {
    uint8_t length;
    bool relative; /* its meaning depends on where it stands: rip-relative data or branch */
    bool branch, call, returns, conditional;
    uint64_t target;        /* of a direct branch or call; address of rip-relative data */
    uint32_t reads, writes; /* as in `live` */
};
/* False: not an instruction. */
bool code_decode(const uint8_t *bytes, size_t room, uint64_t address, struct code_instruction *i);

#endif
