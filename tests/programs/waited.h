/* SPDX-License-Identifier: MIT */
#ifndef LOUPE_TEST_WAITED_H
#define LOUPE_TEST_WAITED_H

#include <stdint.h>
#include <stdio.h>

/* How long the thread could have run and had no processor, ns; 0 where the kernel does not say. */
static inline int64_t thread_waited(void)
{
    long long ran, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lld %lld", &ran, &waited) != 2)
        waited = 0;
    fclose(file);
    return waited;
}

#endif
