/* SPDX-License-Identifier: MIT */
/*
 * What inserted code adds to a tiny function, in one process: the same five bytes called as they
 * are and with each kind of probe, in turns, the least of many batches. Prints nanoseconds per call
 * and what was added, and beside it two readings of the TSC. Fails when more is added than allowed.
 */
#include "unit/inject/x86_64/tiny.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

enum { BATCHES = 400, CALLS = 20000, ROOM = 1 << 16 };

static uint8_t *memory;
static struct emit_data *data;

static tiny_function *probed(const struct spec_action *entry, const struct spec_action *leave)
{
    static size_t next;
    next += TINY_ROOM;
    return tiny_probed(memory + next - TINY_ROOM, data, entry, leave);
}

static __thread uint64_t begin, total;

__attribute__((noinline)) static uint64_t two_reads(uint64_t x)
{
    begin = __rdtsc();
    x = x + 1;
    __asm__ volatile("" : "+r"(x));
    total += __rdtsc() - begin;
    return x;
}

/* Each call waits for the one before it, or none does. Both have the call and the return around it,
 * behind which the processor hides some of what is added, as it does in programs. */
static double batch(tiny_function *f, bool chained)
{
    struct timespec from, to;
    uint64_t x = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint64_t i = 0; i < CALLS; i++)
        x = chained ? f(x) : x + f(i) - i;
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (x != CALLS)
        abort();
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / CALLS;
}

static struct spec_expression one = {.term = SPEC_CONSTANT, .value = 1};
static struct spec_expression counter = {.term = SPEC_COUNTER, .variable = 1}, zero;
static struct spec_expression positive = {
    .term = SPEC_OPERATION, .op = SPEC_GREATER, .a = &counter, .b = &zero};
static struct spec_action add = {.primitive = SPEC_ADD_COUNTER, .value = &one};
static struct spec_action four[4];
static struct spec_action predicate = {.primitive = SPEC_IF, .value = &positive, .body = &add};
static struct spec_action start = {.primitive = SPEC_START_TIMER, .variable = 8};
static struct spec_action stop = {.primitive = SPEC_STOP_TIMER, .variable = 8};
static struct spec_action cpu_start = {
    .primitive = SPEC_START_TIMER, .process_time = true, .variable = 9};
static struct spec_action cpu_stop = {.primitive = SPEC_STOP_TIMER, .variable = 9};

enum { PLAIN, TWO_READS, COUNTER, PREDICATE, FOUR, WALL, PROCESS, KINDS };

static bool measure(tiny_function *const *functions, bool chained)
{
    static const char *const names[KINDS] = {"plain",           "two_tsc",       "counter",
                                             "predicate_false", "four_counters", "wall_timer",
                                             "process_timer"};
    double least[KINDS] = {0};
    for (int b = 0; b < BATCHES; b++) {
        for (int k = 0; k < KINDS; k++) {
            if (k == PROCESS && b >= 10)
                continue;
            double ns = batch(functions[k], chained);
            if (b == 0 || ns < least[k])
                least[k] = ns;
        }
    }
    double reads = least[TWO_READS] - least[PLAIN];
    for (int k = 0; k < KINDS; k++)
        printf("%s %s %.2f added %.2f of_two_tsc %.3f\n", chained ? "chained" : "apart", names[k],
               least[k], least[k] - least[PLAIN], (least[k] - least[PLAIN]) / reads);
    return least[COUNTER] - least[PLAIN] <= 1.0 && least[PREDICATE] - least[PLAIN] <= 1.0 &&
           least[WALL] - least[PLAIN] <= 1.3 * reads;
}

/* What was measured has been done. */
static bool counted(void)
{
    enum { TIMES = 2 * BATCHES * CALLS };
    for (size_t i = 0; i < EMIT_BLOCKS; i++) {
        const union emit_variable *v = data->blocks[i].variables;
        if (data->blocks[i].thread == 0)
            continue;
        printf("counted %ld of %d, timed %u\n", (long)v[0].counter.value, TIMES, v[8].timer.starts);
        return v[0].counter.value == TIMES && v[5].counter.value == TIMES &&
               v[8].timer.starts == TIMES && v[1].counter.value == 0;
    }
    return false;
}

int main(void)
{
    memory =
        mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = mmap(NULL, sizeof *data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || data == MAP_FAILED)
        return 1;
    for (int i = 0; i < 4; i++) {
        four[i] = add;
        four[i].variable = (uint32_t)(2 + i);
        four[i].next = i < 3 ? &four[i + 1] : NULL;
    }
    tiny_function *functions[KINDS] = {probed(NULL, NULL),           two_reads,
                                       probed(&add, NULL),           probed(&predicate, NULL),
                                       probed(four, NULL),           probed(&start, &stop),
                                       probed(&cpu_start, &cpu_stop)};
    bool good = measure(functions, true);
    good &= measure(functions, false);
    good &= counted();
    printf("%s\n", good ? "within the limits" : "ABOVE the limits: 1 ns, 1 ns, 1.3 of two_tsc");
    return !good;
}
