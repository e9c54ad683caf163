/* SPDX-License-Identifier: MIT */
/* Inside the code generator: what its parts know of the code that is being made. */
#ifndef LOUPE_INJECT_X86_64_GENERATE_H
#define LOUPE_INJECT_X86_64_GENERATE_H

#include "inject/arch/x86_64/assembly.h"
#include "inject/emit.h"

/* What is called with everything saved and gives its answer in a slot of the stack. */
enum routine { ROUTINE_BLOCK, ROUTINE_CLOCK, ROUTINE_CLOCK_ALL, ROUTINES };

/* Code that stands behind everything else, as it is seldom executed: calls a routine. */
struct aside {
    struct label from;
    uint64_t back; /* where to go on with the answer */
    int into;      /* register for it */
    int spare;     /* a register that may be used */
    int sp;
    enum routine routine;
};

/* The code for the uses of one point. Made twice: for a thread's own block in a straight line, and
 * aside with locks for the shared one. */
struct piece {
    const struct emit_point *point;
    bool after;
    enum code_kind kind;
    bool called;             /* the call instruction has already pushed its return address */
    uint32_t pool;           /* registers that are free */
    uint32_t fixed;          /* rax and rdx, where instructions ask for them: not in the pool */
    int sp;                  /* bytes the stack pointer is below the program's */
    int8_t home[16];         /* where what the program has in a register is: in which one; */
    int16_t slot[16];        /* or, with -1, on the stack: sp when it had been pushed */
    int block;               /* register with the address of the thread's block */
    bool locked;             /* it is the shared one */
    uint32_t first_variable; /* of the use */
    struct label shared;     /* the code for the shared block */
    uint64_t join;           /* behind the uses */
};

/* What is done if a predicate holds. Behind everything else: one that does not hold, as most do at
 * most visits, then costs no jump. */
struct body {
    struct piece piece;
    const struct spec_action *actions;
    struct label from;
    uint64_t back;
};

/* The call of the runtime for a probe, behind everything else. */
struct record_slow {
    const struct emit_record *record;
    uint32_t site;
    bool enter;
    bool saved; /* registers are: the stack is where it has to be */
    struct label from, starts[EMIT_RANGES];
    uint64_t back;
};

enum { PIECES = 2 * EMIT_POINTS, ASIDES = 64, BODIES = 32 };

struct generate {
    struct assembly a;
    const struct emit_point *common; /* data and what all points share */
    struct emit_result *result;
    int error;
    struct label routines[ROUTINES];
    bool called[ROUTINES];
    struct aside asides[ASIDES];
    size_t aside_count;
    struct piece pieces[PIECES];
    size_t piece_count;
    struct piece piece; /* the one that is being made */
    struct body bodies[BODIES];
    size_t body_count;
    struct record_slow records[PIECES];
    size_t record_count;
};

/* Remembers the first error. */
int generate_fail(struct generate *g, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int generate_take(struct generate *g); /* a free register */
void generate_give(struct generate *g, int reg);

/* Offset in a block; fails when the number is none. */
int32_t generate_variable(struct generate *g, uint32_t variable);

/* expression.c. The value in `to`. */
void generate_value(struct generate *g, const struct spec_expression *e, int to);
/* Goes to `label` if the truth of it is `sense`. `scratch` is lost. */
void generate_branch(struct generate *g, const struct spec_expression *e, bool sense,
                     struct label *label, int scratch);
/* What an expression asks for: registers besides the one for its value; the registers of the
 * program that it reads; whether it needs rax and rdx. */
struct expression_needs {
    unsigned registers;
    uint32_t reads;
    bool divides;
};
void expression_needs(const struct spec_expression *e, enum code_kind kind,
                      struct expression_needs *needs);
const char *expression_refused(const struct spec_expression *e, enum code_kind kind);

/* action.c */
void generate_actions(struct generate *g, const struct spec_action *actions);
void generate_bodies(struct generate *g); /* of the predicates in them */

/* block.c. The address of this thread's block, in piece.block; the shared one's is found aside,
 * at the label piece.shared. */
void generate_block(struct generate *g);
/* Calls it; the answer comes into a register. Nothing else changes but the flags. */
void generate_routine(struct generate *g, enum routine routine, int into);
/* The same under a condition, out of the way; goes on at `back`, once that is known. */
struct aside *generate_aside(struct generate *g, enum routine routine, int cc, int into);
void generate_asides(struct generate *g);   /* all that were asked for */
void generate_routines(struct generate *g); /* those that were called */
uint64_t block_address(const struct emit_point *p, size_t block);

/* relay.c: a short jump at `from`; what it leads to. */
void generate_short(struct generate *g, const struct emit_point *p, uint64_t from);
void generate_relay(struct generate *g, const struct emit_point *p);

/* piece.c: the uses at a point, before or after its instruction, leaving all that is live as it
 * was. */
void generate_piece(struct generate *g, const struct emit_point *p, bool after, uint32_t live,
                    bool called);
void generate_pieces(struct generate *g); /* the same for the shared block */

/* record.c: a probe of the runtime; and what they call. */
void generate_record(struct generate *g, const struct emit_record *record, enum code_kind kind,
                     uint32_t live);
void generate_records(struct generate *g);

#endif
