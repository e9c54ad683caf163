/* SPDX-License-Identifier: MIT */
/* Headers to another node: what is carried, comes late, or is lost. The carrier here is an array,
 * and one process is both ends: what it sends to rank 1 comes back as if from rank 1. */
#include "lib/tap.h"
#include "mpi/answer.h"

enum { COMM = 7000, WIRE = 4096 };

static struct ring_slot wire[WIRE];
static int put, got;     /* sent, delivered */
static int deliver;      /* how many may be delivered */
static int drop;         /* that many are not sent */
static int polls, asked; /* times that fetch was called; since the last message */
static char somebody;

static struct twin *to(int32_t rank)
{
    return rank == 1 ? (struct twin *)&somebody : NULL;
}

static bool from(int32_t rank)
{
    return rank == 1;
}

static void carry(struct twin *t, const struct ring_slot *slot, const struct path_told *told)
{
    (void)t;
    (void)told;
    if (drop)
        drop--;
    else if (put < WIRE)
        wire[put++] = *slot;
}

static bool fetch(bool patience, uint64_t since)
{
    bool any = false;
    (void)since;
    polls++;
    for (; got < put && got < deliver; got++) {
        if (wire[got].statement == RING_ANSWER)
            answer_arrive(1, &wire[got], NULL);
        else
            ring_arrive(streams_ring_from(1), &wire[got], NULL);
        any = true;
    }
    return any || (patience && ++asked < 3);
}

static const struct ring_carrier carrier = {.to = to, .from = from, .send = carry, .fetch = fetch};

static void send_one(int tag, int number)
{
    struct stream spare, *s = stream_to(COMM, 1, tag, &spare);
    stream_publish(s, (uint64_t)(tag * 100000 + number), -number, (uint32_t)number, 8);
}

/* 1: the right one; 0: none; -1: another's. */
static int receive(int tag, int number)
{
    struct header h;
    struct stream spare, *s = stream_from(COMM, 1, tag, &spare);
    asked = 0;
    if (!stream_take(s, stream_post(s), 8, &h))
        return 0;
    return h.begin == tag * 100000 + number && h.delay == -number ? 1 : -1;
}

static void all_come(void)
{
    int right = 0;
    deliver = WIRE;
    for (int i = 1; i <= 50; i++) {
        send_one(1, i);
        send_one(2, i);
    }
    for (int i = 1; i <= 50; i++)
        right += receive(2, i) == 1;
    for (int i = 1; i <= 50; i++)
        right += receive(1, i) == 1;
    ok(right == 100, "headers that have come are found, in whatever order (%d)", right);
    struct stream spare;
    ok(!stream_kept(stream_to(COMM, 1, 1, &spare)), "the short way is for rings at hand");
    ok(!stream_to(COMM, 2, 1, &spare), "where nothing can be carried there are no headers");
}

static void late_ones(void)
{
    deliver = put;
    send_one(3, 1);
    ok(receive(3, 1) == 0, "one that does not come in time is missing");
    deliver = WIRE;
    send_one(3, 2);
    send_one(3, 3);
    ok(receive(3, 2) == 1 && receive(3, 3) == 1,
       "it is not taken for the next, and shifts nothing");
}

static void dropped_ones(void)
{
    send_one(4, 1);
    drop = 2;
    send_one(4, 2);
    send_one(4, 3);
    send_one(4, 4);
    ok(receive(4, 1) == 1, "before a gap: found");
    ok(receive(4, 2) == 0 && receive(4, 3) == 0, "what was not sent is missing");
    ok(receive(4, 4) == 1, "behind the gap: found");
    drop = RING_SLOTS + 100; /* more than are kept */
    for (int i = 5; i < 5 + RING_SLOTS + 100; i++)
        send_one(4, i);
    int last = 5 + RING_SLOTS + 100, wrong = 0;
    send_one(4, last);
    for (int i = 5; i < last; i++)
        wrong += receive(4, i) != 0;
    ok(!wrong && receive(4, last) == 1, "nor does a gap larger than all that is kept");
}

static void too_many(void)
{
    int right = 0, wrong = 0, most = RING_SLOTS + 200;
    for (int i = 1; i <= most; i++)
        send_one(5, i);
    for (int i = 1; i <= most; i++) {
        int result = receive(5, i);
        right += result == 1;
        wrong += result < 0;
    }
    ok(right >= RING_SLOTS - 2 && right <= RING_SLOTS && !wrong,
       "the last ones are kept (%d), none is another's (%d)", right, wrong);
}

static void withdrawn(void)
{
    struct stream spare, *s = stream_to(COMM, 1, 6, &spare);
    send_one(6, 1);
    send_one(6, 77); /* the message could not be sent */
    stream_withdraw_far(s);
    send_one(6, 2);
    ok(receive(6, 1) == 1 && receive(6, 2) == 1, "a header that was withdrawn is nobody's");
}

/* A rank that sends no headers at all must not cost its receivers time for ever. */
static void silence(void)
{
    int before;
    for (int i = 1; i <= RING_PATIENCE; i++)
        receive(7, i);
    before = polls;
    receive(7, RING_PATIENCE + 1);
    ok(polls - before == 1, "after some that were waited for in vain nothing is waited for");
    struct stream spare, *s = stream_to(COMM, 1, 7, &spare);
    s->count = RING_PATIENCE + 1; /* from now on it does */
    send_one(7, RING_PATIENCE + 2);
    ok(receive(7, RING_PATIENCE + 2) == 1, "what comes then is found");
    before = polls;
    receive(7, RING_PATIENCE + 3);
    ok(polls - before > 1, "and the next is waited for again");
}

/* Receives that were posted, of which the sender of their messages hears. */
static void answers(void)
{
    struct stream spare, other, *out = stream_to(COMM, 1, 9, &spare),
                                *in = stream_from(COMM, 1, 9, &other);
    struct header h = {0};
    deliver = WIRE;
    asked = 0;
    answer_publish(&loupe_nobody, in, 1, 500, -7);
    answer_publish(&loupe_nobody, in, 2, 900, 11);
    ok(answer_read(out, 2, 1 << 20, 1000, &h) == ANSWER_THERE && h.begin == 900 && h.delay == 11,
       "an answer comes back");
    ok(answer_read(out, 1, 1 << 20, 1000, &h) == ANSWER_THERE && h.begin == 500 && h.delay == -7,
       "whichever is asked for");
    ok(answer_read(out, 2, 1 << 20, 800, &h) == ANSWER_THERE && h.begin == 800,
       "clocks that say it was posted after the send has ended are wrong");
    deliver = put;
    answer_publish(&loupe_nobody, in, 3, 1000, 0);
    ok(answer_read(out, 3, 1 << 20, 2000, &h) == ANSWER_NONE, "one that is late is not there");
    for (int i = 0; i < RING_PATIENCE; i++) {
        asked = 0;
        (void)answer_read(out, 3, 1 << 20, 2000, &h);
    }
    polls = 0;
    ok(answer_read(out, 3, 1 << 20, 2000, &h) == ANSWER_NONE && polls == 1,
       "and waited for a few times only");
    deliver = WIRE;
    answer_publish(&loupe_nobody, in, 4 + ANSWERS, 3000, 0);
    ok(answer_read(out, 4, 1 << 20, 4000, &h) == ANSWER_NONE,
       "that of another message is not taken for it");
    ok(answer_read(out, 3, 1 << 20, 2000, &h) == ANSWER_THERE && h.begin == 1000,
       "the late one is there in the end");
}

int main(void)
{
    ring_carrier = &carrier;
    ok(streams_open(3, 0, false) == 0, "opens");
    all_come();
    late_ones();
    dropped_ones();
    too_many();
    withdrawn();
    silence();
    answers();
    return tap_done();
}
