/* SPDX-License-Identifier: MIT */
/* What keeping a path costs is learnt, and an estimate: one that is wrong does not stay so, and
 * virtual time never goes back. */
#include "lib/tap.h"

#include "runtime/hot.h"
#include "runtime/process.h"

static struct record_header header;
static struct plan plan = {.on = 1, .generation = 1, .items = 2};
static struct record_path record;
static struct path path;
static struct thread thread;

static void begin(void)
{
    loupe_process.writer.header = &header;
    path.record = &record;
    thread.path_kept = &path;
    thread.delay = &thread.own_delay;
    thread.look_at = UINT64_MAX; /* nobody takes its processor */
    thread.taken = thread.told = -1;
    path_start_at(&thread, &plan, (int64_t)clock_now());
}

static int64_t virtual_now(void)
{
    return (int64_t)clock_now() - (thread.own_delay >> RECORD_TIME_SHIFT);
}

/* Events that take no time, one after another. */
static void events(int count)
{
    for (int i = 0; i < count; i++) {
        path_wait(&thread, RECORD_PATH_NO_ITEM, clock_now(), thread.own_delay);
        path_go(&thread, 0, 0);
    }
}

/* Two parts take turns: whichever was measured at a bad moment, the next times tell. */
static void wrong_costs_are_unlearnt(void)
{
    enum { EVENTS = 64 * 1024 };
    const int64_t wrong = (int64_t)100000 << RECORD_TIME_SHIFT;
    events(LEARNT_FIRST);
    for (enum path_part part = PATH_WAITING; part <= PATH_GOING; part++)
        path.cost[part].cost = wrong;
    events(EVENTS);
    ok(path.cost[PATH_WAITING].cost < wrong / 10, "waiting is found to cost less: %lld",
       (long long)path.cost[PATH_WAITING].cost);
    ok(path.cost[PATH_GOING].cost < wrong / 10, "and so is going on: %lld",
       (long long)path.cost[PATH_GOING].cost);
}

/* The first time may have taken long for some reason of its own. */
static void the_least_of_the_first_counts(void)
{
    struct learnt l = {0, 0};
    int64_t charged = 0;
    for (int i = 0; i < LEARNT_FIRST; i++) {
        ok(learnt_due(&l), "the first ones are all measured");
        charged += learnt_now(&l, i == 0 ? 500000 : 100);
    }
    ok(l.cost == 100 << RECORD_TIME_SHIFT, "the least of them is what it costs");
    ok(charged == (int64_t)(500000 + 100 * (LEARNT_FIRST - 1)) << RECORD_TIME_SHIFT,
       "each is charged as it was");
    int64_t before = l.cost;
    learnt_due(&l);
    learnt_now(&l, LEARNT_TOO_LONG + 1);
    ok(l.cost == before, "what took so long was another's doing");
    learnt_now(&l, LEARNT_TOO_LONG);
    ok(l.cost <= before + before / 8, "and what took long pulls only a little");
}

static void time_never_goes_back(void)
{
    const int64_t much = (int64_t)1000000000 << RECORD_TIME_SHIFT; /* half a second */
    events(1);
    int64_t last = path.last;
    thread.own_delay += much;
    ok(virtual_now() < last, "so much cannot have been spent");
    uint64_t begin = clock_now();
    int64_t delay = path_wait(&thread, RECORD_PATH_NO_ITEM, begin, thread.own_delay);
    ok(path.begin >= last, "an event begins after the last one all the same");
    ok((int64_t)begin - (delay >> RECORD_TIME_SHIFT) == path.begin, "and its delay says so");
    path_go(&thread, 0, 0);
    ok(virtual_now() - last < 1000000000, "what comes then is not lost");
    last = path.last;
    path_enter(&thread, 1, last + 100);
    path_leave(&thread, 1, last + 50, 1, 0, 0);
    ok(record.item[1].share == 0 && path.last == last + 100, "nor is a visit ever below nothing");
}

int main(void)
{
    begin();
    wrong_costs_are_unlearnt();
    the_least_of_the_first_counts();
    time_never_goes_back();
    return tap_done();
}
