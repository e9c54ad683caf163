/* SPDX-License-Identifier: MIT */
/* Posts that are timed in bursts (runtime/post.h), with a clock of the test's own. */
#include "runtime/post.h"

#include "lib/tap.h"
#include "record/reader.h"
#include "runtime/process.h"

#include <math.h>
#include <string.h>

enum { POSTS = 1 << 20, COST = 60 };

static struct record_header header;
static struct record_thread block;
static struct record_statement statement;
static struct record_peer peer;
static struct thread thread;
static struct site site;
static uint64_t now, truth;

static void start(uint32_t budget)
{
    memset(&statement, 0, sizeof statement);
    memset(&peer, 0, sizeof peer);
    memset(&thread, 0, sizeof thread);
    memset(&site, 0, sizeof site);
    statement.min = UINT64_MAX;
    loupe_process.writer.header = &header;
    header.control.budget = budget;
    thread.delay = &thread.own_delay;
    thread.block = &block;
    thread.taken = -1;
    thread.short_cost = (struct event_cost){COST << RECORD_TIME_SHIFT, 0, 0};
    thread.post_cost = 10 << RECORD_TIME_SHIFT;
    thread.look_at = UINT64_MAX;
    site.thread = &thread;
    site.record = &statement;
    now = 1 << 20;
    truth = 0;
}

/* As a wrapper does it: a post that takes `ticks`, and `between` until the next. */
static void post(uint64_t ticks, uint64_t between)
{
    struct ending e = {.record = &statement, .thread = &thread, .begin = now};
    if (post_counted(&thread, &site)) {
        post_open(&e, &thread, &site, &e);
        post_count(&e, &site);
        peer_add(&peer, 8, e.ticks);
    } else {
        statement_open(&statement);
        e.now = now + ticks;
        event_settle_short(&e);
        post_settled(&e, &site, &peer);
        peer_add(&peer, 8, e.ticks);
    }
    event_shut(&e);
    truth += ticks;
    now += ticks + between;
}

/* Not in step with blocks, and with two phases. */
static uint64_t length(int i)
{
    return 100 + (uint64_t)i * 7919 % 101 + (i > POSTS / 2 ? 150 : 0);
}

static void all(uint32_t budget, uint64_t between)
{
    start(budget);
    for (int i = 0; i < POSTS; i++)
        post(length(i), between);
}

static double off(uint64_t time)
{
    return fabs((double)(int64_t)(time - truth)) / (double)truth;
}

static void test_hot(void)
{
    all(RECORD_BUDGET_DEFAULT, 50);
    double error = record_estimate_error(&statement);
    ok(statement.count == POSTS && peer.count == POSTS, "every post is counted");
    ok(statement.estimated > POSTS / 2 && statement.estimated < POSTS, "most are not timed: %lu",
       (unsigned long)statement.estimated);
    ok(off(statement.time) < 0.02, "those that are stand for all, %.2f%% off",
       100 * off(statement.time));
    ok(statement.real == statement.time && peer.time == statement.time &&
           thread.talked == statement.time,
       "in real time and at the peer too");
    ok(error > 0 && fabs((double)statement.time - (double)truth) < 3 * error,
       "within the interval: %.0f of %.0f", fabs((double)statement.time - (double)truth), error);
    ok(statement.min == 100 && statement.max <= 350, "the shortest is known");
    uint64_t timed = POSTS - statement.estimated;
    ok((uint64_t)(thread.own_delay >> RECORD_TIME_SHIFT) == timed * COST + statement.estimated * 10,
       "each has cost what it costs");
}

static void test_exact(void)
{
    all(RECORD_BUDGET_OFF, 50);
    ok(!statement.estimated && statement.time == truth, "all are timed without a budget");
    all(RECORD_BUDGET_DEFAULT, 5000);
    ok(!statement.estimated && statement.time == truth, "and where they are rare");
    start(RECORD_BUDGET_DEFAULT);
    thread.watched = 1;
    for (int i = 0; i < POSTS; i++)
        post(length(i), 50);
    ok(!statement.estimated && statement.time == truth, "and where somebody needs them all");
}

/* Somebody comes to need them in the midst of a stratum, and goes again. */
static void test_watched(void)
{
    start(RECORD_BUDGET_DEFAULT);
    for (int i = 0; i < POSTS; i++) {
        thread.watched = i / 20011 % 2;
        post(length(i), 50);
    }
    ok(statement.count == POSTS && statement.estimated > POSTS / 8, "timed now and then");
    ok(off(statement.time) < 0.02, "nothing is taken twice, %.2f%% off", 100 * off(statement.time));
}

/* Fast for a while, then rare: the last stratum ends as it began. */
static void test_cools(void)
{
    start(RECORD_BUDGET_DEFAULT);
    for (int i = 0; i < POSTS; i++)
        post(length(i), i < POSTS / 4 ? 50 : 20000);
    uint64_t estimated = statement.estimated;
    ok(estimated && estimated < POSTS / 4 + 1024, "rare ones are timed again: %lu",
       (unsigned long)estimated);
    ok(off(statement.time) < 0.02, "and the time is right, %.2f%% off", 100 * off(statement.time));
}

int main(void)
{
    test_hot();
    test_exact();
    test_watched();
    test_cools();
    return tap_done();
}
