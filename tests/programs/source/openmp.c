/* SPDX-License-Identifier: MIT */
/* FLAGS: -std=gnu17 -fopenmp */
/* COMPILERS: gcc */
/* Pragmas before loops and statements. */
#include <stdio.h>

static int say(int x)
{
    printf("%d\n", x);
    return x;
}

__attribute__((noinline)) static int apart(int x)
{
    return say(x) + 1;
}

static int plain(int n, double *a)
{
    int s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += say(i);
    if (n)
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            say(i);
    say(1);
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++)
            say(i);
#pragma omp single
        say(100);
#pragma omp sections
        {
#pragma omp section
            for (int i = 0; i < 2; i++)
                say(i);
#pragma omp section
            say(3);
        }
    } // a comment
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < 1; k++)
                say(i + j + k);
            say(-1);
        }
#pragma omp parallel for
    for (int i = say(0); i < n; i++) {
        for (int j = 0; j < n; j++)
            say(j);
    }
#pragma omp simd
    for (int i = 0; i < n; i++)
        a[i] += a[i] * 2;
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int i = 0; i < n; i++)
        say(i);
#pragma GCC ivdep
    for (int i = 0; i < n; i++)
        a[i] = i;
    for (int i = 0; i < n; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < n; j++)
            apart(j);
    }
    _Pragma("GCC unroll 2") for (int i = 0; i < n; i++) apart(i);
#pragma omp atomic
    s += 1;
#pragma omp critical
    s += say(5);
    for (int i = 0; i < n; i++)
#pragma omp parallel for
        for (int j = 0; j < n; j++)
            say(j);
    for (int j = 0; j < 4; j++)
        a[j % n] += 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 100; j++)
            a[i] += j;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 100; j++)
            a[i] += j;
        for (int j = 0; j < 50; j++)
            a[i] -= j;
    }
    return s;
}

#pragma omp declare simd
static double simple(double x)
{
    say(2);
    return x + say(3);
}

#pragma GCC push_options
#pragma GCC optimize("O1")
static int other(int x)
{
    return say(x) + say(x);
}
#pragma GCC pop_options

int main(void)
{
    double a[3] = {1, 2, 3};
    int s = plain(3, a) + (int)simple(1) + other(2);
    printf("%d %g\n", s, a[0] + a[1] + a[2]);
    return 0;
}
