/* SPDX-License-Identifier: MIT */
/*
 * The items with the greatest shares of the critical path, found while the program runs (paper 3,
 * appendix B): at most m items can have 1/m of it or more. All keys are put into 2m buckets; after
 * an interval those with less than half of 1/m of the path are dropped, with everything in them,
 * and the others are divided anew, until each holds one key. That takes some log2(keys) intervals.
 * Half: an interval ends anywhere in a step of the program, and shares can be estimates.
 *
 * Shares are exclusive: what is dropped is from then on in the share of what called it, so a share
 * is never too small. Nothing here knows processes.
 */
#ifndef LOUPE_SEARCH_PATH_H
#define LOUPE_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATH_SEARCH_TOP = 10, PATH_SEARCH_TOP_MAX = 16, PATH_SEARCH_RANGES = 32 };

struct path_search_range {
    uint64_t from, to; /* keys, both included */
};

struct path_search {
    uint32_t top;
    uint32_t count;
    struct path_search_range ranges[PATH_SEARCH_RANGES]; /* sorted, disjoint */
    bool done;   /* each range is one key; whatever has at least 1/top of the path is among them, */
    bool blind;  /* but for what is not known here: a range without a known key had so much */
    bool unsure; /* there may be keys that are not known here, in any range: so a key has a share
                    only if it has it as a range of its own */
    uint32_t steps;
    double covered; /* when done: share of the path that the ranges had together, 0 to 1 */
};

/* `keys`: those that are known so far, sorted, each once; there may be none yet. `top`: 1 to
 * PATH_SEARCH_TOP_MAX. `unsure`: not all that the program may execute will be known here. */
void path_search_begin(struct path_search *s, uint32_t top, const uint64_t *keys, size_t count,
                       bool unsure);
/* After an interval in which the path grew by `length`, of it each range by shares[i]. Keys as
 * above, of now: a range in which none is known is dropped, for who has a share is known, or is
 * another node's (`blind`). False: nothing was learned, the same ranges once more. */
bool path_search_step(struct path_search *s, int64_t length, const int64_t *shares,
                      const uint64_t *keys, size_t count);

#endif
