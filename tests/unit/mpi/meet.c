/* SPDX-License-Identifier: MIT */
/* Slots of collectives: processes that share memory, and what can be wrong with what is found. */
#include "mpi/meet.h"

#include "lib/tap.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, ELSEWHERE = 3, ROUNDS = 20000, NOW = 1000000000 };

struct shared {
    struct meet_area areas[RANKS];
    uint64_t arrived[RANKS]; /* how many rounds each has entered: the collective itself */
    uint32_t stop;
};
static struct shared *shared;
static int32_t self;
static bool elsewhere; /* rank 3 is on another node */

struct meet_area *meet_area_own(void)
{
    return &shared->areas[self];
}

const struct meet_area *meet_area_of(int32_t world)
{
    return world < RANKS && !(elsewhere && world == ELSEWHERE) ? &shared->areas[world] : NULL;
}

static struct meet *comm(uint64_t id, int32_t count)
{
    struct meet *m = meet_new(id, NULL, count, self);
    if (!m)
        abort();
    return m;
}

/* As another rank would: its own ring, in its own area. */
static void write_as(int32_t rank, uint64_t id, uint64_t number, uint64_t begin, int64_t delay)
{
    struct meet_area *area = &shared->areas[rank];
    uint32_t ring = 0;
    while (area->ids[ring] && area->ids[ring] != id)
        ring++;
    area->ids[ring] = id;
    area->slots[ring][meet_at(number)] =
        (struct meet_slot){.key = meet_key(id, number), .begin = begin, .delay = delay};
}

static void fresh(void)
{
    memset(shared, 0, sizeof *shared);
    self = 0;
    elsewhere = false;
}

static void write_own(struct meet *m, uint64_t number, uint64_t begin, int64_t delay)
{
    meet_take_ring(m);
    meet_write(m, number, begin, delay, (uint32_t)number);
}

static struct meeting begin_at(uint64_t at, int64_t delay)
{
    return meeting_begin((int64_t)at, delay);
}

static void test_all_there(void)
{
    fresh();
    struct meet *m = comm(77, RANKS);
    write_own(m, 1, 100, 10);
    write_as(1, 77, 1, 150, 0);
    write_as(2, 77, 1, 180, 70); /* the last in real time, not in virtual time */
    write_as(3, 77, 1, 90, 0);
    struct meeting met = begin_at(100, 10);
    ok(meet_join_all(m, 1, NOW, &met), "all members are found");
    ok(met.last == 1 && meeting_wait(&met) == 60, "the last in virtual time is rank 1");
    ok(meeting_delay(&met) == 30, "the delay is the last real less the last virtual moment");
    met = begin_at(100, 10);
    ok(!meet_join_all(m, 2, NOW, &met) && met.last == MEETING_SELF, "of the next none is there");
    meet_free(m);
}

static void test_member_elsewhere(void)
{
    fresh();
    elsewhere = true;
    struct meet *m = comm(77, RANKS);
    write_own(m, 1, 100, 0);
    write_as(1, 77, 1, 150, 0);
    write_as(2, 77, 1, 120, 0);
    write_as(3, 77, 1, 190, 0); /* in a board that is not to be seen */
    struct meeting met = begin_at(100, 0);
    ok(!meet_join_all(m, 1, NOW, &met), "a member without a board: not all are known");
    ok(met.last == 1 && meeting_wait(&met) == 50, "the others are");
    meet_free(m);
}

static void test_member_unmonitored(void)
{
    fresh();
    struct meet *m = comm(77, 2);
    struct meeting met;
    uint64_t number = 1, found = 0;
    for (; number <= 3000; number++) {
        met = begin_at(number, 0);
        found += meet_join_all(m, number, NOW, &met);
    }
    ok(!found, "a member that never writes is never there");
    for (; !found && number < 10000; number++) {
        write_as(1, 77, number, number + 5, 0);
        met = begin_at(number, 0);
        found = meet_join_all(m, number, NOW, &met) ? number : 0;
    }
    ok(found && found < 3000 + 1100, "once it writes it is found again, at %d", (int)found);
    meet_free(m);
}

static void test_run_ahead(void)
{
    fresh();
    struct meet *m = comm(77, 2);
    for (uint64_t number = 1; number <= MEET_SLOTS + 3; number++)
        write_as(1, 77, number, 1000 + number, 0);
    struct meet_slot seen;
    bool gone = true, there = true;
    for (uint64_t number = 1; number <= MEET_SLOTS + 3; number++) {
        bool is = meet_see(m, 1, number, NOW, &seen);
        if (number <= 3)
            gone = gone && !is;
        else
            there = there && is && seen.begin == 1000 + number;
    }
    ok(gone, "what was overwritten is missing");
    ok(there, "the last %d are there", MEET_SLOTS);
    meet_free(m);
}

static void test_hostile(void)
{
    static const struct {
        uint64_t begin;
        int64_t delay;
    } bad[] = {{NOW + 1, 0},     {UINT64_MAX, 0},  {100, NOW + 1},          {100, -NOW - 1},
               {100, INT64_MIN}, {100, INT64_MAX}, {UINT64_MAX, INT64_MIN}, {(uint64_t)1 << 63, 0}};
    fresh();
    struct meet *m = comm(77, 2);
    int taken = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct meeting met = begin_at(50, 0);
        write_as(1, 77, 1, bad[i].begin, bad[i].delay);
        taken += meet_join_all(m, 1, NOW, &met) || met.last != MEETING_SELF;
    }
    ok(!taken, "moments and delays that cannot be are not taken");
    memset(&shared->areas[1], 0xff, sizeof shared->areas[1]);
    struct meeting met = begin_at(50, 0);
    ok(!meet_join_all(m, 2, NOW, &met), "nor is rubbish");
    for (uint32_t i = 0; i < MEET_RINGS; i++)
        shared->areas[1].ids[i] = 77;
    ok(!meet_join_all(m, 1024, NOW, &met), "nor rubbish under the communicator's name");
    meet_free(m);
}

static void test_rings(void)
{
    struct meet *m[MEET_RINGS + 1];
    fresh();
    for (uint32_t i = 0; i <= MEET_RINGS; i++)
        m[i] = comm(100 + i, 2);
    for (uint32_t i = 0; i < MEET_RINGS; i++)
        write_own(m[i], 1, 10 + i, 0);
    meet_open(true);
    write_own(m[MEET_RINGS], 1, 5, 0);
    ok(!m[MEET_RINGS]->own, "several threads: no ring is taken away");
    meet_open(false);
    for (uint32_t i = 0; i < MEET_RINGS; i++)
        m[i]->last_seen = i != 9 ? 0 : 1; /* all but this one were used since */
    write_own(m[MEET_RINGS], 1, 5, 0);
    ok(m[MEET_RINGS]->own && !m[9]->own, "else that of an idle communicator is");
    struct meet *reader = comm(109, 2); /* as rank 1 would see it */
    reader->me = 1;
    struct meet_slot seen;
    ok(!meet_see(reader, 0, 1, NOW, &seen), "which is then not to be seen");
    write_own(m[9], 2, 42, 0);
    ok(m[9]->own && meet_see(reader, 0, 2, NOW, &seen) && seen.begin == 42,
       "until it takes another");
    struct meet_slot *own = m[9]->own;
    meet_free(m[9]);
    ok(meet_see(reader, 0, 2, NOW, &seen), "what was written is there after it is freed");
    struct meet *next = comm(500, 2);
    write_own(next, 2, 43, 0);
    ok(next->own == own, "a freed ring is used again");
    ok(!meet_see(reader, 0, 2, NOW, &seen), "and what it held before is not mistaken");
    for (uint32_t i = 0; i <= MEET_RINGS; i++)
        if (i != 9)
            meet_free(m[i]);
    meet_free(next);
    meet_free(reader);
    uint32_t held = 0;
    for (uint32_t i = 0; i < MEET_RINGS; i++)
        held += shared->areas[0].ids[i] != 0;
    ok(!held, "all rings are given back");
}

static void test_held_up(void)
{
    fresh();
    struct meet *m = comm(77, RANKS);
    uint32_t least = 0;
    write_own(m, 1, 1000, 0);
    ok(!meet_held_up(m, 1, 1000, 1100, &least) && least == 100, "alone: nobody held it up");
    write_as(2, 77, 2, 5000, 0);
    ok(!meet_held_up(m, 2, 2000, 2150, &least), "not much longer than usual: nor here");
    ok(meet_held_up(m, 2, 2000, 5100, &least), "longer, and rank 2 came just before the end");
    write_as(2, 77, 3, 900, 0);
    ok(!meet_held_up(m, 3, 2000, 5100, &least), "longer, but all were there before");
    ok(least == 100, "the least is kept");
    for (uint64_t number = 4; number < 40; number++)
        meet_held_up(m, number, 2000, 5100, &least);
    write_as(1, 77, 41, 900, 0);
    struct meet_slot seen;
    ok(meet_see(m, 1, 41, NOW, &seen), "who was not needed and not there is seen when it comes");
    elsewhere = true;
    ok(meet_held_up(m, 3, 2000, 5100, &least), "longer, and one is elsewhere: perhaps");
    meet_free(m);
}

/* The collective: nobody leaves a round before all have entered it. */
static void everyone(uint64_t round)
{
    __atomic_store_n(&shared->arrived[self], round, __ATOMIC_RELEASE);
    for (int i = 0; i < RANKS; i++)
        while (__atomic_load_n(&shared->arrived[i], __ATOMIC_ACQUIRE) < round)
            sched_yield();
}

static int rank_runs(void)
{
    struct meet *m = comm(77, RANKS);
    int wrong = 0;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        int32_t last = (int32_t)(round * 7 % RANKS);
        uint64_t begin = round * 1000 + (self == last ? 500 : (uint64_t)self);
        write_own(m, round, begin, self);
        struct meeting met = begin_at(begin, self);
        everyone(round);
        wrong += !meet_join_all(m, round, NOW, &met) ||
                 met.last != (self == last ? MEETING_SELF : last) ||
                 met.real != (int64_t)(round * 1000 + 500);
    }
    return wrong;
}

static void test_processes(void)
{
    fresh();
    pid_t child[RANKS];
    for (int i = 0; i < RANKS; i++) {
        child[i] = fork();
        if (!child[i]) {
            self = i;
            _exit(rank_runs() ? 1 : 0);
        }
    }
    int bad = 0, status;
    for (int i = 0; i < RANKS; i++)
        bad += waitpid(child[i], &status, 0) != child[i] || status != 0;
    ok(!bad, "%d processes see each other, and the last of them, in %d rounds", RANKS, ROUNDS);
}

/* A writer that laps the reader all the time: what is read belongs together, or is not read. */
static void test_torn(void)
{
    fresh();
    pid_t child = fork();
    if (!child) {
        self = 1;
        struct meet *m = comm(77, 2);
        for (uint64_t n = 1; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); n++)
            write_own(m, n, n, (int64_t)(n * 3 % 1000));
        _exit(0);
    }
    struct meet *m = comm(77, 2);
    int torn = 0, read = 0;
    for (int i = 0; i < 100000000 && read < 200000; i++) {
        struct meet_slot seen;
        m->members[1].tries = 0;
        uint64_t key =
            __atomic_load_n(&shared->areas[1].slots[0][meet_at(4)].key, __ATOMIC_RELAXED);
        uint64_t number = (key - 77) * 0xf1de83e19937733du; /* the factor's inverse */
        if (!key || !meet_see(m, 1, number, (uint64_t)1 << 62, &seen))
            continue;
        read++;
        torn += seen.begin != number || seen.delay != (int64_t)(number * 3 % 1000) ||
                seen.statement != (uint32_t)number;
    }
    __atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
    waitpid(child, NULL, 0);
    ok(read > 1000 && !torn, "%d slots read while they are written, %d of them torn", read, torn);
    meet_free(m);
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    test_all_there();
    test_member_elsewhere();
    test_member_unmonitored();
    test_run_ahead();
    test_hostile();
    test_rings();
    test_held_up();
    test_processes();
    test_torn();
    return tap_done();
}
