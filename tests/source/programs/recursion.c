/* SPDX-License-Identifier: MIT */
/* Direct and mutual recursion, both at once, through a pointer, and a callback of qsort. */
#include "work.h"

#include <stdlib.h>

static int depth_of(int n)
{
    work(1);
    return n ? 1 + depth_of(n - 1) : 0; /* @again */
}

static int tree(int n)
{
    work_sink += 1;
    int sum = n > 1 ? tree(n - 1) : 1;
    return n > 1 ? sum + tree(n - 2) : sum;
}

static int odd(int n);

static int even(int n)
{
    work(1);
    if (!n)
        return 1;
    return odd(n - 1); /* @even-odd */
}

static int odd(int n)
{
    work(1);
    if (!n)
        return 0;
    return even(n - 1); /* @odd-even */
}

static void ping(int n);

static void pong(int n)
{
    work(1);
    if (n)
        ping(n - 1); /* @pong-ping */
}

/* Its entries are only counted: all who call it but itself are statements. One of them is inside
 * it. */
static void ping(int n)
{
    work(1);
    if (n % 3 == 2)
        ping(n - 1);
    else if (n)
        pong(n - 1);
}

static int through(int n, int (*next)(int, void *), void *data)
{
    work(1);
    if (n)
        return next(n - 1, data); /* @through */
    return 7;
}

static int back(int n, void *data)
{
    work(1);
    if (n)
        return through(n - 1, *(int (**)(int, void *))data, data); /* @back */
    return 9;
}

/* Who reads it cannot know what it is: the call stays one through a pointer. */
static int (*volatile unknown)(int, void *) = back;

static long comparisons;

static int compare(const void *a, const void *b)
{
    comparisons++;
    work_sink += 1;
    if (comparisons % 16 == 0)
        work(1);
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    int (*next)(int, void *) = unknown;
    double begin = work_clock();
    int sum = depth_of(9); /* @direct */
    double direct = work_clock() - begin;
    sum += tree(10); /* @tree */
    begin = work_clock();
    sum += even(11); /* @mutual */
    double mutual = work_clock() - begin;
    ping(8);                           /* @ping */
    sum += through(6, unknown, &next); /* @pointer */
    static int numbers[100];
    for (int i = 0; i < 100; i++)
        numbers[i] = i * 37 % 101;
    qsort(numbers, 100, sizeof *numbers, compare); /* @qsort */
    printf("sum %d\ncomparisons %ld\n", sum + numbers[50], comparisons);
    printf("direct %.9f\nmutual %.9f\n", direct, mutual);
    return 0;
}
