/* SPDX-License-Identifier: MIT */
/* chosen ROUNDS THREADS: calls procedures whose code was chosen when it started (ifunc), one of its
 * own and one of the C library, ROUNDS times after a line of input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 4242 };
char from[BYTES], to[BYTES];

__attribute__((noinline)) static int first(int x)
{
    return x;
}

__attribute__((noinline)) static int second(int x)
{
    return x + 2;
}

static int (*choose(void))(int)
{
    return from[0] ? first : second; /* what no compiler can know */
}

int own(int x) __attribute__((ifunc("choose")));

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 0, sum = 0;
    volatile size_t bytes = BYTES; /* else it may be done without a call */
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    for (long i = 0; i < rounds; i++) {
        copy(to, from, BYTES - 1);
        memcpy(to, from, bytes);
        sum += own(1);
    }
    printf("%ld\n", sum);
    return 0;
}
