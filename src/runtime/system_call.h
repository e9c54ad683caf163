/* SPDX-License-Identifier: MIT */
/* A call of the kernel from code that may call nothing of libc: it touches general registers only.
 */
#ifndef LOUPE_RUNTIME_SYSTEM_CALL_H
#define LOUPE_RUNTIME_SYSTEM_CALL_H

/* The result, or -errno. */
static inline long system_call4(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "cc", "memory");
    return result;
}

static inline long system_call(long number, long a, long b, long c)
{
    return system_call4(number, a, b, c, 0);
}

#endif
