/* SPDX-License-Identifier: MIT */
/*
 * The loader: copied into the program's memory, never executed here. Import slots of MPI functions
 * lead to pieces of code that push their number and jump to the code's beginning. The first thread that
 * comes while the block (record/attach.h) says WAITING loads the runtime, on its own stack, where
 * the program itself calls MPI; so no lock of the program's is held. Everyone goes on to what stood
 * in the slot, with all registers that can hold an argument, and errno as it was.
 */
#include "inject/arch/x86_64/loader.h"

    .section .rodata
    .balign 16
    .globl loader_code, loader_code_bytes
    .hidden loader_code, loader_code_bytes
loader_code: /* struct loader_head, then the code */
    .quad LOADER_MAGIC
.Lblock:
    .quad 0
    movq .Lblock(%rip), %r11
    cmpl $0, BLOCK_STATE(%r11)
    jne .Lgo
    pushq %rax
    xorl %eax, %eax
    movl $1, %r10d
    lock cmpxchgl %r10d, BLOCK_STATE(%r11)
    popq %rax
    je .Lload
.Lgo:
    popq %r10
    shlq $4, %r10
    jmp *BLOCK_SLOTS+8(%r11,%r10)

.Lload:
    pushq %rbp
    movq %rsp, %rbp
    pushq %rbx
    andq $-16, %rsp
    subq $208, %rsp
    movq %rax, 0(%rsp)
    movq %rdi, 8(%rsp)
    movq %rsi, 16(%rsp)
    movq %rdx, 24(%rsp)
    movq %rcx, 32(%rsp)
    movq %r8, 40(%rsp)
    movq %r9, 48(%rsp)
    movaps %xmm0, 64(%rsp)
    movaps %xmm1, 80(%rsp)
    movaps %xmm2, 96(%rsp)
    movaps %xmm3, 112(%rsp)
    movaps %xmm4, 128(%rsp)
    movaps %xmm5, 144(%rsp)
    movaps %xmm6, 160(%rsp)
    movaps %xmm7, 176(%rsp)
    movq %r11, %rbx
    xorl %edi, %edi /* RTLD_DEFAULT */
    leaq .Lerrno(%rip), %rsi
    call *BLOCK_SYMBOL(%rbx)
    testq %rax, %rax
    jz .Lno_errno
    call *%rax
    movl (%rax), %ecx
    movl %ecx, 192(%rsp)
.Lno_errno:
    movq %rax, 56(%rsp) /* where errno is */
    leaq BLOCK_LIBRARY(%rbx), %rdi
    movl $2, %esi /* RTLD_NOW */
    call *BLOCK_OPEN(%rbx)
    testq %rax, %rax
    jz .Lfailed
    movq %rax, %rdi
    leaq BLOCK_ENTRY(%rbx), %rsi
    call *BLOCK_SYMBOL(%rbx)
    testq %rax, %rax
    jz .Lfailed
    movq %rbx, %rdi
    call *%rax
    movl %eax, BLOCK_STATE(%rbx)
    jmp .Lrestore
.Lfailed:
    call *BLOCK_ERROR_TEXT(%rbx)
    testq %rax, %rax
    jz .Ltold
    leaq BLOCK_ERROR(%rbx), %rdi
    movl $BLOCK_TEXT - 1, %ecx /* the last byte is 0 already */
.Lcopy:
    movb (%rax), %dl
    movb %dl, (%rdi)
    testb %dl, %dl
    jz .Ltold
    incq %rax
    incq %rdi
    decl %ecx
    jnz .Lcopy
.Ltold:
    movl $BLOCK_FAILED, BLOCK_STATE(%rbx)
.Lrestore:
    movq 56(%rsp), %rax
    testq %rax, %rax
    jz .Lregisters
    movl 192(%rsp), %ecx
    movl %ecx, (%rax)
.Lregisters:
    movq %rbx, %r11
    movq 0(%rsp), %rax
    movq 8(%rsp), %rdi
    movq 16(%rsp), %rsi
    movq 24(%rsp), %rdx
    movq 32(%rsp), %rcx
    movq 40(%rsp), %r8
    movq 48(%rsp), %r9
    movaps 64(%rsp), %xmm0
    movaps 80(%rsp), %xmm1
    movaps 96(%rsp), %xmm2
    movaps 112(%rsp), %xmm3
    movaps 128(%rsp), %xmm4
    movaps 144(%rsp), %xmm5
    movaps 160(%rsp), %xmm6
    movaps 176(%rsp), %xmm7
    movq -8(%rbp), %rbx
    leave
    jmp .Lgo
.Lerrno:
    .asciz "__errno_location"
.Lend:
    .balign 8
loader_code_bytes:
    .quad .Lend - loader_code
    .section .note.GNU-stack,"",@progbits
