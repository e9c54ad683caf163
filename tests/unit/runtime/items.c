/* SPDX-License-Identifier: MIT */
/* Items of the critical path among probes and regions, as the plan says while the program runs. */
#define LOUPE_UNIT_ID    0x5001
#define LOUPE_UNIT_SITES 4
enum { KEY_WORK = 41 };
enum { WORK = 1, CALL = 2, LOOP = 3 };
#define LOUPE_UNIT_TABLE                                                                           \
    0, LOUPE_SITE(LOUPE_SITE_PROCEDURE, KEY_WORK), LOUPE_SITE(LOUPE_SITE_CALL, KEY_WORK),          \
        LOUPE_SITE(LOUPE_SITE_LOOP, 0)
#include <loupe-probe.h>

#include "probing.h"

#include "record/plan.h"
#include "runtime/clock.h"
#include "runtime/item.h"

void loupe_runtime_begin(const char *name);
void loupe_runtime_end(const char *name);

static volatile uint64_t sink;
static int dir;
static struct plan *shared;

static void spin(int turns)
{
    for (int i = 0; i < turns; i++)
        sink++;
}

__attribute__((noinline)) static void work(int turns)
{
    LOUPE_PROCEDURE(WORK)
    spin(turns);
}

static void call_work(int turns)
{
    LOUPE_CALL(CALL);
    work(turns);
}

static struct record_path_reading path;

static void take_path(void *data, uint32_t block, const struct record_path_reading *p)
{
    (void)data;
    (void)block;
    path = *p;
}

static bool read_path(void)
{
    const struct record_visitor visitor = {.running = true, .path = take_path};
    struct record_reader *reader;
    memset(&path, 0, sizeof path);
    if (record_open(dir, -1, loupe_process.writer.name, &reader))
        return false;
    record_visit(reader, record_now(reader), &visitor);
    record_close(reader);
    return path.generation != 0;
}

static double share(uint32_t item)
{
    return path.length > 0 ? (double)path.item[item].share / (double)path.length : 0;
}

static double exclusive(uint32_t item)
{
    return path.length > 0 ? (double)path.item[item].exclusive / (double)path.length : 0;
}

static void set(const struct plan *plan)
{
    plan_change(shared, plan);
    item_tell(&loupe_process.writer.header->control);
}

static int by_from(const void *a, const void *b)
{
    const struct plan_range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Item 0: the procedure; 1: the loop; 2: the region. */
static struct plan named(void)
{
    struct plan p = {.on = 1, .items = 3, .count = 3};
    const uint64_t keys[] = {plan_procedure(KEY_WORK), plan_site(LOUPE_UNIT_ID, LOOP),
                             plan_region(plan_name("part"))};
    for (uint32_t i = 0; i < 3; i++)
        p.ranges[i] = (struct plan_range){keys[i], keys[i], i, 0};
    qsort(p.ranges, 3, sizeof *p.ranges, by_from);
    return p;
}

static uint64_t timed_calls(void)
{
    return reading_of(read_back(), LOUPE_UNIT_ID, CALL, false).timed;
}

/* Many short visits, so that they are not all timed any more. */
static void test_always(void)
{
    for (int i = 0; i < 300000; i++)
        call_work(5);
    struct record_probe_reading before = reading_of(read_back(), LOUPE_UNIT_ID, CALL, false);
    ok(before.count == 300000 && before.timed < before.count / 2, "most visits are only counted");
    ok(!read_path(), "there is no path before the plan says so");
    struct plan p = named();
    set(&p);
    loupe_runtime_begin("other"); /* an event sees the control word for certain */
    loupe_runtime_end("other");
    uint64_t first = timed_calls();
    for (int i = 0; i < 5000; i++)
        call_work(5);
    uint64_t then = timed_calls() - first;
    ok(then >= 4980 && then <= 5000, "every visit of an item with a name is timed: %lu of 5000",
       (unsigned long)then);
    ok(read_path() && path.generation == 1 && path.items == 3 && share(0) > 0,
       "the path has begun");
}

static void phase(void)
{
    {
        LOUPE_LOOP(LOOP)
        for (int i = 0; i < 50; i++) {
            call_work(200000);
            spin(100000);
        }
    }
    loupe_runtime_begin("part");
    spin(7500000);
    loupe_runtime_end("part");
}

static bool within(double least, double value, double most)
{
    return value > least && value < most;
}

/* 10 of the procedure, 5 more in the loop, 7.5 in the region, 7.5 outside. Who else is on the
 * machine may take the processor in the middle: so, several tries. */
static void test_shares(void)
{
    bool procedure = false, loop = false, own = false, region = false, anew = true;
    for (int i = 0; i < 8 && !(procedure && loop && own && region); i++) {
        struct plan p = named();
        set(&p);
        phase();
        spin(7500000);
        anew &= read_path() && path.generation == shared->generation;
        procedure = within(0.28, share(0), 0.39);
        loop = within(0.44, share(1), 0.56);
        own = within(0.12, exclusive(1), 0.21);
        region = within(0.19, share(2), 0.31);
        printf("# procedure %.3f, loop %.3f (own %.3f), region %.3f\n", share(0), share(1),
               exclusive(1), share(2));
    }
    ok(anew, "another generation begins anew");
    ok(procedure, "the procedure has a third");
    ok(loop, "the loop with it a half");
    ok(own, "without it a sixth");
    ok(region, "the region a quarter");
}

static void test_open(void)
{
    struct plan p = named();
    LOUPE_LOOP(LOOP)
    spin(3000000);
    loupe_runtime_begin("part");
    set(&p);
    call_work(3000000);
    loupe_runtime_begin("other");
    loupe_runtime_end("other");
    ok(read_path() && path.generation == shared->generation && share(1) > 0.99 && share(2) > 0.99,
       "what is open at the start counts from there");
    ok(share(0) > 0.5, "what is called then from its entry");
    ok(exclusive(1) < 0.01, "of two that are open the inner one has the time");
    loupe_runtime_end("part");
}

static void test_off(void)
{
    struct plan p = {.on = 0};
    set(&p);
    call_work(10);
    loupe_runtime_begin("other");
    loupe_runtime_end("other");
    ok(read_path() && path.ended && path.generation + 1 == shared->generation,
       "off: the path that was stays as it was");
    int64_t length = path.length;
    call_work(300000);
    ok(read_path() && path.length == length, "and grows no more");
}

/* A bucket of everything, in bursts: as much in the procedure as outside. */
static void test_bucket(void)
{
    struct plan p = {.on = 1, .searching = 1, .items = 1, .count = 1};
    p.ranges[0] = (struct plan_range){0, UINT64_MAX, 0, 0};
    for (int i = 0; i < 200000; i++) { /* until it is sampled */
        call_work(60);
        spin(60);
    }
    set(&p);
    uint64_t before = timed_calls();
    for (int i = 0; i < 600000; i++) {
        call_work(60);
        spin(60);
    }
    uint64_t timed = timed_calls() - before;
    read_path();
    printf("# %lu of 600000 timed, share %.3f\n", (unsigned long)timed, share(0));
    ok(timed < 300000, "a bucket follows the budget");
    ok(share(0) > 0.3 && share(0) < 0.7, "its share is that of all visits");
    p.searching = 1;
    set(&p);
    LOUPE_LOOP(LOOP)
    spin(3000000);
    loupe_runtime_begin("part");
    spin(3000000);
    loupe_runtime_end("part");
    ok(read_path() && path.item[0].share == 0, "it holds neither loops nor regions");
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=2%");
    dir = open(getenv(PLACE_ENV_JOB_DIR), O_RDONLY | O_DIRECTORY);
    if (dir < 0 || plan_make(dir) || !(shared = plan_open(dir)))
        return 1;
    test_always();
    test_shares();
    test_open();
    test_off();
    test_bucket();
    return tap_done();
}
