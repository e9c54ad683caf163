/* SPDX-License-Identifier: MIT */
/* A library that is unloaded while it is instrumented. */
long passing(long value);

long passing(long value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
