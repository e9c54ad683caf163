/* SPDX-License-Identifier: MIT */
/* What a visit costs, from pairs of blocks: right for the sum of all visits, and not disturbed by
 * interrupts in either block. */
#include "lib/tap.h"

#include "runtime/pair_cost.h"

#include <stdbool.h>

enum { FAR = 32768, CHEAP = 12800, DEAR = 25600, LITTLE = 256, TIMES = 1000 };

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t of)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % of;
}

static int32_t noise(void)
{
    return (int32_t)draw(2 * LITTLE + 1) - LITTLE;
}

/* Over many times: the mean of what was found and that of what is true, in 1/256 ticks. */
struct both {
    double found, truth;
};

/* One in `rare` costs more; one in `hit` was interrupted, in the block that was timed or the other.
 */
static struct both try_often(uint32_t rare, uint32_t hit)
{
    struct both sum = {0};
    for (int t = 0; t < TIMES; t++) {
        int32_t pairs[PAIR_COST_MAX];
        for (int i = 0; i < PAIR_COST_MAX; i++) {
            int32_t cost = draw(rare) ? CHEAP : DEAR;
            sum.truth += (double)cost / PAIR_COST_MAX / TIMES;
            pairs[i] = cost + noise();
            if (hit && !draw(hit))
                pairs[i] += (draw(2) ? 1 : -1) * (FAR + DEAR + (int32_t)draw(1 << 29));
        }
        sum.found += (double)pair_cost(pairs, PAIR_COST_MAX, FAR).mean / TIMES;
    }
    return sum;
}

/* How many of these visits, from a random one on, something else comes before. */
static uint32_t pauses(uint32_t from, uint32_t visits, uint32_t every)
{
    return (from + visits) / every - from / every;
}

/* After every so many visits the program does something else, of `pause`. */
static struct both try_paused(uint32_t every, double pause, unsigned *wrong)
{
    enum { TIMED = 64, SETTLE = 48, COUNTED = 208 };
    struct both sum = {.truth = CHEAP};
    for (int t = 0; t < TIMES; t++) {
        int32_t pairs[PAIR_COST_MAX];
        for (int i = 0; i < PAIR_COST_MAX; i++) {
            uint32_t from = draw(every);
            double timed = pause * pauses(from, TIMED, every) / TIMED;
            double counted = pause * pauses(from + TIMED + SETTLE, COUNTED, every) / COUNTED;
            pairs[i] = CHEAP + noise() + (int32_t)(timed - counted);
        }
        struct pair_cost c = pair_cost(pairs, PAIR_COST_MAX, FAR);
        uint64_t dearer = 0;
        bool sure = pair_sure(&c, PAIR_COST_MAX, CHEAP);
        sum.found += (double)pair_own(&c, sure, CHEAP, &dearer) / TIMES;
        *wrong += sure && (c.mean < CHEAP / 2 || c.mean > CHEAP * 3 / 2);
    }
    return sum;
}

static void expect(struct both b, double part, const char *what)
{
    double off = b.found / b.truth - 1;
    if (!ok(off < part && off > -part, "%s", what))
        printf("# found %.0f, true %.0f\n", b.found, b.truth);
}

/* Visits of two sites, whose cost is as often this as that; those of one vary by themselves by
 * more. Of each what is charged for one, over many times. */
static void charges(void)
{
    enum { CALIBRATED = CHEAP + CHEAP / 8, OFTEN = 50 * TIMES };
    int32_t pairs[2][PAIR_COST_MAX] = {0};
    uint64_t dearer = 0;
    double sum[2] = {0}, truth = 0;
    unsigned unsure[2] = {0};
    for (int t = 0; t < OFTEN; t++) {
        int32_t cost = draw(2) ? CHEAP : DEAR;
        truth += (double)cost / OFTEN;
        for (int i = 0; i < 2; i++) {
            pairs[i][t % PAIR_COST_MAX] = cost + (i ? 200 * noise() : noise());
            struct pair_cost c = pair_cost(pairs[i], PAIR_COST_MAX, FAR);
            bool sure = pair_sure(&c, PAIR_COST_MAX, CALIBRATED);
            sum[i] += (double)pair_own(&c, sure, CALIBRATED, &dearer) / OFTEN;
            unsure[i] += !sure;
        }
    }
    expect((struct both){sum[0], truth}, 0.02, "a cost that varies is charged as it is on average");
    ok(unsure[1] > OFTEN / 2, "a site whose visits vary by themselves does not know it");
    expect((struct both){sum[1], truth}, 0.05, "it takes what others find");
    ok(unsure[0] == 0, "who do know it");
}

static void roots(void)
{
    bool right = true;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t r = pair_root(i);
        right = right && r * r <= i && (r + 1) * (r + 1) > i;
    }
    ok(right && pair_root(UINT64_MAX) == UINT32_MAX, "roots are rounded down");
}

int main(void)
{
    /* A mean without the outermost eighths is 6 % too small here, a median 9 %. */
    expect(try_often(10, 0), 0.01, "a cost that is rare, and twice the other, has its part");
    expect(try_often(3, 0), 0.01, "so has one that is not");
    expect(try_often(10, 20), 0.02, "interrupts in either block do not matter");
    /* The block has mostly one of them, which is too few. */
    unsigned wrong = 0;
    expect(try_paused(50, 46000.0 * 256, &wrong), 0.05,
           "what comes between visits does not, either");
    expect(try_paused(50, 4600.0 * 256, &wrong), 0.05, "nor if it is not much");
    ok(wrong < TIMES / 20, "and hardly anybody is sure of what is half off: %u", wrong);
    const int32_t same[] = {700, 700, 700, 700, 700, -2000000};
    struct pair_cost c = pair_cost(same, 6, FAR);
    ok(c.mean == 700 && c.spread == 0 && c.deviation == 0, "nor to what it is off by");
    const int32_t two[] = {100, 100, 100, 500, 500, 500};
    c = pair_cost(two, 6, FAR);
    ok(c.mean == 300 && c.deviation == 200, "mean and deviation");
    const int32_t wide[] = {INT32_MIN / 2, INT32_MIN / 2, INT32_MAX / 2};
    c = pair_cost(wide, 3, FAR);
    ok(c.mean == INT32_MIN / 2, "the greatest there are");
    charges();
    roots();
    return tap_done();
}
