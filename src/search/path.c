/* SPDX-License-Identifier: MIT */
#include "search/path.h"

/* A range that is to be divided: which keys lie in it, and into how many buckets. */
struct part {
    struct path_search_range range;
    int64_t share;
    size_t first, keys;
    uint32_t buckets;
};

/* The first key that is not below. */
static size_t first_from(const uint64_t *keys, size_t count, uint64_t from)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (keys[middle] < from)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static void find_keys(struct part *p, const uint64_t *keys, size_t count)
{
    p->first = first_from(keys, count, p->range.from);
    p->keys = first_from(keys, count, p->range.to) - p->first;
    if (p->first + p->keys < count && keys[p->first + p->keys] == p->range.to)
        p->keys++;
}

static bool is_alone(const struct part *p)
{
    return p->keys == 1 && p->range.from == p->range.to;
}

/* Two buckets for each part that has so many keys, and the others where most keys share one. What
 * lies beside the last key of a part has buckets too where it may be another's, if there is room
 * for both sides at once. */
static void share_buckets(struct part *parts, uint32_t count, uint32_t most, bool unsure)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        parts[i].buckets = parts[i].keys > 1 ? 2 : 1;
        if (unsure && parts[i].keys == 1 && !is_alone(&parts[i]))
            parts[i].buckets = 3 * count <= PATH_SEARCH_RANGES ? 3 : 2;
        used += parts[i].buckets;
    }
    while (used < most) {
        struct part *fullest = NULL;
        for (uint32_t i = 0; i < count; i++)
            if (parts[i].keys > parts[i].buckets &&
                (!fullest || parts[i].keys / parts[i].buckets > fullest->keys / fullest->buckets))
                fullest = &parts[i];
        if (!fullest)
            return;
        fullest->buckets++;
        used++;
    }
}

static void add_range(struct path_search *s, uint64_t from, uint64_t to)
{
    s->ranges[s->count++] = (struct path_search_range){from, to};
}

/* The only known key of a part, and what lies before and behind it; with two buckets one of these
 * stays with the key for one more interval. */
static void part_from_others(struct path_search *s, const struct part *p, uint64_t key)
{
    uint64_t from = key, to = key;
    if (p->range.from < key) {
        add_range(s, p->range.from, key - 1);
        to = p->buckets < 3 ? p->range.to : key;
    }
    add_range(s, from, to);
    if (to < p->range.to)
        add_range(s, to + 1, p->range.to);
}

/* Equal numbers of keys in each; together they cover the part, for keys that are not known yet. */
static void divide(struct path_search *s, const struct part *p, const uint64_t *keys)
{
    if (p->keys == 1) {
        if (s->unsure)
            part_from_others(s, p, keys[p->first]);
        else
            add_range(s, keys[p->first], keys[p->first]);
        return;
    }
    for (uint32_t b = 0; b < p->buckets; b++) {
        size_t from = p->first + p->keys * b / p->buckets;
        size_t next = p->first + p->keys * (b + 1) / p->buckets;
        add_range(s, b ? keys[from] : p->range.from,
                  b + 1 < p->buckets ? keys[next] - 1 : p->range.to);
    }
}

static void divide_all(struct path_search *s, struct part *parts, uint32_t count,
                       const uint64_t *keys)
{
    share_buckets(parts, count, 2 * s->top, s->unsure);
    s->count = 0;
    for (uint32_t i = 0; i < count; i++)
        divide(s, &parts[i], keys);
}

void path_search_begin(struct path_search *s, uint32_t top, const uint64_t *keys, size_t count,
                       bool unsure)
{
    top = top < 1 ? 1 : top > PATH_SEARCH_TOP_MAX ? PATH_SEARCH_TOP_MAX : top;
    *s = (struct path_search){.top = top, .unsure = unsure};
    struct part all = {.range = {0, UINT64_MAX}, .first = 0, .keys = count};
    if (count > 1) {
        divide_all(s, &all, 1, keys);
        return;
    }
    s->count = 2 * top; /* of the keys nothing is known but that they are spread evenly */
    uint64_t width = UINT64_MAX / s->count;
    for (uint32_t i = 0; i < s->count; i++)
        s->ranges[i] = (struct path_search_range){i * width, i + 1 < s->count ? (i + 1) * width - 1
                                                                              : UINT64_MAX};
}

/* More than `top` can be large enough for the half that is asked for. The smallest goes. */
static void drop_smallest(struct part *parts, uint32_t *count)
{
    uint32_t least = 0;
    for (uint32_t i = 1; i < *count; i++)
        if (parts[i].share < parts[least].share)
            least = i;
    for (uint32_t i = least; i + 1 < *count; i++)
        parts[i] = parts[i + 1];
    --*count;
}

bool path_search_step(struct path_search *s, int64_t length, const int64_t *shares,
                      const uint64_t *keys, size_t count)
{
    struct part parts[PATH_SEARCH_RANGES];
    uint32_t left = 0;
    bool single = true;
    int64_t covered = 0;
    if (length <= 0 || s->done)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        struct part p = {.range = s->ranges[i], .share = shares[i]};
        find_keys(&p, keys, count);
        bool great = shares[i] > 0 && 2.0 * (double)shares[i] * s->top >= (double)length;
        s->blind |= great && !p.keys;
        if (great && p.keys)
            parts[left++] = p;
    }
    while (left > s->top)
        drop_smallest(parts, &left);
    for (uint32_t i = 0; i < left; i++) {
        single &= s->unsure ? is_alone(&parts[i]) : parts[i].keys == 1;
        covered += parts[i].share;
    }
    s->steps++;
    s->done = single;
    s->covered = single ? (double)covered / (double)length : 0;
    s->covered = s->covered > 1 ? 1 : s->covered;
    divide_all(s, parts, left, keys);
    return true;
}
