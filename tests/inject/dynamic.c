/* SPDX-License-Identifier: MIT */
/*
 * A program whose procedures are called a known number of times, in every way that a probe must
 * stand: by recursion, by tail calls, by pointers, from threads, left by longjmp, in a library, in
 * a forked child. It says on standard error how often, and how long some took; and ends with 3.
 *     dynamic N        N: how many rounds
 *     dynamic N fork   a child does the same first, and says nothing
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

long passing_by(long x); /* dynamic_library.c */
long passing_count(void);

enum { THREADS = 3 };
#define PROCEDURES(X)                                                                              \
    X(leaf)                                                                                        \
    X(factorial) X(even) X(odd) X(thrower) X(catcher) X(last) X(middle) X(pointed) X(slow) X(slower)

enum which {
#define X(name) name##_,
    PROCEDURES(X)
#undef X
        WHICH
};
static _Atomic long counts[WHICH];

/* Nothing is optimised away or joined, and before its end there is room for a jump. */
#ifdef __clang__
#define PROCEDURE __attribute__((noinline))
#else
#define PROCEDURE __attribute__((noinline, noclone, noipa))
#endif
#define ROOM __asm__ volatile("nopl 0(%%rax,%%rax)\n\tnopl 0(%%rax,%%rax)" ::: "memory")

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

PROCEDURE long leaf(long x)
{
    counts[leaf_]++;
    ROOM;
    return 3 * x + 1;
}

PROCEDURE long factorial(long n)
{
    counts[factorial_]++;
    long r = n <= 1 ? 1 : n * factorial(n - 1);
    ROOM;
    return r;
}

PROCEDURE long odd(long n);

PROCEDURE long even(long n)
{
    counts[even_]++;
    long r = n == 0 ? 1 : odd(n - 1);
    ROOM;
    return r;
}

PROCEDURE long odd(long n)
{
    counts[odd_]++;
    long r = n == 0 ? 0 : even(n - 1);
    ROOM;
    return r;
}

static __thread jmp_buf back;

PROCEDURE long thrower(long x)
{
    counts[thrower_]++;
    long r = leaf(x);
    if (x % 2)
        longjmp(back, 1);
    ROOM;
    return r;
}

PROCEDURE long catcher(long x)
{
    counts[catcher_]++;
    long r = setjmp(back) ? 5 : thrower(x);
    ROOM;
    return r;
}

PROCEDURE long last(long x)
{
    counts[last_]++;
    ROOM;
    return leaf(x + 1);
}

PROCEDURE long middle(long x)
{
    counts[middle_]++;
    long r = last(x);
    ROOM;
    return r + 1;
}

PROCEDURE long pointed(long x)
{
    counts[pointed_]++;
    ROOM;
    return x ^ 0x55;
}

static double took[2];

PROCEDURE void slow(double seconds)
{
    double begin = now();
    counts[slow_]++;
    while (now() - begin < seconds)
        ;
    took[0] += now() - begin;
    ROOM;
}

PROCEDURE void slower(void)
{
    double begin = now();
    counts[slower_]++;
    slow(0.002);
    while (now() - begin < 0.003)
        ;
    took[1] += now() - begin;
    ROOM;
}

static void *rounds(void *argument)
{
    long (*volatile pointer)(long) = pointed, sum = 0, n = (long)argument;
    for (long i = 0; i < n; i++) {
        sum += middle(i) + pointer(i);
        if (i % 50 == 0)
            sum += catcher(i / 50) + factorial(12) + even(9) + passing_by(i);
    }
    return (void *)sum;
}

static long all(long n)
{
    pthread_t threads[THREADS];
    long sum = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, rounds, (void *)n))
            abort();
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    for (int i = 0; i < 10; i++)
        slower();
    return sum;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
#define X(name) #name,
        PROCEDURES(X)
#undef X
    };
    long n = argc > 1 ? atol(argv[1]) : 1000;
    if (argc > 2 && !strcmp(argv[2], "fork")) {
        pid_t child = fork();
        if (child == 0)
            _exit(all(n) == 0);
        int status = 0;
        if (waitpid(child, &status, 0) != child || status)
            return 1;
    }
    printf("sum %ld\n", all(n));
    for (int i = 0; i < WHICH; i++)
        fprintf(stderr, "count %s %ld\n", names[i], (long)counts[i]);
    fprintf(stderr, "count passing_by %ld\n", passing_count());
    fprintf(stderr, "took slow %.9f\ntook slower %.9f\n", took[0], took[1]);
    return 3;
}
