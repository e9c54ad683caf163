/* SPDX-License-Identifier: MIT */
/* Critical paths in segments: as of a moment, damaged in every way, and beside a writer. */
#include "record/reader.h"

#include "lib/tap.h"
#include "segments.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

enum { MARGIN = 2000, SECONDS = 2 }; /* a microsecond, in ticks of segments.h */

static int dir;

struct seen {
    int count;
    uint32_t block;
    struct record_path_reading path;
};

static void on_path(void *data, uint32_t block, const struct record_path_reading *path)
{
    struct seen *s = data;
    s->count++;
    s->block = block;
    s->path = *path;
}

static struct seen look(struct segment *s, uint64_t now, bool *damaged)
{
    struct seen seen = {0};
    struct record_reader *reader = NULL;
    struct record_visitor visitor = {.data = &seen, .path = on_path};
    *damaged = false;
    if (!record_open(s->dir, -1, s->name, &reader)) {
        record_visit(reader, now, &visitor);
        *damaged = record_damaged(reader);
    }
    record_close(reader);
    return seen;
}

static void look_again(struct seen *seen, struct segment *s, uint64_t now, bool *damaged)
{
    *seen = look(s, now, damaged);
}

static void moments(void)
{
    bool damaged = true;
    struct segment s = segment_new(dir, "moments");
    struct record_thread *t = segment_thread(&s);
    segment_thread(&s);
    struct seen none = look(&s, 100000, &damaged);
    ok(!none.count && !damaged, "no path, none given");
    struct record_path *p = segment_path(&s, 1, 0);
    ok(!look(&s, 100000, &damaged).count && !damaged, "one that has not started is none");
    *p = (struct record_path){.generation = 3,
                              .offset = 10000,
                              .mpi = 1000,
                              .items = 3,
                              .active = 6,
                              .innermost = 2,
                              .met = 4,
                              .adopted = 1,
                              .began = 77,
                              .strip_shift = 9};
    p->item[0] = (struct record_path_item){500, 300, 200};
    p->item[1] = (struct record_path_item){-2000, 100, 0};
    p->item[2] = (struct record_path_item){-3000, -3000, 50};
    p->strip[0] = 8;
    struct record_thread *second = t + 1;
    second->delay = 4000;
    struct seen seen = look(&s, 50000 + MARGIN, &damaged);
    const struct record_path_reading *r = &seen.path;
    ok(seen.count == 1 && seen.block == 1 && !damaged, "a path is given, once, with its block");
    ok(r->generation == 3 && r->items == 3 && r->met == 4 && r->adopted == 1 && r->began == 77 &&
           !r->ended,
       "what it says of itself");
    ok(r->length == 36000, "it has grown until now, in virtual time, less a microsecond");
    ok(r->mpi == 1000 && r->bucket == 1024 && r->strip[0] == 8 && !r->strip[1],
       "with its strip, folded as its length needs");
    ok(r->item[0].share == 500 && r->item[0].exclusive == 300 && r->item[0].excess == 200,
       "an item that is not active stands as it is");
    ok(r->item[1].share == 34000 && r->item[1].exclusive == 100,
       "the share of an active one grows with the path");
    ok(r->item[2].share == 33000 && r->item[2].exclusive == 33000 && r->item[2].excess == 50,
       "that of the innermost alone too");
    s.header->rank = 4;
    p->strip_shift = 12;
    look_again(&seen, &s, 50000 + MARGIN, &damaged);
    ok(r->bucket == 4096 && r->strip[0] == 8 && r->strip[1] == 5 && r->strip[8] == 5 &&
           !r->strip[9],
       "since it was written the path went on in this rank");
    p->strip_shift = 9;
    p->strip[63] = 9;
    look_again(&seen, &s, 50000 + MARGIN, &damaged);
    ok(r->bucket == 1024 && r->strip[31] == 9 && r->strip[32] == 5 && r->strip[35] == 5 &&
           !r->strip[36] && !r->strip[1],
       "of two parts the later one counts");
    s.header->rank = -1;
    p->waits = 26000; /* virtual */
    look_again(&seen, &s, 50000, &damaged);
    ok(r->length == 16000 && r->item[1].share == 14000, "inside a communication it stands still");
    look_again(&seen, &s, 25000 + MARGIN, &damaged);
    ok(r->length == 11000, "but a dead process ends before that");
    p->ended = 21000;
    look_again(&seen, &s, 50000, &damaged);
    ok(r->length == 11000 && r->ended, "at MPI_Finalize it ends");
    s.header->compensation = RECORD_COMPENSATE_NONE;
    p->ended = p->waits = 0;
    look_again(&seen, &s, 50000 + MARGIN, &damaged);
    ok(r->length == 40000, "without compensation virtual time is real time");
    s.header->control.word = 1u << RECORD_CONTROL_RESET_SHIFT;
    look_again(&seen, &s, 50000 + MARGIN, &damaged);
    ok(seen.count == 1, "a reset of the statistics leaves it alone");
    ok(!look(&s, 0, &damaged).count && !damaged, "of no moment there is none");
    look_again(&seen, &s, 9000 + MARGIN, &damaged);
    ok(r->length == 0 && r->item[1].share == 0 && r->item[0].share == 0 && r->mpi == 0,
       "before its start it has no length, nor has what is in it");
    segment_drop(&s);
}

static void damage(void)
{
    bool damaged;
    struct segment s = segment_new(dir, "damage");
    segment_thread(&s);
    struct record_path *p = segment_path(&s, 0, 1);
    p->items = 2;
    p->active = 1;
    p->innermost = 0;
    const struct record_path good = *p;
    const struct {
        const char *what;
        size_t at, size;
        uint64_t value;
    } wrong[] = {
#define WRONG(member, value)                                                                       \
    {#member " " #value, offsetof(struct record_path, member), sizeof p->member, (uint64_t)(value)}
        WRONG(items, 33),
        WRONG(items, UINT32_MAX),
        WRONG(active, 4),
        WRONG(active, 1u << 31),
        WRONG(innermost, 1), /* which is not active */
        WRONG(innermost, 2),
        WRONG(innermost, UINT32_MAX),
        WRONG(strip_shift, 60),
        WRONG(strip_shift, 255),
        WRONG(offset, INT64_MIN),
        WRONG(offset, -(INT64_C(1) << 60)),
        WRONG(ended, INT64_MAX),
        WRONG(mpi, INT64_MAX),
        WRONG(item[0].share, INT64_MIN),
        WRONG(item[1].exclusive, INT64_MAX),
        WRONG(item[1].excess, -1),
        WRONG(item[1].excess, INT64_MAX),
#undef WRONG
    };
    ok(look(&s, 50000, &damaged).count == 1 && !damaged, "a good one is taken");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        *p = good;
        memcpy((char *)p + wrong[i].at, &wrong[i].value, wrong[i].size);
        struct seen seen = look(&s, 50000, &damaged);
        ok(!seen.count && damaged, "%s: left out, and said", wrong[i].what);
    }
    *p = good;
    p->item[0].share = 1000000;
    p->item[1] = (struct record_path_item){-700, 900000, 900000};
    p->mpi = 900000;
    struct seen seen = look(&s, 50000 + MARGIN, &damaged);
    const struct record_path_item *i = seen.path.item;
    ok(seen.count == 1 && i[0].share == 50000 && i[1].share == 0 && i[1].exclusive == 0 &&
           i[1].excess == 0 && seen.path.mpi == 50000,
       "estimates that are off stay within the path");
    *p = good;
    p->version = 1;
    ok(!look(&s, 50000, &damaged).count && !damaged, "one that stays torn is not given");
    p->version = 2;
    struct record_chunk *c = (void *)((uintptr_t)p & ~(uintptr_t)(RECORD_CHUNK - 1));
    c->used = 2;
    ok(!look(&s, 50000, &damaged).count && damaged, "there is but one to a chunk");
    c->used = 1;
    c->block = 5;
    ok(!look(&s, 50000, &damaged).count && damaged, "of a block that is not there");
    segment_drop(&s);
}

/* A thread that computes in one of two items, waits, adopts, and whose delay grows, as fast as it
 * can: item 0 has all of the path, 1 and 2 share it. */
static struct segment live;
static _Atomic bool stop;
static uint64_t changes;

static void put(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static void version(struct record_path *p)
{
    __atomic_store_n(&p->version, p->version + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void change_item(struct record_path *p, int64_t length)
{
    uint32_t from = p->innermost, to = 3 - from;
    version(p);
    put((uint64_t *)&p->item[from].share, (uint64_t)(p->item[from].share + length));
    put((uint64_t *)&p->item[from].exclusive, (uint64_t)(p->item[from].exclusive + length));
    put((uint64_t *)&p->item[to].share, (uint64_t)(p->item[to].share - length));
    put((uint64_t *)&p->item[to].exclusive, (uint64_t)(p->item[to].exclusive - length));
    __atomic_store_n(&p->active, 1u | 1u << to, __ATOMIC_RELEASE);
    __atomic_store_n(&p->innermost, to, __ATOMIC_RELEASE);
    version(p);
}

static void communicate(struct record_thread *t, struct record_path *p, uint64_t round)
{
    uint64_t begin = __rdtsc();
    put(&p->waits, begin - (uint64_t)t->delay);
    for (volatile int i = 0; i < 200; i++)
        ;
    uint64_t end = __rdtsc(), received = round % 3 ? 0 : 100;
    received = received < end - begin ? received : 0;
    int64_t sync = (int64_t)((end - begin - received) / 2);
    put((uint64_t *)&t->delay, (uint64_t)t->delay + received); /* as events are settled first */
    version(p);
    put((uint64_t *)&p->offset, (uint64_t)(p->offset + sync));
    put((uint64_t *)&p->mpi, (uint64_t)(p->mpi + sync));
    put(&p->waits, 0);
    version(p);
}

static void *writer(void *thread)
{
    struct record_thread *t = thread;
    struct record_path *p = segment_path(&live, 0, 0);
    p->offset = (int64_t)__rdtsc();
    p->items = 3;
    p->active = 3;
    p->innermost = 1;
    __atomic_store_n(&p->generation, 1, __ATOMIC_RELEASE);
    for (; !stop; changes++) {
        if (changes % 5 == 4)
            communicate(t, p, changes);
        else
            change_item(p, (int64_t)__rdtsc() - t->delay - p->offset);
    }
    return NULL;
}

static void beside_a_writer(void)
{
    struct seen seen = {0};
    struct record_reader *reader = NULL;
    struct record_visitor visitor = {.data = &seen, .running = true, .path = on_path};
    const struct record_path_reading *r = &seen.path;
    pthread_t thread;
    long passes = 0, fell = 0, mixed = 0;
    int64_t before = 0;
    live = segment_new(dir, "live");
    live.header->tick_ns = 0.4;
    ok(!pthread_create(&thread, NULL, writer, segment_thread(&live)), "a writer runs");
    ok(!record_open(dir, -1, "live", &reader), "its segment is opened");
    for (time_t end = time(NULL) + SECONDS; time(NULL) < end;) {
        seen.count = 0;
        record_visit(reader, record_now(reader), &visitor);
        if (!seen.count)
            continue;
        passes++;
        fell += r->length < before;
        mixed += r->item[0].share != r->length || r->item[1].share + r->item[2].share < r->length ||
                 r->item[1].share + r->item[2].share > r->length + 10000;
        before = r->length;
    }
    stop = true;
    pthread_join(thread, NULL);
    ok(passes > 100 && changes > 1000 && before > 0, "%ld readings while it changed", passes);
    ok(!fell, "the path never falls (%ld did)", fell);
    ok(!mixed, "and is never torn (%ld were)", mixed);
    record_close(reader);
    segment_drop(&live);
}

int main(void)
{
    char root[128];
    dir = segment_begin(root, sizeof root);
    moments();
    damage();
    beside_a_writer();
    close(dir);
    segment_end(root);
    return tap_done();
}
