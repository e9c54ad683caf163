/* SPDX-License-Identifier: MIT */
/* A library that loads.c loads and unloads; its constructor is at work before dlopen returns. */
#include <stdatomic.h>

static _Atomic long counts[2];

__attribute__((noinline)) long later_leaf(long x)
{
    counts[0]++;
    __asm__ volatile("nopl 0(%%rax,%%rax)" ::: "memory");
    return 5 * x + 3;
}

long later_work(long n)
{
    long sum = 0;
    counts[1]++;
    for (long i = 0; i < n; i++)
        sum += later_leaf(i);
    __asm__ volatile("nopl 0(%%rax,%%rax)" ::: "memory");
    return sum;
}

__attribute__((constructor)) static void begin(void)
{
    later_work(7);
}

long later_count(int which)
{
    return counts[which];
}
