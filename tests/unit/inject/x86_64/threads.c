/* SPDX-License-Identifier: MIT */
/* Counting by many threads at once, and timers: nesting, stops without starts, both clocks, and
 * what a reader sees meanwhile. */
#include "lib/tap.h"
#include "unit/inject/x86_64/harness.h"
#include "unit/inject/x86_64/tiny.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <x86intrin.h>

enum { THREADS = 8, CALLS = 1000000, MANY = 1200, FEW = 1000 };

static struct spec_expression zero = {.term = SPEC_CONSTANT}, ret = {.term = SPEC_RETURNED};
/* 1, but not a constant */
static struct spec_expression positive = {
    .term = SPEC_OPERATION, .op = SPEC_GREATER, .a = &ret, .b = &zero};
static uint8_t *memory;
static struct emit_data *data;
static struct spec_expression one = {.term = SPEC_CONSTANT, .value = 1};

/* Gives the function, with these at its entry and its exit. */
static tiny_function *probed(struct spec_action *entry, struct spec_action *exit)
{
    static size_t next;
    next += TINY_ROOM;
    return tiny_probed(memory + next - TINY_ROOM, data, entry, exit);
}

static tiny_function *function;
static atomic_ulong wrong;

static void *count(void *calls)
{
    for (uint64_t i = 0; i < (uint64_t)calls; i++)
        wrong += function(i) != i + 1;
    return NULL;
}

static int64_t sum(size_t variable)
{
    int64_t total = 0;
    for (size_t i = 0; i < EMIT_BLOCKS; i++)
        total += data->blocks[i].variables[variable].counter.value;
    return total;
}

static pthread_barrier_t barrier;

static void *wait_and_count(void *calls)
{
    count((void *)1);
    pthread_barrier_wait(&barrier); /* all of them are there at once, so that pointers differ */
    return count(calls);
}

static void many(void)
{
    static pthread_t threads[MANY];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_barrier_init(&barrier, NULL, MANY);
    memset(data, 0, sizeof *data);
    size_t started = 0;
    for (; started < MANY; started++) {
        if (pthread_create(&threads[started], &small, wait_and_count, (void *)FEW) != 0)
            abort();
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int64_t shared = data->blocks[EMIT_SHARED].variables[0].counter.value;
    ok(sum(0) == (int64_t)MANY * (FEW + 1) && sum(1) == sum(0) && shared > 0,
       "%d threads at once: %ld of %ld, %ld of them in the shared block", MANY, (long)sum(0),
       (long)MANY * (FEW + 1), (long)shared);
}

static struct emit_timer *timer(size_t variable)
{
    return &harness_block(data)->variables[variable].timer;
}

static void spin(uint64_t ns)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((uint64_t)(now.tv_sec - begin.tv_sec) * 1000000000 +
                 (uint64_t)(now.tv_nsec - begin.tv_nsec) <
             ns);
}

static void timers(bool process)
{
    const char *name = process ? "process time" : "wall time";
    size_t variable = process ? 3 : 2;
    struct spec_action start = {
        .primitive = SPEC_START_TIMER, .process_time = process, .variable = (uint32_t)variable};
    struct spec_action stop = {.primitive = SPEC_STOP_TIMER, .variable = (uint32_t)variable};
    tiny_function *begin = probed(&start, NULL), *end = probed(&stop, NULL);
    memset(data, 0, sizeof *data);
    end(1);
    ok(timer(variable)->total == 0 && timer(variable)->depth == 0, "%s: a stop without a start",
       name);
    uint64_t before = __rdtsc();
    begin(1);
    begin(2);
    ok(timer(variable)->depth == 2 && timer(variable)->clock == process, "%s: nested", name);
    spin(2000000);
    end(1);
    ok(timer(variable)->total == 0 && timer(variable)->depth == 1, "%s: the inner stop", name);
    end(2);
    uint64_t ticks = __rdtsc() - before, total = timer(variable)->total;
    if (process)
        ok(total >= 2000000 && total < 200000000, "%s: %lu ns for 2 ms", name,
           (unsigned long)total);
    else
        ok(total > ticks / 2 && total <= ticks, "%s: %lu of %lu ticks", name, (unsigned long)total,
           (unsigned long)ticks);
    ok(timer(variable)->starts == 1 && timer(variable)->version % 2 == 0, "%s: one start", name);
    struct spec_action set = {
        .primitive = SPEC_SET_TIMER, .variable = (uint32_t)variable, .value = &zero};
    begin(1);
    uint64_t was = timer(variable)->begin;
    probed(&set, NULL)(1);
    ok(timer(variable)->total == 0 && timer(variable)->begin > was && timer(variable)->depth == 1,
       "%s: set while it runs", name);
    end(1);
}

static atomic_bool done;
static struct emit_timer *watched;

/* As readers outside do it: what is between two equal and even versions. The processor may read the
 * clock before others see the version odd (a fence would make the timer 2.6 times as dear), so a
 * running timer can be read as a bit more than it then gets: readers keep the largest value. */
static void *watch(void *backwards)
{
    uint64_t last = 0;
    while (!done) {
        volatile struct emit_timer *t = watched;
        uint32_t version = t->version;
        uint64_t total = t->total, begin = t->begin;
        int32_t depth = t->depth;
        uint64_t now = __rdtsc();
        _mm_lfence();
        if (version % 2 || t->version != version)
            continue;
        uint64_t value = total + (depth > 0 && now > begin ? now - begin : 0);
        unsigned long *most = backwards;
        if (value < last && last - value > *most)
            *most = last - value;
        last = value > last ? value : last;
    }
    return NULL;
}

static void readers(void)
{
    struct spec_action start = {.primitive = SPEC_START_TIMER, .variable = 4};
    struct spec_action stop = {.primitive = SPEC_STOP_TIMER, .variable = 4};
    unsigned long backwards = 0;
    pthread_t thread;
    function = probed(&start, &stop);
    function(1);
    watched = timer(4);
    if (pthread_create(&thread, NULL, watch, &backwards) != 0)
        abort();
    count((void *)CALLS);
    done = true;
    pthread_join(thread, NULL);
    ok(backwards < 50000 && watched->starts == CALLS + 1,
       "a reader sees it go back by no more than a write takes (%lu ticks)", backwards);
}

/* Seconds come as nanoseconds and are kept in ticks. */
static void scaled(void)
{
    struct spec_expression argument = {.term = SPEC_ARGUMENT, .value = 1};
    struct spec_action set = {.primitive = SPEC_SET_TIMER, .variable = 5, .value = &argument};
    struct code_point point = {.kind = CODE_ENTRY, .window_bytes = sizeof tiny, .live = 0xf0a8};
    struct emit_use use = {.actions = &set};
    uint8_t *at = memory + HARNESS_ROOM - 4096;
    struct emit_point p = {.point = &point,
                           .window = tiny,
                           .uses = &use,
                           .use_count = 1,
                           .data = (uint64_t)data,
                           .tick_scale = (uint64_t)5 << 31}; /* 2.5 ticks in a ns */
    struct emit_result result;
    point.window = point.address = (uint64_t)at;
    if (emit_point(&p, (uint64_t)at + 16, at + 16, 4000, &result) != 0)
        abort();
    memcpy(at, result.jump, sizeof tiny);
    ((uint64_t(*)(uint64_t))at)(4000000000000);
    ok(timer(5)->total == 10000000000000, "setTimer: %lu ticks for 4,000 s",
       (unsigned long)timer(5)->total);
    p.tick_scale = 0;
    ok(emit_point(&p, (uint64_t)at + 16, at + 16, 4000, &result) < 0 && result.why[0],
       "setTimer without a scale: %s", result.why);
}

int main(void)
{
    memory = harness_memory(HARNESS_ROOM);
    data = harness_data();
    struct spec_action leave = {.primitive = SPEC_ADD_COUNTER, .variable = 1, .value = &positive};
    struct spec_action enter = {.primitive = SPEC_ADD_COUNTER, .variable = 0, .value = &one};
    function = probed(&enter, &leave);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, count, (void *)CALLS) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ok(sum(0) == (int64_t)THREADS * CALLS && sum(1) == sum(0), "%d threads: %ld entries and exits",
       THREADS, (long)sum(0));
    many();
    timers(false);
    timers(true);
    scaled();
    readers();
    ok(wrong == 0, "the function gives what it gave");
    return tap_done();
}
