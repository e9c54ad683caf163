/* SPDX-License-Identifier: MIT */
/* COMPILERS: gcc clang */
/* Procedures that a single statement calls, and those that something else may call as well. */
#include <stdio.h>
#include <stdlib.h>

static volatile int total;

#define BODY                                                                                       \
    for (int i = 0; i < abs(total) % 3 + 9; i++)                                                   \
    total = (total + x) & 1023

static void once(int x);
static void once(int x)
{
    BODY;
}

static void twice(int x)
{
    BODY;
}

static void again(int x)
{
    BODY;
    if (x)
        again(x - 1);
}

static int compare(const void *a, const void *b)
{
    int x = 1;
    BODY;
    return *(const int *)a - *(const int *)b;
}

static void in_table(int x)
{
    BODY;
}
static void (*const table[])(int) = {in_table};

static void cleaner(int *at)
{
    int x = *at;
    BODY;
}

static void pasted_cleaner(int *at)
{
    int x = *at;
    BODY;
}
#define AUTO(name) __attribute__((cleanup(name##_cleaner)))

static void pasted(int x)
{
    BODY;
}
#define CALL(name, x) name##ed(x)

static void by_macro(int x)
{
    BODY;
}
#define BY_MACRO by_macro(6)

static void aliased(int x)
{
    BODY;
}
void alias(int x) __attribute__((alias("aliased")));

__attribute__((used)) static void used(int x)
{
    BODY;
}

__attribute__((constructor)) static void early(void)
{
    int x = 1;
    BODY;
}

void visible(int x)
{
    BODY;
}

static int value(int x)
{
    BODY;
    return x;
}

static int argument(int x)
{
    BODY;
    return x + 1;
}

int main(void)
{
    for (int i = 0; i < 5; i++)
        once(i);
    twice(1);
    twice(2);
    again(3);
    int numbers[] = {3, 1, 2}, zero = 0;
    qsort(numbers, 3, sizeof *numbers, compare);
    total += compare(&numbers[0], &numbers[1]);
    in_table(1);
    table[0](2);
    cleaner(&zero);
    pasted_cleaner(&zero);
    {
        __attribute__((cleanup(cleaner))) int one = 1;
        AUTO(pasted) int two = 2;
        total += one + two;
    }
    pasted(4);
    CALL(past, 5);
    by_macro(5);
    BY_MACRO;
    aliased(1);
    alias(2);
    used(1);
    early();
    visible(1);
    if (zero || value(argument(zero)) > 0)
        total += 2;
    printf("%d\n", total);
    return 0;
}
