/* SPDX-License-Identifier: MIT */
#include "mpi/stream.h"

#include "mpi/anchor.h"
#include "runtime/process.h"

#include <errno.h>
#include <string.h>

enum { BUCKETS = 1024 };

/* One direction: streams by communicator, rank and tag; rings by rank. */
struct streams {
    struct stream *buckets[BUCKETS];
    uint32_t count;
    void **rings; /* struct ring_out or ring_in, made at the first use */
};

bool streams_multiple, streams_midway;
int32_t streams_self = INT32_MIN;
static struct streams out, in;
static int32_t ranks, own_rank;
static uint32_t lock;
static char no_ring; /* asked for, and there is no room */

int streams_open(int32_t count, int32_t me, bool multiple)
{
    size_t bytes = (size_t)count * sizeof(void *);
    void **memory = count > 0 ? pages_alloc(2 * bytes) : NULL;
    if (!memory)
        return -ENOMEM;
    out.rings = memory;
    in.rings = memory + count;
    own_rank = me;
    streams_multiple = multiple;
    ranks = count;
    return 0;
}

/* Left over from the last time, to be used again. */
static struct stream *free_streams;
static struct free_ring {
    struct free_ring *next;
} * free_rings;
enum {
    RING_BYTES = sizeof(struct ring_in) > sizeof(struct ring_out) ? sizeof(struct ring_in)
                                                                  : sizeof(struct ring_out)
};

int streams_open_midway(int32_t count, int32_t me)
{
    int error = streams_open(count, me, false);
    streams_midway = !error;
    return error;
}

static void leave(struct streams *way)
{
    for (int32_t i = 0; i < ranks; i++)
        if (way->rings[i] && way->rings[i] != &no_ring) {
            struct free_ring *r = way->rings[i];
            r->next = free_rings;
            free_rings = r;
        }
    for (int i = 0; i < BUCKETS; i++)
        for (struct stream *s = way->buckets[i], *next; s; s = next) {
            next = s->next;
            s->next = free_streams;
            free_streams = s;
        }
    memset(way, 0, sizeof *way);
}

void streams_leave(void)
{
    void **rings = out.rings;
    leave(&out);
    leave(&in);
    anchors_leave();
    pages_free(rings, 2 * (size_t)ranks * sizeof *rings);
    ranks = 0;
    streams_self = INT32_MIN;
    streams_midway = false;
}

void streams_mixed(uint64_t comm)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct stream *s = in.buckets[i]; s; s = s->next)
            if (s->comm == comm && s->midway)
                anchor_mixed(s);
}

static void *new_ring(void)
{
    struct free_ring *r = free_rings;
    if (r)
        free_rings = r->next;
    return r ? (void *)r : arena_alloc(RING_BYTES);
}

void streams_alone(void)
{
    streams_self = own_rank;
}

static uint64_t mix(uint64_t comm, int32_t rank, int32_t tag)
{
    uint64_t x = comm ^ (uint64_t)(uint32_t)tag * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x ^= (uint64_t)(uint32_t)rank * 0xc2b2ae3d27d4eb4fu;
    return x ^ x >> 29;
}

/* To another node nobody could read it: it is carried there. */
static void *new_ring_out(int32_t rank)
{
    bool here = board_of(rank);
    struct twin *far = !here && ring_carrier ? ring_carrier->to(rank) : NULL;
    void *slots = NULL;
    if (here)
        slots = board_area(BOARD_RING, (uint64_t)rank, RING_SLOTS * sizeof(struct ring_slot));
    struct ring_out *r = slots || far ? new_ring() : NULL;
    if (r)
        *r = (struct ring_out){.slots = slots,
                               .next = 1,
                               .careful = streams_multiple || far,
                               .far = far,
                               .me = own_rank,
                               .patience = RING_PATIENCE};
    return r;
}

static void *new_ring_in(int32_t rank)
{
    bool here = board_of(rank);
    struct ring_slot *slots = NULL;
    if (!here && ring_carrier && ring_carrier->from(rank))
        slots = pages_alloc(RING_SLOTS * sizeof *slots);
    struct ring_in *r = here || slots ? new_ring() : NULL;
    if (r)
        ring_open_in(r, rank, own_rank, slots);
    return r;
}

/* Asked for once only: where there was no room there will be none. */
static void *ring_of(struct streams *way, int32_t rank)
{
    if (!way->rings[rank]) {
        void *r = way == &out ? new_ring_out(rank) : new_ring_in(rank);
        way->rings[rank] = r ? r : &no_ring;
    }
    return way->rings[rank] == &no_ring ? NULL : way->rings[rank];
}

static void fill(struct stream *s, struct streams *way, uint64_t comm, int32_t rank, int32_t tag)
{
    *s = (struct stream){
        .comm = comm, .rank = rank, .tag = tag, .key = (uint32_t)(mix(comm, 0, tag) >> 16)};
    if (way == &out) {
        s->out = ring_of(way, rank);
        s->far = s->out && s->out->far;
    } else {
        s->in = ring_of(way, rank);
        s->far = s->in && s->in->far;
        if (streams_midway)
            anchor_begin(s);
    }
}

static struct stream *new_stream(void)
{
    struct stream *s = free_streams;
    if (s)
        free_streams = s->next;
    return s ? s : arena_alloc(sizeof *s);
}

static struct stream *find(struct streams *way, uint64_t comm, int32_t rank, int32_t tag,
                           struct stream *spare)
{
    struct stream **at = &way->buckets[mix(comm, rank, tag) % BUCKETS], *s = *at;
    while (s && (s->comm != comm || s->rank != rank || s->tag != tag))
        s = s->next;
    if (s)
        return s;
    fill(spare, way, comm, rank, tag);
    if (!spare->out)
        return NULL;
    s = way->count < STREAMS_MAX ? new_stream() : NULL;
    if (!s && streams_midway)
        return NULL;
    if (!s) {
        spare->loose = true;
        return spare;
    }
    *s = *spare;
    s->next = *at;
    *at = s;
    way->count++;
    anchors_wanted += s->midway;
    return s;
}

static struct stream *ask(struct streams *way, uint64_t comm, int32_t rank, int32_t tag,
                          struct stream *spare)
{
    if (!comm || rank < 0 || rank >= ranks || rank == streams_self)
        return NULL;
    if (streams_multiple)
        slow_lock(&lock);
    struct stream *s = find(way, comm, rank, tag, spare);
    if (streams_multiple)
        slow_unlock(&lock);
    return s;
}

struct stream *stream_to(uint64_t comm, int32_t rank, int32_t tag, struct stream *spare)
{
    return ask(&out, comm, rank, tag, spare);
}

struct stream *stream_from(uint64_t comm, int32_t rank, int32_t tag, struct stream *spare)
{
    return ask(&in, comm, rank, tag, spare);
}

struct ring_in *streams_ring_from(int32_t rank)
{
    return rank >= 0 && rank < ranks ? ring_of(&in, rank) : NULL;
}

struct ring_out *streams_ring_to(int32_t rank)
{
    return rank >= 0 && rank < ranks && out.rings[rank] ? ring_of(&out, rank) : NULL;
}

/* What goes beside a header: in the board, or told in full to another node. */
struct beside {
    struct carried carried;
    const struct path_told *told;
    bool known;
};

static void publish(struct stream *s, uint64_t begin, int64_t delay, uint32_t statement,
                    uint64_t bytes, const struct beside *path)
{
    struct ring_out *r = s->out;
    if (streams_multiple)
        slow_lock(&r->lock);
    s->count++;
    if (r->far) {
        struct ring_slot slot;
        ring_fill(&slot, s->key, s->count, begin, delay, statement, bytes);
        slot.number = (uint32_t)r->next++;
        ring_carrier->send(r->far, &slot, path ? path->told : NULL);
    } else {
        if (path && path->known)
            carry_write(&r->paths[r->next % RING_SLOTS], r->next, &path->carried);
        ring_publish(r, s->key, s->count, begin, delay, statement, bytes);
    }
    if (streams_multiple)
        slow_unlock(&r->lock);
}

void stream_publish_careful(struct stream *s, uint64_t begin, int64_t delay, uint32_t statement,
                            uint64_t bytes)
{
    publish(s, begin, delay, statement, bytes, NULL);
}

static bool has_paths(struct ring_out *r, int32_t rank)
{
    if (!r->paths && !r->no_paths) {
        r->paths = board_area(BOARD_RING_PATHS, (uint64_t)rank, RING_SLOTS * sizeof *r->paths);
        r->no_paths = !r->paths;
    }
    return r->paths;
}

void stream_publish_path(struct thread *t, struct stream *s, uint64_t begin, int64_t delay,
                         uint32_t statement, uint64_t bytes)
{
    struct beside path = {.known = false};
    struct path_told told;
    statement = (statement & ~(RING_LOOSE | RING_PATH)) | (s->loose ? RING_LOOSE : 0);
    if (s->out->far) {
        path_tell(t, t->path->last, &told);
        path.told = &told;
        path.known = true;
    } else {
        path.known = has_paths(s->out, s->rank) && carry_now(t, s->rank, &path.carried);
    }
    publish(s, begin, delay, statement | (path.known ? RING_PATH : 0), bytes, &path);
}

/* The message was not sent: the next one gets its number, and there must not be two of that. */
void stream_withdraw_far(struct stream *s)
{
    struct ring_out *r = s->out;
    struct ring_slot slot = {
        .number = (uint32_t)r->next++, .key = s->key, .stream = s->count--, .statement = RING_VOID};
    ring_carrier->send(r->far, &slot, NULL);
}

/* Not counted by us, or with messages in between that had no header. */
enum ring_result stream_take_slow(struct stream *s, uint32_t number, uint64_t bytes,
                                  struct header *h)
{
    if (s->midway)
        return anchor_take(s, number, bytes, h);
    enum ring_order order = s->loose ? RING_BY_ORDER : RING_BY_NUMBER;
    enum ring_result result = ring_take_slow(s->in, s->key, order, number - s->unsent, bytes, h);
    if (result == RING_NONE)
        s->unsent++;
    return result;
}
