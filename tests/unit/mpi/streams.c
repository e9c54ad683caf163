/* SPDX-License-Identifier: MIT */
/* Which header a message gets. A sender puts into `begin` what the message is: 1000 times the tag,
 * plus the number in the stream; the receiver looks whether it got that. */
#include "mpi/answer.h"
#include "ranks.h"

enum { MILLION = 1000000 };

static int64_t name_of(int tag, int number)
{
    return (int64_t)tag * 10000000 + number;
}

static void send_one(int tag, int number)
{
    struct stream spare, *s = stream_to(COMM, 0, tag, &spare);
    stream_publish(s, (uint64_t)name_of(tag, number), -number, (uint32_t)number, (uint64_t)number);
}

/* 1: the right one; 0: none; -1: another's. */
static int receive_as(int tag, uint32_t posted, int number)
{
    struct header h;
    struct stream spare, *s = stream_from(COMM, 1, tag, &spare);
    if (!stream_take(s, posted, (uint64_t)number, &h))
        return 0;
    return h.begin == name_of(tag, number) && h.delay == -number && h.statement == (uint32_t)number
               ? 1
               : -1;
}

static uint32_t post(int tag)
{
    struct stream spare;
    return stream_post(stream_from(COMM, 1, tag, &spare));
}

static int receive(int tag, int number)
{
    return receive_as(tag, post(tag), number);
}

static void count(int got)
{
    common->result[got < 0 ? 2 : got]++;
}

/* ---- a million before the first is taken ---- */

static void send_million(void)
{
    for (int i = 1; i <= MILLION; i++)
        send_one(5, i);
    reach(1);
    await(2);
    for (int i = 1; i <= 100; i++)
        send_one(5, MILLION + i);
    reach(3);
}

static void receive_million(void)
{
    await(1);
    for (int i = 1; i <= MILLION; i++)
        count(receive(5, i));
    reach(2);
    await(3);
    for (int i = 1; i <= 100; i++)
        common->result[3] += receive(5, MILLION + i) == 1;
}

/* ---- sender and receiver run at once; the sender overtakes at will ---- */

/* By turns well behind what the ring holds, and well beyond. */
static void send_flood(void)
{
    for (int i = 1; i <= MILLION; i++) {
        uint64_t most = i / 5000 % 2 ? 2 * RING_SLOTS : RING_SLOTS / 4;
        alarm(STEPS_SECONDS);
        while ((uint64_t)i > __atomic_load_n(&common->result[15], __ATOMIC_ACQUIRE) + most)
            sched_yield();
        send_one(i % 3, (i + 2) / 3);
        reach((uint32_t)i);
    }
}

static void receive_flood(void)
{
    for (int i = 1; i <= MILLION; i++) {
        await((uint32_t)i);
        count(receive(i % 3, (i + 2) / 3));
        __atomic_store_n(&common->result[15], (uint64_t)i, __ATOMIC_RELEASE);
    }
}

/* ---- tags in another order than sent; posted and completed in another order ---- */

static void send_tags(void)
{
    for (int i = 1; i <= 100; i++)
        for (int tag = 0; tag < 4; tag++)
            send_one(tag, i);
    reach(1);
}

static void receive_tags(void)
{
    uint32_t posted[101];
    await(1);
    for (int tag = 3; tag >= 2; tag--)
        for (int i = 1; i <= 100; i++)
            count(receive(tag, i));
    for (int i = 1; i <= 100; i++)
        posted[i] = post(1);
    for (int i = 100; i >= 1; i--) /* the last posted is waited for first */
        count(receive_as(1, posted[i], i));
    for (int i = 1; i <= 100; i++)
        count(receive(0, i));
}

/* ---- some messages have no header ---- */

static void send_partly(void)
{
    for (int i = 1; i <= 10; i++) /* 4 and 5 are sent past us: with other numbers from then on */
        if (i != 4 && i != 5)
            send_one(1, i);
    reach(1);
}

static void receive_partly(void)
{
    await(1);
    for (int i = 1; i <= 10; i++)
        common->result[3 + i] = (uint64_t)receive(1, i);
}

/* ---- nobody publishes ---- */

static void send_nothing(void)
{
    reach(1);
    await(2);
    send_one(1, 8);
    reach(3);
}

static void receive_nothing(void)
{
    await(1);
    for (int i = 1; i <= 7; i++)
        count(receive(1, i));
    reach(2);
    await(3);
    common->result[3] = (uint64_t)receive(1, 8);
}

/* ---- more streams than are counted ---- */

enum { TAGS = STREAMS_MAX + 2000, ROUNDS = 3 };

static void send_many(void)
{
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t tag = 0; tag < TAGS; tag += 100) {
            for (uint32_t i = 0; i < 100 && tag + i < TAGS; i++)
                send_one((int)(tag + i), (int)round + 1);
            reach((round * TAGS + tag) * 2 + 1);
            await((round * TAGS + tag) * 2 + 2);
        }
    for (int i = 1; i <= 2 * RING_SLOTS; i++) /* now lose some of one that is not counted */
        send_one(TAGS - 1, ROUNDS + i);
    reach(UINT32_MAX - 2);
    await(UINT32_MAX - 1);
    send_one(TAGS - 1, 9999);
    reach(UINT32_MAX);
}

static void receive_many(void)
{
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t tag = 0; tag < TAGS; tag += 100) {
            await((round * TAGS + tag) * 2 + 1);
            for (uint32_t i = 100; i-- > 0;)
                if (tag + i < TAGS)
                    count(receive((int)(tag + i), (int)round + 1));
            reach((round * TAGS + tag) * 2 + 2);
        }
    await(UINT32_MAX - 2);
    for (int i = 1; i <= 2 * RING_SLOTS; i++)
        if (receive(TAGS - 1, ROUNDS + i))
            common->result[3]++;
    reach(UINT32_MAX - 1);
    await(UINT32_MAX);
    common->result[4] = (uint64_t)receive(TAGS - 1, 9999);
}

/* ---- a lost header in one stream, others go on ---- */

static void send_lossy(void)
{
    send_one(1, 1);
    for (int i = 1; i <= RING_SLOTS; i++) /* the first of stream 1 is gone */
        send_one(2, i);
    send_one(1, 2); /* and the first of stream 2 */
    send_one(1, 3); /* and its second */
    reach(1);
}

static void receive_lossy(void)
{
    await(1);
    for (int i = 1; i <= 3; i++)
        common->result[3 + i] = (uint64_t)receive(1, i);
    for (int i = 1; i <= RING_SLOTS; i++)
        count(receive(2, i));
}

/* ---- what goes back to the sender ---- */

enum { LONG = 100000 };

static void send_answered(void)
{
    struct header h;
    struct stream spare, *s = stream_to(COMM, 0, 1, &spare);
    stream_publish(s, 10, 0, 0, LONG);
    stream_publish(s, 20, 0, 0, LONG);
    stream_publish(s, 30, 0, 0, LONG);
    common->result[0] = answer_read(s, 1, LONG, 1000, &h) == ANSWER_NONE;
    reach(1);
    await(2);
    common->result[1] =
        answer_read(s, 2, LONG, 1000, &h) == ANSWER_THERE && h.begin == 500 && h.delay == -7;
    common->result[2] = answer_read(s, 1, LONG, 1000, &h) == ANSWER_NONE;
    common->result[3] =
        answer_read(s, 3, LONG, 600, &h) == ANSWER_NOT_NEEDED && s->out->eager == LONG;
    common->result[4] = answer_read(s, 2 + ANSWERS, LONG, 1000, &h) == ANSWER_NONE;
}

static void receive_answering(void)
{
    struct stream spare, *s = stream_from(COMM, 1, 1, &spare);
    await(1);
    answer_publish(&loupe_nobody, s, 2, 500, -7);
    answer_publish(&loupe_nobody, s, 3, 700, 0);
    reach(2);
}

int main(void)
{
    const uint64_t *r;
    common_open();
    r = common->result;
    ok(run_ranks(receive_million, send_million), "a million headers, then their messages");
    ok(r[1] >= RING_SLOTS - 1 && r[1] <= RING_SLOTS && r[2] == 0 && r[0] == MILLION - r[1],
       "those that the ring holds are paired (%lu), the others missing, none is another's (%lu)",
       r[1], r[2]);
    ok(r[3] == 100, "after the loss every message has its own");

    ok(run_ranks(receive_flood, send_flood), "a sender that overtakes the receiver");
    ok(r[1] > MILLION / 3 && !r[2], "%lu paired, %lu missing, none another's (%lu)", r[1], r[0],
       r[2]);

    ok(run_ranks(receive_tags, send_tags), "tags in another order");
    ok(r[1] == 400 && !r[0] && !r[2], "each message has its own: %lu", r[1]);

    ok(run_ranks(receive_partly, send_partly), "a sender that skips two");
    ok(r[4] == 1 && r[5] == 1 && r[6] == 1, "before that, each has its own");
    ok(r[7] == 0 && r[8] == 0, "they have none: the sizes say that the next is not theirs");
    ok(r[9] == 1 && r[10] == 1 && r[13] == 1, "after that, each has its own");

    ok(run_ranks(receive_nothing, send_nothing), "a sender without headers");
    ok(r[0] == 7 && r[3] == 1, "seven are missing, and the first that has one gets it");

    ok(run_ranks(receive_many, send_many), "more streams than are counted");
    ok(r[1] == (uint64_t)TAGS * ROUNDS && !r[2], "each message has its own: %lu", r[1]);
    ok(r[3] == 0, "a stream that is not counted finds none after a loss");
    ok(r[4] == 1, "until it has run dry");

    ok(run_ranks(receive_lossy, send_lossy), "lost headers of two streams");
    ok(r[4] == 0 && r[5] == 1 && r[6] == 1, "the first is missing, the others are paired");
    ok(r[1] == RING_SLOTS - 2 && r[0] == 2 && !r[2], "so in the other stream");

    ok(run_ranks(receive_answering, send_answered), "answers to a sender");
    ok(r[0], "none before any receive was posted");
    ok(r[1], "of the message that it is about");
    ok(r[2] && r[4], "not of another");
    ok(r[3], "a send that ended before its receive was posted did not wait");
    common_close();
    return tap_done();
}
