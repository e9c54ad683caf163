/* SPDX-License-Identifier: MIT */
/* The library of dynamic.c. */
#include <stdatomic.h>

long passing_by(long x);
long passing_count(void);

static _Atomic long count;

__attribute__((noinline)) long passing_by(long x)
{
    count++;
    __asm__ volatile("nopl 0(%%rax,%%rax)\n\tnopl 0(%%rax,%%rax)" : "+r"(x));
    return x - 7;
}

long passing_count(void)
{
    return count;
}
