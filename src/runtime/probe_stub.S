/* SPDX-License-Identifier: MIT */
/*
 * From a slow path to what is rare: loupe_probe_rare(function, a, b). The program knows nothing of
 * the call, may be anywhere on a small stack that is not aligned, and uses every register: so all
 * that C code may change is saved, on a stack of our own. The caller holds the lock for that stack
 * and has blocked signals.
 */
    .text
    .globl loupe_probe_rare
    .hidden loupe_probe_rare
    .type loupe_probe_rare, @function
loupe_probe_rare:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    cld
    leaq rare_stack_top(%rip), %rsp
    cmpb $0, loupe_probe_xsave(%rip)
    je 1f
    /* x87, SSE, AVX, AVX-512: what C code and libc may use. The header must be zero. */
    xorl %eax, %eax
    movq %rax, 512(%rsp)
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    movl $0xe7, %eax
    xorl %edx, %edx
    xsave (%rsp)
    jmp 2f
1:  fxsave (%rsp)
2:  movq -8(%rbp), %rax
    movq -16(%rbp), %rdi
    movq -24(%rbp), %rsi
    call *%rax
    movq %rax, %rcx
    cmpb $0, loupe_probe_xsave(%rip)
    je 3f
    movl $0xe7, %eax
    xorl %edx, %edx
    xrstor (%rsp)
    jmp 4f
3:  fxrstor (%rsp)
4:  movq %rcx, %rax
    leaq -64(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size loupe_probe_rare, .-loupe_probe_rare

    .bss
    .balign 4096
rare_stack:
    .skip 131072
rare_stack_top:
    .skip 4096
    .section .note.GNU-stack,"",@progbits
