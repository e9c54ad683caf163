/* SPDX-License-Identifier: MIT */
/*
 * A reader at full speed beside a writer at full speed: statistics of a statement never fall and
 * are never torn. The writer keeps to the protocol of layout.h and adds statements and peers while
 * it goes; each event takes its duration as its bytes, so that any mixture of two events shows.
 */
#include "record/reader.h"

#include "lib/tap.h"
#include "segments.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

enum { STATEMENTS = 30, PEERS = 40, EVENTS_BETWEEN = 20000, SECONDS = 2 };

static struct segment segment;
static _Atomic bool stop;
static uint64_t written;

static void put32(uint32_t *at, uint32_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static void put64(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static void event(struct record_thread *t, struct record_statement *r, struct record_peer *p,
                  uint32_t statement)
{
    uint64_t begin = __rdtsc();
    put64(&t->frames[0].begin, begin);
    put32(&t->frames[0].statement, statement);
    put32(&t->depth, 1);
    put32(&r->version, r->version + 1);
    uint64_t ticks = __rdtsc() - begin;
    put32(&t->depth, 0);
    put64(&r->count, r->count + 1);
    put64(&r->time, r->time + ticks);
    put64(&r->self, r->self + ticks);
    put64(&r->bytes, r->bytes + 7);
    put64(&r->sizes[3], r->sizes[3] + 1);
    if (p) {
        put64(&p->count, p->count + 1);
        put64(&p->bytes, p->bytes + 7);
    }
    put32(&r->version, r->version + 1);
    written++;
}

/* Statement 0 has no peers and is by far the busiest, as a loop around MPI_Iprobe is. */
static void *writer(void *none)
{
    struct record_thread *t = segment_thread(&segment);
    struct record_statement *statements[STATEMENTS] = {0};
    struct record_peer *peers[STATEMENTS][PEERS] = {0};
    uint64_t round = 0;
    for (; !stop; round++) {
        uint32_t s = (uint32_t)(round % STATEMENTS), p = (uint32_t)(round / STATEMENTS % PEERS);
        if (!statements[s])
            statements[s] = segment_statement(&segment, 0, 0, RECORD_NO_MODULE, s, NULL);
        if (s && !peers[s][p])
            peers[s][p] = segment_peer(&segment, 0, s, (int32_t)p, RECORD_SENT);
        for (int i = 0; i < EVENTS_BETWEEN && !stop; i++)
            event(t, statements[s], peers[s][p], s);
    }
    return none;
}

static struct {
    uint64_t count, time, self, peer_count, peer_bytes;
    bool mixed;
} before[STATEMENTS], now[STATEMENTS];
static uint64_t fell, torn_fields, torn_peers;

static void on_statement(void *data, uint32_t block, uint32_t s, const struct record_statement *r)
{
    (void)data;
    (void)block;
    if (s >= STATEMENTS)
        return;
    now[s].count = r->count;
    now[s].time = r->time;
    now[s].self = r->self;
    now[s].mixed = r->bytes != 7 * r->count || r->sizes[3] != r->count || r->time != r->self;
}

static void on_peer(void *data, uint32_t block, const struct record_peer *p)
{
    (void)data;
    (void)block;
    now[p->statement].peer_count += p->count;
    now[p->statement].peer_bytes += p->bytes;
}

static void compare(void)
{
    for (int s = 0; s < STATEMENTS; s++) {
        fell += now[s].count < before[s].count || now[s].time < before[s].time ||
                now[s].self < before[s].self;
        torn_fields += now[s].mixed;
        if (s)
            torn_peers +=
                now[s].peer_count != now[s].count || now[s].peer_bytes != 7 * now[s].count;
        before[s] = now[s];
        now[s].peer_count = now[s].peer_bytes = 0;
    }
}

int main(void)
{
    char root[128];
    int dir = segment_begin(root, sizeof root);
    struct record_reader *reader = NULL;
    struct record_visitor visitor = {.statement = on_statement, .peer = on_peer};
    pthread_t thread;
    long passes = 0, torn = 0;
    segment = segment_new(dir, "live");
    segment.header->tick_ns = 0.4;
    ok(!pthread_create(&thread, NULL, writer, NULL), "a writer runs");
    ok(!record_open(dir, -1, "live", &reader), "its segment is opened");
    time_t end = time(NULL) + SECONDS;
    for (; time(NULL) < end; passes++) {
        memset(now, 0, sizeof now);
        int got = record_visit(reader, record_now(reader), &visitor);
        torn += got > 0;
        if (!got) /* where the writer lost its core within an event, it may be half counted */
            compare();
    }
    stop = true;
    pthread_join(thread, NULL);
    uint64_t total = 0;
    memset(now, 0, sizeof now);
    record_visit(reader, 0, &visitor);
    for (int s = 0; s < STATEMENTS; s++)
        total += now[s].count;
    printf("# %ld passes, %ld with a torn one, %lu events\n", passes, torn, (unsigned long)written);
    /* Under the thread sanitizer the reader is slowed far more than the writer: there it is about
     * races, not about how often. */
#ifdef __SANITIZE_THREAD__
    const long enough = 10, torn_most = passes;
#else
    const long enough = 100, torn_most = passes / 100;
#endif
    ok(passes > enough, "it was read often enough");
    ok(fell == 0, "count, time and self never fall (%lu)", (unsigned long)fell);
    ok(torn_fields == 0, "fields of a statement belong together (%lu)", (unsigned long)torn_fields);
    ok(torn_peers == 0, "a statement and its peers belong together (%lu)",
       (unsigned long)torn_peers);
    ok(torn <= torn_most, "statements hardly ever stay torn");
    ok(total == written, "in the end every event is there");
    record_close(reader);
    segment_drop(&segment);
    close(dir);
    segment_end(root);
    return tap_done();
}
