/* SPDX-License-Identifier: MIT */
/* Which header a message gets when both ends begin to count in mid-run. Random jobs of one sender
 * and one receiver, in a time of their own: messages were under way, receives had been posted. A
 * header's `begin` says whose it is. All messages are of one size, so that this tells nothing. */
#include "lib/tap.h"
#include "mpi/anchor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMM = 7000, MESSAGES = 400, JOBS = 500, DELIVERY = 1000, BYTES = 8 };

static char directory[] = "/dev/shm/loupe-test-XXXXXX";
static uint64_t state, beginning = 10 * DELIVERY; /* of the next job: they share a ring */

static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* What the job does, and what came of it. */
struct job {
    uint32_t under_way, posted; /* at the beginning */
    uint32_t stalls;            /* one send in so many is held up between header and message */
    uint32_t hidden;            /* this receive is not counted; 0: all are */
    uint32_t gap, pause;        /* between sends; the receiver's, between receives */
    uint64_t begin[MESSAGES], arrives[MESSAGES];
    uint32_t published; /* messages that were begun so far */
    uint32_t right, wrong, none;
};

static void plan(struct job *j)
{
    uint64_t now = beginning, last = 0;
    for (uint32_t m = 0; m < MESSAGES; m++) {
        uint64_t held = j->stalls && !random_below(j->stalls) ? 5 * DELIVERY : 0;
        bool before = m < j->under_way;
        now += before ? 0 : 1 + random_below(random_below(8) ? j->gap : 20 * j->gap);
        j->begin[m] = before ? 0 : now;
        now += held;
        last = before || now + DELIVERY / 2 > last ? now + random_below(DELIVERY / 2) : last;
        j->arrives[m] = before ? 0 : last;
    }
    j->published = j->under_way;
}

/* Headers are there as soon as their message is begun. */
static void publish_until(struct job *j, struct stream *out, uint64_t now)
{
    for (; j->published < MESSAGES && j->begin[j->published] <= now; j->published++)
        stream_publish(out, j->begin[j->published], 0, 0, BYTES);
}

static void take(struct job *j, struct stream *in, uint32_t number, uint32_t m)
{
    struct header h;
    if (!stream_take(in, number, BYTES, &h))
        j->none++;
    else if ((uint64_t)h.begin == j->begin[m])
        j->right++;
    else
        j->wrong++;
}

static bool is_hidden(const struct job *j, uint32_t m)
{
    return j->hidden && m == j->hidden;
}

static void run(struct job *j, int tag)
{
    struct stream spare, *out = stream_to(COMM, 0, tag, &spare);
    struct stream *in = stream_from(COMM, 0, tag, &spare);
    uint64_t now = beginning;
    plan(j);
    for (uint32_t m = j->posted; m + 1 < MESSAGES;) {
        uint32_t number[2] = {0}, first = m, count = random_below(5) ? 1 : 2;
        for (uint32_t i = 0; i < count; i++, m++) { /* they are posted, */
            publish_until(j, out, now);
            if (is_hidden(j, m))
                continue;
            number[i] = in->count + 1;
            uint64_t look = count == 1 ? now + 2 * DELIVERY : now; /* who waits looks longer */
            look = look < j->arrives[m] ? look : j->arrives[m] - 1;
            if (j->arrives[m] > now && anchor_due(in)) {
                publish_until(j, out, look);
                anchor_absent(in, number[i], look);
            }
            stream_post(in);
            now++;
        }
        for (uint32_t i = 0; i < count; i++) { /* and they are complete */
            now = j->arrives[first + i] > now ? j->arrives[first + i] : now;
            now += 20;
            publish_until(j, out, now);
            if (!is_hidden(j, first + i))
                take(j, in, number[i], first + i);
        }
        now += random_below(j->pause);
    }
    publish_until(j, out, UINT64_MAX);
    beginning = now + 100 * DELIVERY;
}

static struct job all_of(int first_tag, uint32_t stalls, uint32_t hidden, uint32_t gap,
                         uint32_t pause)
{
    struct job sum = {0};
    for (int i = 0; i < JOBS; i++) {
        struct job j = {.under_way = random_below(7),
                        .posted = random_below(5),
                        .stalls = stalls,
                        .hidden = hidden,
                        .gap = gap,
                        .pause = pause};
        run(&j, first_tag + i);
        sum.right += j.right;
        sum.wrong += j.wrong;
        sum.none += j.none;
    }
    printf("# right %u, wrong %u, none %u\n", sum.right, sum.wrong, sum.none);
    return sum;
}

int main(void)
{
    struct board_token token = board_token_of(77, 0);
    state = 12345;
    anchor_delivery = DELIVERY;
    ok(mkdtemp(directory) && !board_open_as(&token, directory, NULL) && !board_know(&token, 1, 0) &&
           !streams_open_midway(1, 0),
       "a board");
    struct job slow = all_of(0, 0, 0, 2000, 1000);
    ok(slow.wrong == 0 && slow.right > 9 * slow.none, "late senders: found, and all right");
    struct job quick = all_of(JOBS, 0, 0, 200, 100);
    ok(quick.wrong == 0 && quick.right > quick.none, "in quick succession");
    struct job late = all_of(2 * JOBS, 0, 0, 100, 4000);
    ok(late.wrong == 0, "a receiver that is always behind");
    struct job stalled = all_of(3 * JOBS, 50, 0, 2000, 1000);
    ok(stalled.wrong * 1000 <= stalled.right && stalled.right > stalled.none,
       "senders that lose their processor between header and message");
    struct job hidden = all_of(4 * JOBS, 0, MESSAGES / 2, 2000, 1000);
    ok(hidden.wrong < 64 * JOBS && hidden.right > 9 * hidden.none,
       "a message that was received without being counted");
    streams_leave();
    board_leave();
    token = board_token_of(78, 0);
    ok(!board_open_as(&token, directory, NULL) && !board_know(&token, 1, 0) &&
           !streams_open_midway(1, 0) && anchors_wanted == 0,
       "once more");
    struct job again = all_of(0, 0, 0, 2000, 1000);
    ok(again.wrong == 0 && again.right > 9 * again.none, "as the first time");
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command) ? 2 : tap_done();
}
