/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the machine code's analysis share. One file is looked at in this order:
 * code_file.c (bytes, imports), code_frames.c (unwind tables), code_names.c (parts: ranges of code
 * with their names), then for each procedure code_flow.c (instructions; code_switch.c: jump
 * tables), code_blocks.c, code_loops.c, code_live.c and code_points.c, and at the end
 * code_image.c, which puts everything into one piece of memory that is also the cache's file.
 */
#ifndef LOUPE_BINARY_CODE_INNER_H
#define LOUPE_BINARY_CODE_INNER_H

#include "binary/code.h"
#include "binary/module.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"

/* What is known of a byte of code (struct code_text, map). */
enum {
    MAP_START = 1,    /* an instruction begins here */
    MAP_INSIDE = 2,   /* a later byte of one */
    MAP_TARGET = 4,   /* some branch of the file leads here */
    MAP_POINTED = 8,  /* a pointer, landing pad or table may lead here */
    MAP_LEADER = 16,  /* a block begins here */
    MAP_WINDOW = 32,  /* some point's window has it */
    MAP_RELAY = 64,   /* a short jump's window, or its relay */
    MAP_FOREIGN = 128 /* a branch that leads here is not the procedure's own */
};

struct code_load { /* bytes of the file at an address */
    uint64_t start, end;
    const uint8_t *bytes;
};

struct code_text { /* an executable section, or segment where there are no sections */
    uint64_t start, end;
    const uint8_t *bytes;
    uint8_t *map;
    bool stubs; /* of the PLT */
    uint32_t stub_bytes;
};

struct code_name { /* of a slot of the GOT, or a stub of the PLT */
    uint64_t address;
    uint64_t value; /* of a slot without a name: where it points; 0: not known */
    const char *name;
};
struct code_names {
    struct code_name *names; /* sorted */
    size_t count, room;
};

struct code_frame { /* an entry of .eh_frame */
    uint64_t start, end, lsda;
    const uint8_t *program, *program_end, *initial, *initial_end;
    uint8_t code_align;
    int8_t data_align;
    bool signal;    /* the kernel's way back from a signal */
    bool continues; /* begins with a frame that is set up: the cold part of something */
};

#define PART_NONE UINT32_MAX
struct insn;
struct code_part { /* a range of code that symbols or unwind tables name */
    uint64_t start, end;
    const char *name;     /* NULL: none */
    const char **aliases; /* NULL-terminated; may be NULL */
    bool cold, indirect_function, signal;
    bool nameless;  /* only its unwind table is known */
    uint32_t owner; /* of a cold part: the procedure that jumps into it */
};

struct code_call {           /* for what is only known when everything was looked at */
    uint32_t caller, callee; /* parts */
    uint32_t held;           /* registers that the caller reads afterwards */
    bool tail;
};

struct code_jump {     /* from one procedure to another, or into its midst */
    uint32_t from, to; /* parts */
    bool middle;
};

struct code_body {             /* what was found out about a procedure */
    struct code_point *points; /* `function`, `callee`: parts; `loop`: of the body */
    size_t point_count, point_room;
    struct code_loop *loops;
    size_t loop_count, loop_room;
    struct code_range *ranges; /* `loop`: of the body */
    size_t range_count, range_room;
    struct insn *insns; /* by address, in case it is looked at again; NULL: not kept */
    size_t insn_count;
    bool whole, returns, looked_at;
    const char *why;
};

struct code_file {
    struct module module;
    bool fixed; /* an executable that is not moved: tables of addresses without relocations */
    struct code_load *loads;
    size_t load_count, load_room;
    struct code_text *texts; /* the largest first */
    size_t text_count, text_room;
    struct code_names slots, stubs;
    struct code_frame *frames; /* sorted */
    size_t frame_count, frame_room;
    struct code_part *parts; /* sorted, disjoint */
    size_t part_count, part_room;
    struct code_body *bodies; /* by part */
    uint32_t *cold;           /* the parts that are cold */
    size_t cold_count, cold_room;
    size_t kept_insns; /* in all bodies */
    struct code_call *calls;
    size_t call_count, call_room;
    struct code_jump *jumps;
    size_t jump_count, jump_room;
    bool *never_returns; /* by part */
    char **made;         /* names that are not in the file */
    size_t made_count, made_room;
};

enum insn_kind {
    INSN_PLAIN,
    INSN_NOP,
    INSN_JUMP,          /* direct */
    INSN_BRANCH,        /* direct, conditional */
    INSN_JUMP_INDIRECT, /* through register or memory */
    INSN_CALL,
    INSN_CALL_INDIRECT,
    INSN_RETURN,
    INSN_STOP /* ud2, hlt, int3 */
};
enum {
    INSN_RELATIVE = 1, /* depends on where it stands */
    INSN_SLOT = 2,     /* of a jump or call: through memory at `target` */
    INSN_FIXED = 4,    /* must not be moved */
    INSN_ADDRESS = 8,  /* lea of `target` into register `reg` */
    INSN_KEEPS = 16,   /* a call that may keep all registers (thread-local descriptors) */
    INSN_NO_RETURN = 32,
    INSN_FALLS_OUT = 64, /* a call at the end of the procedure, so it should not return */
    INSN_CLOBBERS = 128  /* a call that may overwrite what the convention lets it */
};
struct insn {
    uint64_t address, target; /* target: of a direct branch; address of rip-relative data */
    uint32_t reads, writes;
    uint32_t kills; /* written wholly and in any case */
    uint8_t length, kind, flags, reg;
};

/* code_decode.c */
bool insn_decode(const uint8_t *bytes, size_t room, uint64_t address, struct insn *insn);

/* code_file.c. -errno as of code_open. */
int file_load(struct code_file *file, const char *path, const char *debug_dir);
void file_free(struct code_file *file);
void body_free(struct code_body *body); /* what it holds */
/* Bytes at an address, at least `room` of them; NULL: not there. */
const uint8_t *file_bytes(const struct code_file *file, uint64_t address, size_t room);
struct code_text *file_text(const struct code_file *file, uint64_t address);
uint8_t *file_map(const struct code_file *file, uint64_t address); /* NULL: no code */
const struct code_name *names_find(const struct code_names *names, uint64_t address);
/* Code that nobody has looked at: its branches are marked all the same. */
void file_sweep(struct code_file *file);

/* code_imports.c */
void imports_load(struct code_file *file);
void pointers_mark(struct code_file *file); /* what words of data point at, inside procedures */

/* code_frames.c */
void frames_load(struct code_file *file);
const struct code_frame *frames_find(const struct code_file *file, uint64_t address);
/* Whether the stack pointer is where it was at the entry. 1: yes, 0: no, -1: not known. */
int frame_is_empty(const struct code_frame *frame, uint64_t address);
struct flow_pad { /* where calls in [start, end) come to when something is thrown */
    uint64_t start, end, address;
};
/* Calls `take` for every landing pad; false: the table is damaged. */
bool frame_pads(const struct code_file *file, const struct code_frame *frame,
                void (*take)(void *data, const struct flow_pad *pad), void *data);

/* code_names.c */
void parts_load(struct code_file *file);
uint32_t parts_find(const struct code_file *file, uint64_t address); /* PART_NONE */
bool name_never_returns(const char *name);

/* One procedure while it is looked at. */
struct flow_table {
    uint64_t jump; /* the indirect jump */
    uint64_t *targets;
    size_t count, room;
};
struct flow_block {
    uint32_t first, count; /* instructions */
    uint32_t *next;        /* blocks that may follow */
    uint32_t next_count, next_room;
    uint32_t two[2]; /* room for them: few have more */
    bool root;       /* reached from outside: the entry, landing pads */
    uint32_t live_in, live_out;
};
struct flow {
    struct code_file *file;
    uint32_t part;
    const struct code_frame *frame;
    uint32_t *parts; /* its own and its cold ones */
    size_t part_count, part_room;
    struct insn *insns; /* by address when done */
    size_t insn_count, insn_room;
    const struct insn *known; /* as it was looked at before, by address */
    size_t known_count, known_at;
    uint64_t *todo;
    size_t todo_count, todo_room;
    uint64_t *open; /* indirect jumps to be understood */
    size_t open_count, open_room;
    struct flow_table *tables;
    size_t table_count, table_room;
    struct flow_pad *pads;
    size_t pad_count, pad_room;
    struct flow_block *blocks;
    size_t block_count, block_room;
    uint64_t measured_table, measured; /* the last table without a bound, and its entries */
    const char *why;                   /* it was not understood */
    bool doubtful;      /* by rules that may be wrong: then no code may be left over */
    bool loops_back;    /* some branch of its own leads to its entry */
    uint32_t pads_live; /* what landing pads read: any call may lead there */
};

/* code_flow.c */
void flow_follow(struct flow *flow);
bool flow_own(const struct flow *flow, uint64_t address);
/* It runs into another procedure (or would, where something was not understood). */
bool flow_falls_out(const struct flow *flow, const struct insn *i);
uint32_t flow_run_into(const struct flow *flow, uint64_t address); /* PART_NONE */
uint32_t flow_find(const struct flow *flow, uint64_t address);     /* instruction; UINT32_MAX */
void flow_free(struct flow *flow);
/* Where a call or jump leads: part, or PART_NONE and perhaps a name. */
uint32_t flow_callee(const struct flow *flow, const struct insn *insn, const char **name);

/* code_switch.c: targets of an indirect jump. False: not a table that is understood. */
bool switch_follow(struct flow *flow, uint64_t jump, bool last_try);

/* code_blocks.c */
void blocks_make(struct flow *flow);
uint32_t blocks_at(const struct flow *flow, uint64_t address); /* UINT32_MAX */

/* code_live.c */
#define LIVE_ALL      0x3ffffu
#define LIVE_SCRATCH  (0x0fc7u | CODE_VECTORS) /* rax rcx rdx rsi rdi r8 to r11 */
#define LIVE_KEPT     0xf038u                  /* rbx rsp rbp r12 to r15 */
#define LIVE_ARGUMENT (0x07c7u | CODE_VECTORS) /* also al and the static chain, r10 */
#define LIVE_RETURN   (0x0005u | LIVE_KEPT | CODE_VECTORS)
void live_solve(struct flow *flow);
/* Before instruction `index`; `after`: behind it. */
uint32_t live_at(const struct flow *flow, uint32_t block, uint32_t index, bool after);

/* code_loops.c, code_points.c */
void loops_find(struct flow *flow, struct code_body *body);
void points_make(struct flow *flow, struct code_body *body);

/* code_windows.c */
enum { CODE_JUMP_BYTES = 5, CODE_WINDOW_MOST = 31 };
struct code_window {
    uint64_t start, end;
};
/* A way for a point whose instruction is `index`, in `block`. */
void window_choose(const struct flow *flow, struct code_body *body, struct code_point *point,
                   uint32_t block, uint32_t index);
bool window_is_call(const struct insn *i);

/* code_relays.c: short jumps for the points that are open. */
enum { CODE_OPEN = CODE_NEVER + 1 }; /* a way: no room for a jump of five bytes */
void relays_find(struct code_file *file);

/* code_lines.c */
struct code_lines;
struct code_line {
    uint64_t address;
    const char *file; /* each path has one pointer */
    uint32_t line;
    uint32_t order; /* as the line tables have it: of several at one address the last counts */
};
struct code_lines *lines_load(Dwarf *dwarf); /* accepts NULL */
const struct code_line *lines_at(const struct code_lines *lines, uint64_t address);
const struct code_line *lines_after(const struct code_lines *lines, const struct code_line *line);
void lines_free(struct code_lines *lines);

/* code_image.c: everything in one piece, its pointers offsets until it is attached. */
struct code_image {
    uint8_t *bytes;
    size_t size;
};
void image_make(struct code_image *image, struct code_file *file, const struct code_lines *lines,
                const char *build_id);
/* Checks every number in it and makes pointers; NULL: damaged. Takes the memory in any case. */
struct code *image_attach(struct code_image *image);

/* code_cache.c */
struct code_cache_key {
    char build_id[65];
    bool lines;
    uint64_t file_bytes;
    struct module_stamp debug;
};
/* False: no build-id, so nothing is kept. */
bool cache_key(struct code_cache_key *key, const char *path, bool lines, const char *debug_dir);
bool cache_read(const struct code_cache_key *key, struct code_image *image);
void cache_write(const struct code_cache_key *key, const struct code_image *image);

#endif
