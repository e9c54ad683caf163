/* SPDX-License-Identifier: MIT */
/* Lines that end with CR and LF, and a mark at the beginning. */
#include <stdio.h>
static int größe(int x)
{
    printf("%d\n", x); \
    return x;
}
int main(void)
{
    for (int i = 0; i < 2; i++) // comment \
    größe(5);
        größe(i);
    return größe(0);
}