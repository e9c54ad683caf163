/* SPDX-License-Identifier: MIT */
/* The search for the greatest items of a path, on paths that stay the same from interval to
 * interval: procedures that call each other as a tree, each with a time of its own. */
#include "search/path.h"

#include "lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_MOST = 3000 };

static uint64_t seed = 1;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

struct procedure {
    uint64_t key;
    int64_t time;  /* its own */
    size_t parent; /* who calls it, further to the front; its own number: nobody */
};

struct program {
    struct procedure all[KEYS_MOST];
    uint64_t keys[KEYS_MOST]; /* sorted */
    size_t count;
    int64_t length;
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A few procedures have most of the time, as in programs. */
static void make_program(struct program *p, size_t count)
{
    p->count = count;
    p->length = (int64_t)(next_random() % 1000); /* outside of all */
    for (size_t i = 0; i < count; i++) {
        bool large = next_random() % count < 8;
        int64_t time = (int64_t)(next_random() % 1000) * (large ? (int64_t)count : 1);
        p->all[i] =
            (struct procedure){next_random(), time, i ? (size_t)(next_random() % (i + 1)) : 0};
        p->keys[i] = p->all[i].key;
        p->length += time;
    }
    qsort(p->keys, count, sizeof *p->keys, by_value);
}

static int bucket_of(const struct path_search *s, uint64_t key)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (key >= s->ranges[i].from && key <= s->ranges[i].to)
            return (int)i;
    return -1;
}

/* What the runtime would measure: time is the innermost item's that is active. */
static void measure(const struct program *p, const struct path_search *s, int64_t *shares)
{
    memset(shares, 0, PATH_SEARCH_RANGES * sizeof *shares);
    for (size_t i = 0; i < p->count; i++) {
        size_t at = i;
        int bucket = bucket_of(s, p->all[at].key);
        while (bucket < 0 && p->all[at].parent != at) {
            at = p->all[at].parent;
            bucket = bucket_of(s, p->all[at].key);
        }
        if (bucket >= 0)
            shares[bucket] += p->all[i].time;
    }
}

static bool in_order(const struct path_search *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->ranges[i].from > s->ranges[i].to || (i && s->ranges[i].from <= s->ranges[i - 1].to))
            return false;
    return s->count <= 2 * s->top;
}

struct result {
    bool order, ended, found, enough, few;
    uint32_t steps;
};

static struct result search(const struct program *p, uint32_t top, bool early)
{
    struct path_search s;
    int64_t shares[PATH_SEARCH_RANGES];
    struct result r = {.order = true, .found = true, .enough = true};
    /* at first only some, or none, may be known */
    path_search_begin(&s, top, p->keys, early ? next_random() % 2 : p->count, false);
    for (int i = 0; i < 100 && !s.done; i++) {
        r.order &= in_order(&s);
        measure(p, &s, shares);
        path_search_step(&s, p->length, shares, p->keys, p->count);
    }
    r.ended = s.done;
    r.steps = s.steps;
    r.few = s.count <= top;
    for (size_t i = 0; i < p->count; i++)
        if (p->all[i].time * top >= p->length)
            r.found &= bucket_of(&s, p->all[i].key) >= 0;
    measure(p, &s, shares); /* with what was dropped in the share of who called it */
    for (uint32_t i = 0; i < s.count; i++)
        r.enough &= s.ranges[i].from == s.ranges[i].to && 2 * shares[i] * top >= p->length;
    return r;
}

static void test_random(void)
{
    static struct program p;
    struct result all = {true, true, true, true, true, 0};
    bool fast = true;
    for (int i = 0; i < 3000; i++) {
        size_t count = 1 + next_random() % (i % 10 ? 200 : KEYS_MOST);
        make_program(&p, count);
        struct result r = search(&p, 1 + (uint32_t)(next_random() % PATH_SEARCH_TOP_MAX), i % 3);
        uint32_t steps = 2;
        while (count >> steps)
            steps++;
        all.order &= r.order;
        all.ended &= r.ended;
        all.found &= r.found;
        all.enough &= r.enough;
        all.few &= r.few;
        fast &= r.steps <= steps + 2;
    }
    ok(all.order, "ranges are sorted, disjoint, and at most 2m");
    ok(all.ended, "it ends");
    ok(fast, "after some log2(keys) intervals");
    ok(all.found, "every item with at least half of 1/m of the path is found");
    ok(all.enough, "what is found is one key each, with at least half of 1/m of the path");
    ok(all.few, "at most m are");
}

static void test_edges(void)
{
    struct path_search s;
    const uint64_t keys[] = {0, 5, 6, UINT64_MAX};
    int64_t shares[PATH_SEARCH_RANGES] = {0};
    path_search_begin(&s, 2, keys, 4, false);
    ok(s.count == 4 && s.ranges[0].from == 0 && s.ranges[3].to == UINT64_MAX &&
           bucket_of(&s, 5) != bucket_of(&s, 6),
       "as many buckets as keys");
    ok(!path_search_step(&s, 0, shares, keys, 4) && s.count == 4 && !s.done,
       "an interval in which the path did not grow says nothing");
    shares[0] = 25;
    shares[3] = 24;
    ok(path_search_step(&s, 100, shares, keys, 4) && s.done && s.count == 1 &&
           s.ranges[0].from == 0 && s.ranges[0].to == 0 && s.covered > 0.24 && s.covered < 0.26,
       "exactly half of 1/m is enough, less is not; what is covered");
    ok(!path_search_step(&s, 100, shares, keys, 4), "what is done stays");
    path_search_begin(&s, 3, NULL, 0, false);
    ok(s.count == 6 && bucket_of(&s, 0) == 0 && bucket_of(&s, UINT64_MAX) == 5,
       "without a key all that there could be");
    memset(shares, 0, sizeof shares);
    ok(path_search_step(&s, 100, shares, NULL, 0) && s.done && s.count == 0 && !s.blind,
       "nothing has so much: that is an answer, too");
    path_search_begin(&s, 3, NULL, 0, false);
    shares[2] = 50;
    ok(path_search_step(&s, 100, shares, keys, 1) && s.done && s.count == 0 && s.blind,
       "something has, and nobody here knows what: that is said");
    shares[2] = 0;
    path_search_begin(&s, 2, keys, 4, false);
    for (int i = 0; i < 4; i++)
        shares[i] = 80 - i;
    ok(path_search_step(&s, 100, shares, keys, 4) && s.count == 2 && s.covered <= 1,
       "estimates that are too high do not make more than m");
    path_search_begin(&s, 1000, keys, 4, false);
    ok(s.top == PATH_SEARCH_TOP_MAX, "more than there is room for");
}

/* A search where not all keys are known, until it ends or has taken too long. */
static struct path_search search_unsure(const struct program *p, uint32_t top,
                                        const uint64_t *known, size_t count)
{
    struct path_search s;
    int64_t shares[PATH_SEARCH_RANGES];
    path_search_begin(&s, top, known, count, true);
    for (int i = 0; i < 100 && !s.done; i++) {
        measure(p, &s, shares);
        path_search_step(&s, p->length, shares, known, count);
    }
    return s;
}

/* Of two procedures that share a range only one is known here: the other is executed on other nodes
 * alone, and has all of the share, on either side of the known one. */
static void test_neighbour(void)
{
    static struct program p;
    const uint64_t known[] = {100, 200}, hidden[] = {210, 190};
    p.count = 3;
    p.length = 100;
    for (int i = 0; i < 2; i++) {
        p.all[0] = (struct procedure){100, 50, 0};
        p.all[1] = (struct procedure){200, 0, 1};
        p.all[2] = (struct procedure){hidden[i], 50, 2};
        struct path_search s = search_unsure(&p, 2, known, 2);
        ok(s.done && s.blind && s.count == 1 && s.ranges[0].from == 100,
           "what only other nodes execute is not taken for what is known here, and that is said");
    }
    p.count = 2;
    struct path_search s = search_unsure(&p, 2, known, 2);
    ok(s.done && !s.blind && s.count == 1 && s.ranges[0].from == 100,
       "and where nothing else is executed, it is complete");
}

/* Random programs of which some keys are known: a list that is called complete has all that has 1/m
 * or more. Nothing is said to be missing where so much is known that nothing can be. */
static void test_unsure(void)
{
    static struct program p;
    static uint64_t known[KEYS_MOST];
    bool ended = true, honest = true, sure = true, order = true, fast = true;
    uint32_t complete = 0, hidden = 0;
    for (int i = 0; i < 3000; i++) {
        size_t count = 1 + next_random() % 200, some = 0;
        uint32_t top = 1 + (uint32_t)(next_random() % PATH_SEARCH_TOP_MAX), steps = 2;
        make_program(&p, count);
        for (size_t k = 0; k < count; k++)
            if (i % 4 == 0 || next_random() % 3)
                known[some++] = p.keys[k];
        struct path_search s = search_unsure(&p, top, known, some);
        bool missing = false;
        for (size_t k = 0; k < count; k++)
            missing |= p.all[k].time * top >= p.length && bucket_of(&s, p.all[k].key) < 0;
        while (count >> steps)
            steps++;
        ended &= s.done;
        fast &= s.steps <= steps + 4;
        order &= in_order(&s);
        honest &= s.blind || !missing;
        hidden += missing;
        sure &= some < count || !s.blind;
        complete += !s.blind && some < count;
    }
    ok(ended && order && fast, "some keys are not known: it ends, as soon");
    ok(honest && hidden > 100, "what is missing then is said to be (%u)", hidden);
    ok(sure && complete > 100, "and not where nothing can be (%u)", complete);
}

int main(void)
{
    test_edges();
    test_neighbour();
    test_unsure();
    test_random();
    return tap_done();
}
