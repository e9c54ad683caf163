/* SPDX-License-Identifier: MIT */
/* As many visits of a tiny procedure as asked for. */
#include <stdlib.h>

static volatile long sum;

__attribute__((noinline)) static void tiny(long i)
{
    sum += i;
}

int main(int argc, char **argv)
{
    long visits = argc > 1 ? atol(argv[1]) : 1000;
    for (long i = 0; i < visits; i++)
        tiny(i);
    return 0;
}
