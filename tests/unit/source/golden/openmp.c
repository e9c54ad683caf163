/* SPDX-License-Identifier: MIT */
/* FLAGS: -std=gnu17 -fopenmp */
/* COMPILERS: gcc */
/* Pragmas before loops and statements. */
#include <stdio.h>

static int say(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("%d\n", x); }
    return x;
}

__attribute__((noinline)) static int apart(int x)
{ LOUPE_PROCEDURE(2)
    return (LOUPE_CALL(3), say(x)) + 1;
}

static int plain(int n, double *a)
{ LOUPE_PROCEDURE(4)
    int s = 0;{ LOUPE_LOOP(5) 
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        { LOUPE_ITERATION(6) { LOUPE_STATEMENT(7) s += say(i); } } }
    if (n)
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            { LOUPE_STATEMENT(8) say(i); }
    { LOUPE_STATEMENT(9) say(1); }
#pragma omp parallel
    {{ LOUPE_LOOP(10) 
#pragma omp for
        for (int i = 0; i < n; i++)
            { LOUPE_ITERATION(11) { LOUPE_STATEMENT(12) say(i); } } }
#pragma omp single
        { LOUPE_STATEMENT(13) say(100); }
#pragma omp sections
        {
#pragma omp section
            for (int i = 0; i < 2; i++)
                { LOUPE_STATEMENT(14) say(i); }
#pragma omp section
            { LOUPE_STATEMENT(15) say(3); }
        }
    }{ LOUPE_LOOP(16)  // a comment
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < 1; k++)
                { LOUPE_STATEMENT(17) say(i + j + k); }
            { LOUPE_STATEMENT(18) say(-1); }
        } }{ LOUPE_LOOP(19) 
#pragma omp parallel for
    for (int i = say(0); i < n; i++) {
        for (int j = 0; j < n; j++)
            { LOUPE_STATEMENT(20) say(j); }
    } }{ LOUPE_LOOP(21) 
#pragma omp simd
    for (int i = 0; i < n; i++)
        a[i] += a[i] * 2; }{ LOUPE_LOOP(22) 
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int i = 0; i < n; i++)
        { LOUPE_ITERATION(23) { LOUPE_STATEMENT(24) say(i); } } }{ LOUPE_LOOP(25) 
#pragma GCC ivdep
    for (int i = 0; i < n; i++)
        a[i] = i; }
    { LOUPE_LOOP(26) for (int i = 0; i < n; i++) { LOUPE_ITERATION(27) {{ LOUPE_LOOP(28) 
#pragma GCC unroll 4
        for (int j = 0; j < n; j++)
            apart(j); }
    } } }
    { LOUPE_LOOP(29) _Pragma("GCC unroll 2") for (int i = 0; i < n; i++) apart(i); }
#pragma omp atomic
    s += 1;
#pragma omp critical
    { LOUPE_STATEMENT(30) s += say(5); }
    { LOUPE_LOOP(31) for (int i = 0; i < n; i++)
#pragma omp parallel for
        for (int j = 0; j < n; j++)
            { LOUPE_STATEMENT(32) say(j); } }
    for (int j = 0; j < 4; j++)
        a[j % n] += 1;
    { LOUPE_LOOP(33) for (int i = 0; i < n; i++)
        { LOUPE_ITERATION(34) { LOUPE_LOOP(35) for (int j = 0; j < 100; j++)
            a[i] += j; } } }
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
{ LOUPE_PROCEDURE(36)
    double a[3] = {1, 2, 3};
    int s = (LOUPE_CALL(37), plain(3, a)) + (int)simple(1) + other(2);
    { LOUPE_STATEMENT(38) printf("%d %g\n", s, a[0] + a[1] + a[2]); }
    return 0;
}
