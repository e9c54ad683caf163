/* SPDX-License-Identifier: MIT */
/* What counts the turns of a loop: something with a probe that each of them executes once, else a
 * probe of their own if there is a loop inside, else nothing. Every loop here has 5 turns, but for
 * those inside others. */
#include <stdio.h>
#include <stdlib.h>

static volatile int total;

int some(int x)
{
    for (int i = 0; i < abs(x) % 3 + 9; i++)
        total += i;
    return x & 3;
}

static void counted(void)
{
    int x, sum = 0;
    for (int i = 0; i < 5; i++)
        some(i);
    for (int i = 0; i < 5; i++) {
        int y = some(i) + 1;
        sum += -y;
    }
    for (int i = 0; i < 5; i++)
        total = sum + (some(i) | some(i + 1));
    for (int i = 0; i < 5; i++) {
        if (i == 2)
            total++;
        {
            x = some(i);
        }
        if (x == 3)
            continue;
    }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            some(k);
    int i = 0;
    do
        some(i);
    while (++i < 5);
}

static void by_themselves(void)
{
    for (int i = 0; i < 5; i++) {
        if (i == 3)
            continue;
        for (int k = 0; k < i; k++)
            some(k);
    }
    for (int i = 0; i < 5; i++) {
        if (i & 1)
            for (int k = 0; k < i; k++)
                some(k);
    }
    int i = 0;
    while (some(i) < 9 && i++ < 5)
        if (i)
            for (int k = 0; k < i; k++)
                some(k);
    for (int n = 0; n < 5; n++) {
        int k = 0;
    again:
        some(k);
        if (++k < 2)
            goto again;
        for (int m = 0; m < n; m++)
            some(m);
    }
}

static void not_counted(void)
{
    for (int i = 0; i < 5; i++)
        if (i & 1)
            some(i);
    for (int i = 0; i < 5; i++)
        total = i & 1 && some(i);
    for (int i = 0; i < 5; i++)
        total = i & 1 ? some(i) : 2;
    for (int i = 0; i < 5; i++) {
        if (i == 3)
            continue;
        some(i);
    }
    for (int i = 0; i < 5; i++)
        switch (i) {
        case 1: some(i); break;
        default: some(i + 1);
        }
}

int main(void)
{
    counted();
    by_themselves();
    not_counted();
    printf("%d\n", total);
    return 0;
}
