/* SPDX-License-Identifier: MIT */
/* Instructions that do the same at another address. */
#ifndef LOUPE_INJECT_X86_64_MOVE_H
#define LOUPE_INJECT_X86_64_MOVE_H

#include "inject/arch/x86_64/assembly.h"

struct instruction {
    uint8_t bytes[16];
    uint8_t length;
    uint8_t displacement; /* offset of the rip-relative operand's; 0: it has none */
    uint8_t modrm;        /* offset */
    bool direct;          /* jumps or calls to `target` */
    bool call, jump;      /* jump: unconditional */
    bool leaves;          /* what follows it is not reached from it */
    bool nothing;         /* endbr64: only means something where it is entered */
    bool lea;
    uint8_t condition; /* of a direct jcc; NO_CONDITION: of another kind */
    uint64_t address;  /* where it stands */
    uint64_t target;   /* of a direct branch; of a rip-relative operand */
};
enum { NO_CONDITION = 0xff };

/* False: it is none. */
bool instruction_decode(const uint8_t *bytes, size_t room, uint64_t address, struct instruction *i);

/* Writes it so that it does here what it does there; of calls see below. NULL, or why not. */
const char *instruction_move(struct assembly *a, const struct instruction *i);
/* A conditional branch, to a place that comes later. False: this instruction is none. */
bool instruction_branch(struct assembly *a, const struct instruction *i, struct label *taken);
/* What a call does once its return address is on the stack: a jump. */
const char *instruction_callee(struct assembly *a, const struct instruction *i);
/* Pushes a return address, leaving everything else alone. */
void move_push_return(struct assembly *a, uint64_t address);

#endif
