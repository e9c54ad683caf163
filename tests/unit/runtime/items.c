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

#include <time.h>

void loupe_runtime_begin(const char *name);
void loupe_runtime_end(const char *name);

static volatile uint64_t sink;
static int dir;
static struct plan *shared;

/* A chain of multiplications, some 1.3 ns each: as long wherever it stands. (To count in memory
 * takes half as long again in one place as in another.) */
static void spin(int turns)
{
    uint64_t x = sink;
    for (int i = 0; i < turns; i++)
        x = x * 6364136223846793005u + 1;
    sink = x;
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
        call_work(8000);
    uint64_t then = timed_calls() - first;
    ok(then >= 4980 && then <= 5000, "every visit of an item with a name is timed: %lu of 5000",
       (unsigned long)then);
    bool begun = read_path() && path.generation == 1 && path.items == 3;
    ok(begun && path.item[0].share > 0, "the path has begun: %lld of %lld",
       (long long)path.item[0].share, (long long)path.length);
}

static uint64_t in_work, in_loop, in_part, in_all;

/* Of the processor's time: what others have of it meanwhile is on no path. */
static uint64_t own_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void phase(void)
{
    uint64_t began = own_ns();
    in_work = 0;
    {
        LOUPE_LOOP(LOOP)
        for (int i = 0; i < 50; i++) {
            uint64_t entered = own_ns();
            call_work(80000);
            in_work += own_ns() - entered;
            spin(40000);
        }
    }
    in_loop = own_ns() - began;
    began = own_ns();
    loupe_runtime_begin("part");
    spin(3000000);
    loupe_runtime_end("part");
    in_part = own_ns() - began;
}

static bool near(double value, uint64_t ns)
{
    double truth = (double)ns / (double)in_all;
    return value > truth - 0.03 && value < truth + 0.03;
}

/* Whether this thread had the processor all the time since. */
static bool undisturbed(const struct timespec since[2])
{
    struct timespec real, own;
    clock_gettime(CLOCK_MONOTONIC, &real);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    double passed =
        (double)(real.tv_sec - since[0].tv_sec) * 1e9 + (double)(real.tv_nsec - since[0].tv_nsec);
    double used =
        (double)(own.tv_sec - since[1].tv_sec) * 1e9 + (double)(own.tv_nsec - since[1].tv_nsec);
    return used > 0.97 * passed;
}

/* When in the time between two looks the processor was lost is not known: only a try without others
 * counts. */
static void test_shares(void)
{
    enum { TRIES = 60, CALM = 5 };
    bool good[4] = {false}, all = false, anew = true;
    int calm = 0;
    for (int i = 0; i < TRIES && !all && calm < CALM; i++) {
        struct plan p = named();
        struct timespec since[2];
        set(&p);
        clock_gettime(CLOCK_MONOTONIC, &since[0]);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &since[1]);
        uint64_t began = own_ns();
        phase();
        spin(3000000);
        in_all = own_ns() - began;
        anew &= read_path() && path.generation == shared->generation;
        if (!undisturbed(since))
            continue;
        calm++;
        good[0] = near(share(0), in_work);
        good[1] = near(share(1), in_loop);
        good[2] = near(exclusive(1), in_loop - in_work);
        good[3] = near(share(2), in_part);
        all = good[0] && good[1] && good[2] && good[3];
        printf("# procedure %.3f, loop %.3f (own %.3f), region %.3f\n", share(0), share(1),
               exclusive(1), share(2));
    }
    const char *skip = all || calm == CALM ? "" : " # SKIP others have the processor all the time";
    ok(anew, "another generation begins anew");
    ok(good[0] || *skip, "the procedure's share%s", skip);
    ok(good[1] || *skip, "the loop's, with it%s", skip);
    ok(good[2] || *skip, "and without%s", skip);
    ok(good[3] || *skip, "the region's%s", skip);
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
    ok(share(0) > 0.05, "what is called then from its entry");
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

static void visit_often(int visits, int turns)
{
    for (int i = 0; i < visits; i++) {
        call_work(turns);
        spin(turns);
    }
}

/* The share of the first item, of a path that begins now; false: others had the processor. */
static bool calm_share(const struct plan *plan, int visits, int turns, double *found)
{
    struct timespec since[2];
    set(plan);
    clock_gettime(CLOCK_MONOTONIC, &since[0]);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &since[1]);
    visit_often(visits, turns);
    if (!undisturbed(since) || !read_path())
        return false;
    *found = share(0);
    printf("# share %.3f\n", *found);
    return true;
}

/* A bucket of everything, in bursts: as much in the procedure as outside. Bursts do not see who
 * else takes the processor, so only a try without others counts. */
static void test_bucket(void)
{
    struct plan p = {.on = 1, .searching = 1, .items = 1, .count = 1};
    p.ranges[0] = (struct plan_range){0, UINT64_MAX, 0, 0};
    visit_often(100000, 200); /* until it is sampled */
    bool within = false;
    uint64_t before = timed_calls();
    int tries = 0, calm = 0;
    for (; tries < 20 && !within; tries++) {
        double found;
        if (!calm_share(&p, 100000, 200, &found))
            continue;
        calm++;
        within = found > 0.45 && found < 0.55;
    }
    uint64_t timed = timed_calls() - before;
    ok(timed < (uint64_t)tries * 50000, "a bucket follows the budget: %lu of %d",
       (unsigned long)timed, tries * 100000);
    ok(within || calm < 5, "its share is that of all visits%s",
       within ? "" : " # SKIP others have the processor all the time");
    p.searching = 1;
    set(&p);
    LOUPE_LOOP(LOOP)
    spin(3000000);
    loupe_runtime_begin("part");
    spin(3000000);
    loupe_runtime_end("part");
    ok(read_path() && path.item[0].share == 0, "it holds neither loops nor regions");
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Short visits of an item with a name are not all timed, but all are on the path. As much in the
 * procedure as outside. */
static void test_short_named(int turns, double off)
{
    enum { TRIES = 20, CALM = 5, VISITS = 300000 };
    struct plan p = named();
    double shares[CALM];
    int calm = 0;
    uint64_t timed = 0;
    for (int i = 0; i < TRIES && calm < CALM; i++) {
        uint64_t before = timed_calls();
        if (!calm_share(&p, VISITS, turns, &shares[calm]))
            continue;
        timed += timed_calls() - before;
        calm++;
    }
    qsort(shares, (size_t)calm, sizeof *shares, by_size);
    double share = calm ? shares[calm / 2] : 0;
    const char *skip = calm < CALM ? " # SKIP others have the processor" : "";
    ok(timed < (uint64_t)CALM * VISITS / 2 || *skip,
       "%d turns: most visits of an item are only counted%s", turns, skip);
    ok((share > 0.5 - off && share < 0.5 + off) || *skip, "and its share is that of all: %.3f%s",
       share, skip);
}

/* Of visits of 20 ns each thousandth takes 0.1 ms: those have five sixths of the time, and few of
 * them are timed. */
static void test_rare_long(void)
{
    enum { TRIES = 10, CALM = 3, EACH = 1000, TIMES = 2000 };
    struct plan p = named();
    double shares[CALM];
    int calm = 0;
    for (int i = 0; i < TRIES && calm < CALM; i++) {
        struct timespec since[2];
        set(&p);
        clock_gettime(CLOCK_MONOTONIC, &since[0]);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &since[1]);
        for (int k = 0; k < TIMES; k++) {
            visit_often(EACH - 1, 16);
            call_work(80000);
        }
        if (undisturbed(since) && read_path())
            shares[calm++] = share(0);
    }
    qsort(shares, (size_t)calm, sizeof *shares, by_size);
    double share = calm ? shares[calm / 2] : 0;
    const char *skip = calm < CALM ? " # SKIP others have the processor" : "";
    ok(share > 0.4 || *skip, "long visits among many short ones are not lost: %.3f%s", share, skip);
}

/* Under one plan visits of 20 ns become long. Before that is seen, some are only
 * counted. */
static void test_becomes_long(void)
{
    struct plan p = named();
    set(&p);
    visit_often(400000, 16);
    for (int i = 0; i < 1600; i++)
        call_work(80000);
    uint64_t before = timed_calls();
    for (int i = 0; i < 100; i++)
        call_work(80000);
    ok(timed_calls() - before == 100, "short visits that become long are timed: %lu of 100",
       (unsigned long)(timed_calls() - before));
}

/* The same with visits of some 20 ns, no longer than what lies between the readings of the clock
 * and is not theirs. */
static void test_short_visits(void)
{
    enum { TRIES = 20, CALM = 7 };
    struct plan p = {.on = 1, .searching = 1, .items = 1, .count = 1};
    p.ranges[0] = (struct plan_range){0, UINT64_MAX, 0, 0};
    double shares[CALM];
    int calm = 0;
    visit_often(400000, 16);
    for (int i = 0; i < TRIES && calm < CALM; i++)
        calm += calm_share(&p, 400000, 16, &shares[calm]);
    qsort(shares, (size_t)calm, sizeof *shares, by_size);
    /* what others take of the processor makes the shares of some greater, never less */
    double low = calm ? shares[calm / 4] : 0;
    ok(calm < CALM || low > 0.4, "visits of some nanoseconds do not lose theirs: %.3f%s", low,
       calm < CALM ? " # SKIP others have the processor" : "");
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *job = getenv(PLACE_ENV_JOB_DIR);
    if (!job)
        return probing_start(argv, "budget=2%");
    dir = open(job, O_RDONLY | O_DIRECTORY);
    if (dir < 0 || plan_make(dir) || !(shared = plan_open(dir)))
        return 1;
    test_always();
    test_shares();
    test_open();
    test_off();
    test_bucket();
    test_short_visits();
    test_short_named(16, 0.25); /* up to 7 of 20 ns were seen */
    test_short_named(200, 0.05);
    test_rare_long();
    test_becomes_long();
    return tap_done();
}
