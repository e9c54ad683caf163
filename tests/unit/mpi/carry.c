/* SPDX-License-Identifier: MIT */
/* Paths beside messages: rank 1 tells, rank 0 meets; what was overwritten, and what is nonsense. */
#include "ranks.h"

#include "runtime/process.h"

enum { ITEMS = 3, GENERATION = 5 };

static struct thread thread;
static struct path path;
static struct record_path record;
static struct record_header header;
static const struct plan plan = {
    .on = 1, .generation = GENERATION, .count = 1, .ranges = {{.item = ITEMS - 1}}};

static void begin(int rank)
{
    header.rank = rank;
    loupe_process.writer.header = &header;
    path.record = &record;
    thread.path_kept = &path;
    thread.delay = &thread.own_delay;
    thread.look_at = UINT64_MAX; /* nobody takes its processor */
    loupe_tls.self = &thread;
    path_start_at(&thread, &plan, 0);
}

static void send_at(int64_t at)
{
    struct stream spare, *s = stream_to(COMM, 0, 1, &spare);
    path_wait(&thread, RECORD_PATH_NO_ITEM, (uint64_t)at, 0);
    stream_publish_path(&thread, s, (uint64_t)at, 0, 0, 8);
    path_go(&thread, 1, 0);
}

/* Takes the next header, and meets its path. */
static bool receive_at(int64_t at, struct header *h)
{
    struct stream spare, *s = stream_from(COMM, 1, 1, &spare);
    if (!stream_take(s, stream_post(s), 8, h) || !(h->statement & RING_PATH))
        return false;
    ring_meet_path(s->in, h, at);
    return true;
}

static int64_t share(uint32_t item, int64_t at)
{
    struct path_told told;
    path_tell(&thread, at, &told);
    return told.item[item].share;
}

/* ---- one snapshot for many messages, a new one when something has changed ---- */

static void tell_few(void)
{
    begin(1);
    path_enter(&thread, 1, 100);
    send_at(1000);
    common->result[0] = path.serial;
    send_at(2000);
    common->result[1] = path.serial;
    path_leave(&thread, 1, 2500, 1, 0, 0);
    send_at(3000);
    common->result[2] = path.serial;
    reach(1);
}

static void meet_few(void)
{
    struct header h;
    begin(0);
    await(1);
    common->result[3] = receive_at(10, &h) && path_length(&path, 10) == 1000 &&
                        share(1, 10) == 900 && record.adopted == 1;
    common->result[4] =
        receive_at(20, &h) && path_length(&path, 20) == 2000 && share(1, 20) == 1900;
    common->result[5] =
        receive_at(30, &h) && path_length(&path, 30) == 3000 && share(1, 30) == 2400;
    common->result[6] = record.mpi == 2 && !record.unknown;
}

/* ---- a path that goes back and forth as it is ---- */

enum { TURNS = 8, LATER = CARRY_SNAPSHOTS / 2 + 1 };

static void send_to(int rank, int64_t at)
{
    struct stream spare, *s = stream_to(COMM, rank, 1, &spare);
    path_wait(&thread, RECORD_PATH_NO_ITEM, (uint64_t)at, 0);
    stream_publish_path(&thread, s, (uint64_t)at, 0, 0, 8);
    path_go(&thread, 1, 0);
}

static bool receive_from(int rank, int64_t at)
{
    struct header h;
    struct stream spare, *s = stream_from(COMM, rank, 1, &spare);
    if (!stream_take(s, stream_post(s), 8, &h) || !(h.statement & RING_PATH))
        return false;
    ring_meet_path(s->in, &h, at);
    return true;
}

/* Rank 1 has an item, and then tells and is told by turns. */
static void serve(void)
{
    bool well = true;
    begin(1);
    path_enter(&thread, 1, 100);
    path_leave(&thread, 1, 600, 1, 0, 0);
    for (uint32_t i = 0; i < TURNS; i++) {
        send_to(0, 1000 + 100 * i);
        reach(2 * i + 1);
        await(2 * i + 2);
        well &= receive_from(0, 1050 + 100 * i) && share(1, 1050 + 100 * i) == 500;
    }
    common->result[0] = path.serial;
    common->result[1] = well && record.adopted == TURNS && record.met == TURNS;
    /* Half the ring later, the other tells of its own snapshot. */
    for (int i = 0; i < LATER; i++) {
        path_enter(&thread, 2, 5000 + i);
        path_leave(&thread, 2, 5000 + i, 1, 0, 0);
        send_to(0, 5000 + i);
    }
    reach(2 * TURNS + 1);
    await(2 * TURNS + 2);
    common->result[4] = receive_from(0, 6000) && share(1, 6000) == 500 && !record.unknown;
}

/* Each time the longer path is the one that comes. */
static void give_back(void)
{
    bool well = true;
    begin(0);
    for (uint32_t i = 0; i < TURNS; i++) {
        await(2 * i + 1);
        int64_t at = 10 + 420 * i;
        well &= receive_from(1, at) && share(1, at) == 500;
        send_to(1, at + 400);
        reach(2 * i + 2);
    }
    common->result[2] = path.serial;
    common->result[3] = well && record.adopted == TURNS && !record.unknown;
    await(2 * TURNS + 1);
    send_to(1, 20000);
    common->result[5] = path.serial;
    reach(2 * TURNS + 2);
}

/* ---- snapshots that were overwritten ---- */

static void tell_many(void)
{
    begin(1);
    for (int i = 1; i <= CARRY_SNAPSHOTS + 2; i++) {
        path_enter(&thread, 0, 10 * i);
        path_leave(&thread, 0, 10 * i, 1, 0, 0);
        send_at(10 * i);
    }
    reach(1);
}

static void meet_many(void)
{
    struct header h;
    bool all = true;
    begin(0);
    await(1);
    for (int i = 1; i <= CARRY_SNAPSHOTS + 2; i++)
        all &= receive_at(1, &h);
    common->result[0] = all;
    common->result[1] = record.unknown;
    common->result[2] = record.met;
    common->result[3] = path_length(&path, 1) == 10 * (CARRY_SNAPSHOTS + 2);
}

/* ---- a sender that has gone mad ---- */

static void tell_nonsense(void)
{
    begin(1);
    send_at(1000);
    struct snapshot *s = (struct snapshot *)path.told + path.serial % CARRY_SNAPSHOTS;
    struct path_told *told = &s->told;
    const struct path_told good = *told;
    reach(1);
    for (uint32_t step = 2; step <= 14; step += 2) {
        await(step);
        *told = good;
        told->items = step == 2 ? RECORD_PATH_ITEMS + 1 : step == 4 ? UINT32_MAX : ITEMS;
        told->generation = step == 6 ? GENERATION - 1 : GENERATION;
        told->strip_shift = step == 8 ? 64 : 16;
        told->touched = step == 10 ? 1u << ITEMS : path_items(ITEMS);
        s->serial = step == 12 ? 0 : path.serial;
        if (step == 14)
            memset(told->item, 0x80, sizeof told->item);
        reach(step + 1);
    }
}

static void meet_nonsense(void)
{
    struct header h;
    struct stream spare, *s = stream_from(COMM, 1, 1, &spare);
    begin(0);
    await(1);
    stream_take(s, stream_post(s), 8, &h);
    for (uint32_t step = 2; step <= 14; step += 2) {
        reach(step);
        await(step + 1);
        ring_meet_path(s->in, &h, 10);
        if (step == 12)
            common->result[0] = path_length(&path, 10) == 10 && !record.adopted && !record.met;
    }
    common->result[1] = path_length(&path, 10) == 1000 && record.adopted == 1;
    h.number++; /* a slot that holds another */
    uint64_t unknown = record.unknown;
    ring_meet_path(s->in, &h, 20);
    common->result[2] = record.unknown == unknown + 1;
}

/* ---- a snapshot that is written all the time is read whole, or not at all ---- */

enum { TORN = 20000, PAUSE = 600, WAIT = 64 };

static void tell_torn(void)
{
    begin(1);
    for (int64_t i = 1; i <= TORN; i++) {
        for (int k = 0; k < ITEMS; k++)
            record.item[k].share = i;
        record.mpi = 0;
        path.touched = path_items(ITEMS);
        path.change++;
        path.serial += CARRY_SNAPSHOTS - 1; /* always the same place */
        send_at(1000000 + i);
        __atomic_store_n(&common->result[2], (uint64_t)i, __ATOMIC_RELEASE);
        for (volatile int k = 0; k < i % PAUSE; k++)
            continue;
        while (i % WAIT == 0 && __atomic_load_n(&common->result[3], __ATOMIC_ACQUIRE) < (uint64_t)i)
            sched_yield(); /* so that some are read in time */
        if (i == 1)
            reach(1);
    }
    reach(2);
}

static void meet_torn(void)
{
    uint64_t torn = 0, taken = 0;
    struct header h;
    begin(0);
    await(1);
    while (taken < TORN) {
        while (__atomic_load_n(&common->result[2], __ATOMIC_ACQUIRE) == taken)
            sched_yield();
        bool there = receive_at(1, &h);
        __atomic_store_n(&common->result[3], ++taken, __ATOMIC_RELEASE);
        if (!there)
            continue;
        for (int k = 1; k < ITEMS; k++)
            torn += record.item[k].share != record.item[0].share;
    }
    common->result[0] = torn;
    common->result[1] = record.met;
}

int main(void)
{
    common_open();
    const uint64_t *r = common->result;
    ok(run_ranks(meet_few, tell_few) && r[0] == r[1] && r[2] == r[1] + 1,
       "a path that only grows needs no new snapshot");
    ok(r[3] && r[4] && r[5] && r[6], "it is met as it was at each send");
    bool turns = run_ranks(give_back, serve);
    ok(turns && r[1] && r[3], "a path goes back and forth (%llu, %llu)", (unsigned long long)r[1],
       (unsigned long long)r[3]);
    ok(r[0] == 1 && r[2] == 0, "and one snapshot is enough for that (%llu, %llu)",
       (unsigned long long)r[0], (unsigned long long)r[2]);
    ok(r[4] && r[5] == 1, "but not for ever");
    ok(run_ranks(meet_many, tell_many) && r[0] && r[1] == 2 && r[2] == CARRY_SNAPSHOTS && r[3],
       "those that were overwritten are unknown, the others met");
    ok(run_ranks(meet_nonsense, tell_nonsense) && r[0], "what is no path is not met");
    ok(r[1], "nonsense in the items hurts nobody");
    ok(r[2], "nor does a slot of another message");
    bool well = run_ranks(meet_torn, tell_torn);
    ok(well && !r[0] && r[1] > 100, "none is read in halves (%llu met)", (unsigned long long)r[1]);
    common_close();
    return tap_done();
}
