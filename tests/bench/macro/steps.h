/* SPDX-License-Identifier: MIT */
/*
 * For the programs of the macro benchmark. All work is made of steps that take the same time, each
 * waiting for the one before, so what a procedure's share of the CPU time is is known beforehand.
 * On standard output: the process id; for each line "ROUNDS" on standard input the CPU time of so
 * many rounds in seconds; with "steps" as its argument, "NAME STEPS" of a round for each procedure.
 */
#ifndef LOUPE_BENCH_STEPS_H
#define LOUPE_BENCH_STEPS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t state = 1;

static inline void steps(unsigned count)
{
    uint64_t x = state;
    for (unsigned i = 0; i < count; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x)); /* one by one */
    }
    state = x;
}

struct procedure {
    const char *name;
    void (*call)(void);
    unsigned steps, calls; /* of a call, in a round */
};

/* A procedure of its own, with an entry, an exit and a symbol. */
#define PROCEDURE(name, count)                                                                     \
    void name(void);                                                                               \
    __attribute__((noinline)) void name(void)                                                      \
    {                                                                                              \
        steps(count);                                                                              \
    }

static double cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void rounds(const struct procedure *procedures, size_t count, long number)
{
    for (long r = 0; r < number; r++)
        for (size_t i = 0; i < count; i++)
            for (unsigned k = 0; k < procedures[i].calls; k++)
                procedures[i].call();
}

static int serve(const struct procedure *procedures, size_t count, int argc, char **argv)
{
    char line[64];
    if (argc > 1 && !strcmp(argv[1], "steps")) {
        for (size_t i = 0; i < count; i++)
            printf("%s %lu\n", procedures[i].name,
                   (unsigned long)procedures[i].steps * procedures[i].calls);
        return 0;
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        double begin = cpu_time();
        rounds(procedures, count, strtol(line, NULL, 10));
        printf("%.6f\n", cpu_time() - begin);
        fflush(stdout);
    }
    return state == 0;
}

#endif
