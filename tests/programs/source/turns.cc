/* SPDX-License-Identifier: MIT */
/* FLAGS: -std=c++17 */
/* A call may throw and so leave out what follows it: only the first of a turn counts them. */
#include <cstdio>

static volatile int total;

int some(int x)
{
    for (int i = 0; i < x + 9; i++)
        total = total + i;
    if (x % 4 == 3)
        throw x;
    return x;
}

int main()
{
    for (int i = 0; i < 5; i++) /* 5 turns, counted by the loop in them */
        try {
            for (int k = 0; k < 4; k++) { /* 15 by the first call; the second is executed 10 times */
                some(k + 1);
                some(k);
            }
        } catch (int x) {
            total = total + x;
        }
    for (int i = 0; i < 4; i++) { /* 4 by a probe of their own */
        try {
            some(i);
        } catch (int) {
            continue;
        }
        for (int k = 0; k < 3; k++)
            some(k);
    }
    std::printf("%d\n", total);
    return 0;
}
