/* SPDX-License-Identifier: MIT */
/*
 * The few instructions that code for points is made of. What does not fit is counted but not
 * written, so that the caller learns how much room it takes.
 */
#ifndef LOUPE_INJECT_X86_64_ASSEMBLY_H
#define LOUPE_INJECT_X86_64_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Numbers of conditions, as in the opcodes of jcc and setcc; the lowest bit negates. */
enum {
    CC_O = 0,
    CC_B = 2,
    CC_E = 4,
    CC_NE = 5,
    CC_BE = 6,
    CC_S = 8,
    CC_L = 12,
    CC_GE = 13,
    CC_LE = 14,
    CC_G = 15
};

/* `op r, r/m` opcodes; with an immediate the number in bits 3 to 5 of the same. */
enum { ALU_ADD = 0x03, ALU_OR = 0x0b, ALU_AND = 0x23, ALU_SUB = 0x2b, ALU_CMP = 0x3b };

struct assembly {
    uint8_t *bytes;
    size_t room, used;
    uint64_t at;  /* where bytes[0] will stand */
    bool too_far; /* a jump or an address that 32 bits cannot hold */
};

/* A place that forward jumps lead to: the chain of them goes through their displacements. */
struct label {
    uint32_t last;
};

uint64_t asm_here(const struct assembly *a);
void asm_byte(struct assembly *a, uint8_t byte);
void asm_bytes(struct assembly *a, const void *bytes, size_t count);
void asm_32(struct assembly *a, uint32_t value);
void asm_64(struct assembly *a, uint64_t value);

void asm_move(struct assembly *a, int to, int from);
void asm_constant(struct assembly *a, int to, uint64_t value); /* leaves the flags alone */
void asm_load(struct assembly *a, int to, int base, int32_t offset);
void asm_store(struct assembly *a, int base, int32_t offset, int from);
void asm_store_32(struct assembly *a, int base, int32_t offset, int from);
void asm_store_constant(struct assembly *a, int base, int32_t offset, int32_t value);    /* 64 */
void asm_store_constant_32(struct assembly *a, int base, int32_t offset, int32_t value); /* 32 */
void asm_lea(struct assembly *a, int to, int base, int32_t offset);
void asm_thread_pointer(struct assembly *a, int to);
void asm_load_thread(struct assembly *a, int to, int32_t offset); /* from the thread pointer */
/* What is there less a register: flags only. */
void asm_compare_thread(struct assembly *a, int32_t offset, int with);

void asm_alu(struct assembly *a, int op, int to, int from);
void asm_alu_constant(struct assembly *a, int op, int to, int32_t value);
void asm_alu_load(struct assembly *a, int op, int to, int base, int32_t offset);
/* Into memory; `lock`ed or not. */
void asm_alu_store(struct assembly *a, int op, bool lock, int base, int32_t offset, int from);
void asm_alu_memory(struct assembly *a, int op, bool lock, bool wide, int base, int32_t offset,
                    int32_t value);
void asm_multiply(struct assembly *a, int to, int from);
void asm_multiply_load(struct assembly *a, int to, int base, int32_t offset);
void asm_multiply_constant(struct assembly *a, bool wide, int to, int from, int32_t value);
void asm_shift_right(struct assembly *a, bool wide, int to, uint8_t bits);
void asm_shift_left(struct assembly *a, int to, uint8_t bits);
void asm_negate(struct assembly *a, int to);
void asm_test(struct assembly *a, int one, int other);
void asm_divide(struct assembly *a, int by);        /* rdx:rax, after extending rax */
void asm_multiply_wide(struct assembly *a, int by); /* rax to rdx:rax */
void asm_truth(struct assembly *a, int cc, int to);
void asm_compare_exchange(struct assembly *a, bool wide, int base, int32_t offset, int from);
void asm_push(struct assembly *a, int from);
void asm_pop(struct assembly *a, int to);
void asm_time(struct assembly *a); /* TSC in rax; rdx is lost */
void asm_system_call(struct assembly *a);
/* Between the flags and rax, in which nothing else may be meanwhile. */
void asm_save_flags(struct assembly *a);
void asm_restore_flags(struct assembly *a);

/* To a place that is known; asm_goto takes any distance. */
void asm_goto(struct assembly *a, uint64_t target);
void asm_goto_if(struct assembly *a, int cc, uint64_t target);
/* To one that comes later. */
void asm_jump(struct assembly *a, struct label *to);
void asm_jump_if(struct assembly *a, int cc, struct label *to);
void asm_call(struct assembly *a, struct label *to);
void asm_subtract_later(struct assembly *a, int from, struct label *what); /* 64 bits there */
void asm_call_known(struct assembly *a, uint64_t target);
void asm_call_through(struct assembly *a, uint64_t pointer); /* that is there, near */
void asm_number(struct assembly *a, int32_t number);         /* in an instruction without effect */
void asm_push_flags(struct assembly *a);
void asm_pop_flags(struct assembly *a);
void asm_land(struct assembly *a, struct label *label); /* it is here */

#endif
