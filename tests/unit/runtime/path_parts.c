/* SPDX-License-Identifier: MIT */
/*
 * Parts of the critical path, each against a reference of its own: visits that stand for others
 * against a run in which all of them were entered, the strip against the list of who carried the
 * path from where to where, and what threads have spent.
 */
#include "lib/tap.h"

#include "runtime/hot.h"
#include "runtime/process.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 6, ACTORS = 3 };

struct actor {
    struct thread thread;
    struct path path;
    struct record_path record;
    int64_t now; /* virtual */
};

static struct record_header header;
static struct plan plan = {.on = 1, .generation = 1, .items = ITEMS};
static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(seed >> 33) % n : 0;
}

static void begin(struct actor *a, int64_t at)
{
    memset(a, 0, sizeof *a);
    a->path.record = &a->record;
    a->thread.path_kept = &a->path;
    a->thread.delay = &a->thread.own_delay;
    a->thread.look_at = UINT64_MAX; /* nobody takes its processor */
    a->now = at;
    path_start_at(&a->thread, &plan, at);
}

static void enter(struct actor *a, uint32_t item)
{
    path_enter(&a->thread, item, a->now);
}

static void leave(struct actor *a, uint32_t item, uint32_t weight, int64_t time)
{
    path_leave(&a->thread, item, a->now, weight, time, time);
}

static void wait(struct actor *a, int64_t sync, int64_t transfer)
{
    path_wait(&a->thread, RECORD_PATH_NO_ITEM, (uint64_t)a->now, 0);
    path_go(&a->thread, (uint64_t)(sync + transfer), (uint64_t)sync);
    a->now += sync + transfer;
}

/* ---- visits that stand for others ---- */

/* A visit of `item`: some work, some waiting. */
struct body {
    int64_t work, sync, transfer;
    uint32_t item;
};

static void visit(struct actor *a, const struct body *b, bool entered, uint32_t weight)
{
    int64_t begin = a->now;
    if (entered)
        enter(a, b->item);
    a->now += b->work;
    if (b->sync + b->transfer)
        wait(a, b->sync, b->transfer);
    if (entered)
        leave(a, b->item, weight, a->now - begin);
}

/* `count` visits in a visit of item 0: all of them entered, or one that stands for all. */
static void visits(struct actor *a, const struct body *b, uint32_t count, uint32_t the_one)
{
    bool all = the_one >= count;
    enter(a, 0);
    a->now += 77;
    for (uint32_t i = 0; i < count; i++)
        visit(a, b, all || i == the_one, all ? 1 : count);
    a->now += 5;
    leave(a, 0, 1, 0);
}

static bool same(const struct actor *a, const struct actor *b)
{
    for (uint32_t i = 0; i < ITEMS; i++)
        if (memcmp(&a->record.item[i], &b->record.item[i], sizeof a->record.item[i]) != 0 ||
            a->record.spent[i] != b->record.spent[i]) {
            printf("# item %u: share %lld %lld, exclusive %lld %lld, spent %lld %lld\n", i,
                   (long long)a->record.item[i].share, (long long)b->record.item[i].share,
                   (long long)a->record.item[i].exclusive, (long long)b->record.item[i].exclusive,
                   (long long)a->record.spent[i], (long long)b->record.spent[i]);
            return false;
        }
    return path_length(&a->path, a->now) == path_length(&b->path, b->now);
}

static void one_for_all(void)
{
    static struct actor whole, sampled;
    begin(&whole, 1000);
    begin(&sampled, 1000);
    bool right = true;
    for (int i = 0; i < 2000 && right; i++) {
        bool waits = random_below(2);
        struct body b = {.work = random_below(1000),
                         .sync = waits ? random_below(500) : 0,
                         .transfer = waits ? random_below(500) : 0,
                         .item = 1 + random_below(ITEMS - 1)};
        uint32_t count = 1 + random_below(9);
        visits(&whole, &b, count, count);
        visits(&sampled, &b, count, random_below(count));
        right = same(&whole, &sampled);
    }
    ok(right && whole.record.item[1].share > 0,
       "what one visit of many says is what all of them say: shares, exclusive and spent");
}

static void none_at_all(void)
{
    static struct actor a, b;
    begin(&a, 1000);
    begin(&b, 1000);
    enter(&a, 0);
    enter(&b, 0);
    a.now = b.now = 1100;
    enter(&a, 1);
    a.now = 1400;
    leave(&a, 1, 0, 300);
    b.now = a.now = 1500;
    leave(&a, 0, 1, 0);
    leave(&b, 0, 1, 0);
    ok(same(&a, &b) && a.record.item[0].exclusive == 500,
       "one that stands for none is as if it had not been entered");
}

static void inside_itself(void)
{
    static struct actor a;
    begin(&a, 0);
    enter(&a, 1);
    a.now = 100;
    enter(&a, 1);
    a.now = 150;
    leave(&a, 1, 4, 50);
    a.now = 200;
    leave(&a, 1, 4, 200);
    ok(a.record.item[1].share == 800 && a.record.spent[1] == 800,
       "in recursion the outermost visit counts, as often as it stands for: %lld",
       (long long)a.record.item[1].share);
}

/* What was before another's path was taken over is not on the path, however many it stands for. */
static void taken_over(void)
{
    static struct actor a;
    struct path_told other = {
        .generation = 1, .items = ITEMS, .length = 5000, .strip_shift = PATH_STRIP_FIRST};
    other.item[1] = (struct record_path_item){700, 700, 0};
    other.touched = 2;
    begin(&a, 0);
    enter(&a, 1);
    a.now = 400;
    path_wait(&a.thread, RECORD_PATH_NO_ITEM, (uint64_t)a.now, 0);
    path_meet(&a.thread, a.now, &other);
    path_go(&a.thread, 0, 0);
    a.now = 500;
    leave(&a, 1, 3, 500);
    ok(path_length(&a.path, a.now) == 5100 && a.record.item[1].share == 700 + 3 * 100,
       "of a visit in which a path was taken over, what came then: %lld",
       (long long)a.record.item[1].share);
    ok(a.record.spent[1] == 3 * 500, "but the thread has spent all of it");
}

/* ---- the strip ---- */

/* Who carried a path, from the end of the stretch before up to `until`. */
struct stretch {
    int64_t until;
    int32_t rank;
};

struct carried {
    struct stretch list[4096];
    int count;
};

static void carry_on(struct carried *c, int64_t until, int32_t rank)
{
    struct stretch *last = c->count ? &c->list[c->count - 1] : NULL;
    if (last && last->rank == rank)
        last->until = until;
    else if (c->count < 4096)
        c->list[c->count++] = (struct stretch){until, rank};
}

static int32_t carrier_at(const struct carried *c, int64_t length)
{
    int i = 0;
    while (i + 1 < c->count && c->list[i].until < length)
        i++;
    return c->list[i].rank;
}

/* A bucket is that rank's which left it. */
static bool strip_is(const struct path_told *told, const struct carried *c)
{
    int64_t parts = told->length >> told->strip_shift;
    if (parts >= RECORD_PATH_STRIP)
        return false;
    for (int64_t i = 0; i < parts; i++) {
        int32_t rank = carrier_at(c, (i + 1) << told->strip_shift);
        if (told->strip[i] != rank + 1) {
            printf("# part %lld of %lld: rank %d instead of %d\n", (long long)i, (long long)parts,
                   told->strip[i] - 1, rank);
            return false;
        }
    }
    return true;
}

static struct path_told tell(struct actor *a, int32_t rank)
{
    struct path_told told;
    header.rank = rank;
    path_tell(&a->thread, a->now, &told);
    return told;
}

static struct actor actors[ACTORS];
static struct carried carried[ACTORS];

/* It hears from another; true: that one's path is its own now. */
static bool hear(int32_t to, int32_t from)
{
    struct path_told told = tell(&actors[from], from);
    carry_on(&carried[from], told.length, from);
    struct actor *a = &actors[to];
    int64_t length = path_length(&a->path, a->now);
    header.rank = to;
    path_meet(&a->thread, a->now, &told);
    if (told.length <= length)
        return false;
    carried[to] = carried[from];
    return true;
}

static void strip(void)
{
    bool right = true;
    int adopted = 0;
    uint32_t shift = 0;
    for (int32_t i = 0; i < ACTORS; i++)
        begin(&actors[i], 0);
    for (int step = 0; step < 3000 && right; step++) {
        int32_t i = (int32_t)random_below(ACTORS), other = (i + 1) % ACTORS;
        /* Work grows with the step, so that it folds again and again; sometimes a whole bucket. */
        actors[i].now += random_below(3) ? random_below(1000 + 400 * (uint32_t)step)
                                         : INT64_C(1) << actors[i].record.strip_shift;
        if (random_below(2))
            adopted += hear(i, other);
        struct path_told told = tell(&actors[i], i);
        carry_on(&carried[i], told.length, i);
        right = strip_is(&told, &carried[i]);
        shift = told.strip_shift;
    }
    ok(right && adopted > 300, "the strip says who left each part, %d paths taken over", adopted);
    ok(shift >= PATH_STRIP_FIRST + 6, "folded some times: parts of 2^%u ticks", shift);
}

/* ---- what threads have spent ---- */

static void block_goes_on(void)
{
    static struct actor a;
    begin(&a, 1000);
    enter(&a, 2);
    a.now = 1300;
    wait(&a, 60, 40);
    path_waited(&a.thread, 10);
    a.now += 10;
    ok(path_spent(&a.path, a.now) == 340, "waiting is not spent, by communications or others");
    a.record.waits = (uint64_t)a.now; /* so that it ends at no moment of the machine's */
    a.path.begin = a.now;
    path_end(&a.thread);
    path_start_at(&a.thread, &plan, 50000);
    ok(path_length(&a.path, 50000) == 0 && path_spent(&a.path, 50000) == 340 &&
           a.record.spent[2] == 340 && !a.record.active,
       "the next thread of the block has a path of its own, and what was spent stays");
    a.now = 50100;
    enter(&a, 2);
    a.now = 50150;
    leave(&a, 2, 1, 0);
    ok(a.record.spent[2] == 390 && path_spent(&a.path, a.now) == 490, "more is added to it");
    struct plan next = plan;
    next.generation = 2;
    path_start_at(&a.thread, &next, 60000);
    ok(path_spent(&a.path, 60000) == 0 && a.record.spent[2] == 0, "a reset forgets it");
}

int main(void)
{
    loupe_process.writer.header = &header;
    one_for_all();
    none_at_all();
    inside_itself();
    taken_over();
    strip();
    block_goes_on();
    return tap_done();
}
