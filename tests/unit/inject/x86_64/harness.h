/* SPDX-License-Identifier: MIT */
/* Runs machine code in this process with every register and flag chosen, and looks at them
 * afterwards. */
#ifndef LOUPE_TESTS_INJECT_HARNESS_H
#define LOUPE_TESTS_INJECT_HARNESS_H

#include "inject/emit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HARNESS_FLAGS = 0x8d5, HARNESS_ROOM = 1 << 16 }; /* OF SF ZF AF PF CF */

struct state {
    uint64_t registers[16]; /* by number; rsp is not set */
    uint64_t flags;
};

/* Loads the state (but rsp), calls the code and puts what it left into the state. */
void harness_run(const void *code, struct state *s);
__asm__(".text\n.globl harness_run\n.type harness_run, @function\nharness_run:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "push %rsi; push %rdi\n"
        "mov %rsi, %rax\n"
        "push 128(%rax); popfq\n"
        "mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx; mov 40(%rax), %rbp\n"
        "mov 48(%rax), %rsi; mov 56(%rax), %rdi; mov 64(%rax), %r8; mov 72(%rax), %r9\n"
        "mov 80(%rax), %r10; mov 88(%rax), %r11; mov 96(%rax), %r12; mov 104(%rax), %r13\n"
        "mov 112(%rax), %r14; mov 120(%rax), %r15; mov 0(%rax), %rax\n"
        "call *(%rsp)\n"
        "push %rax; pushfq; mov 24(%rsp), %rax\n"
        "pop 128(%rax); pop 0(%rax)\n"
        "mov %rcx, 8(%rax); mov %rdx, 16(%rax); mov %rbx, 24(%rax); mov %rbp, 40(%rax)\n"
        "mov %rsi, 48(%rax); mov %rdi, 56(%rax); mov %r8, 64(%rax); mov %r9, 72(%rax)\n"
        "mov %r10, 80(%rax); mov %r11, 88(%rax); mov %r12, 96(%rax); mov %r13, 104(%rax)\n"
        "mov %r14, 112(%rax); mov %r15, 120(%rax)\n"
        "cld\n"
        "pop %rdi; pop %rsi\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
        ".size harness_run, . - harness_run\n");

static inline uint64_t harness_random(void)
{
    static uint64_t x = 0x1234567887654321;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * 0x2545f4914f6cdd1d;
}

static inline void harness_fill(struct state *s)
{
    for (int i = 0; i < 16; i++)
        s->registers[i] = harness_random();
    s->flags = 0x202 | (harness_random() & HARNESS_FLAGS);
}

static inline uint8_t *harness_memory(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static inline struct emit_data *harness_data(void)
{
    void *memory = mmap(NULL, sizeof(struct emit_data), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static inline struct emit_block *harness_block(struct emit_data *data)
{
    uint64_t thread;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(thread));
    for (size_t i = 0; i < EMIT_BLOCKS; i++) {
        if (data->blocks[i].thread == thread)
            return &data->blocks[i];
    }
    return NULL;
}

#endif
