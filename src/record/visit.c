/* SPDX-License-Identifier: MIT */
/*
 * One pass over the records of a live segment.
 *
 * The copy of a statement, its peers and its open frames is good when the statement's version was
 * even and the same before and after. A busy statement changes every few tens of nanoseconds, so
 * what lies between must be short: plain loads from the mapping, no system call. (Copies by pread
 * would be safe from files that are cut, but take longer than such a statement ever stands still;
 * hence the mapping and the guard around it.)
 */
#include "base/alloc.h"
#include "record/segment.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TRIES_SPIN = 64,      /* per statement, whatever happens */
    TRIES_MORE = 1 << 20, /* per pass, for statements that need more than that */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    NAPS = 0, /* there is no writer to wait for */
#else
    NAPS = 20, /* per pass, some 50 ms in all: time for a preempted writer to come back */
#endif
    NAP_NS = 50000, /* the first; then twice as long each time */
    NAP_NS_MAX = 3200000,
    TRIES_PER_NAP = 256
};

/* A chunk that was found in the first look at all heads. */
struct chunk_ref {
    const struct record_chunk *chunk;
    uint32_t index, block, used;
};

struct chunk_list {
    struct chunk_ref *refs;
    size_t count, room;
};

struct peer_ref {
    const struct record_peer *live;
    uint32_t next; /* of the same statement; NO_PEER: none */
};
#define NO_PEER UINT32_MAX

struct visit {
    struct record_reader *reader;
    const struct record_visitor *to;
    uint64_t now, margin;
    struct chunk_list lists[RECORD_KINDS];
    const struct record_chunk *next_free; /* when chunks with peers were first looked for */
    size_t modules, names, threads;
    int torn;
    long tries_left;
    int naps;
};

/* The block that is being read. */
struct block {
    uint32_t index;
    const struct record_thread *thread;
    struct chunk_list statements;
    uint32_t statement_count;
    struct chunk_list peers;              /* of this block, in order */
    const struct record_chunk *next_free; /* when they were listed; NULL: none */
    uint32_t *first_peer;                 /* by statement */
    struct peer_ref *refs;
    size_t ref_count, ref_room;
    struct record_peer *copies; /* of the statements read so far */
    size_t copy_count, copy_room;
};

static const uint32_t per_chunk[RECORD_KINDS] = {
    [RECORD_KIND_THREADS] = RECORD_PER_CHUNK(struct record_thread),
    [RECORD_KIND_MODULES] = RECORD_PER_CHUNK(struct record_module),
    [RECORD_KIND_NAMES] = RECORD_PER_CHUNK(struct record_name),
    [RECORD_KIND_STATEMENTS] = RECORD_PER_CHUNK(struct record_statement),
    [RECORD_KIND_PEERS] = RECORD_PER_CHUNK(struct record_peer),
};

static const void *record_in(const struct record_chunk *chunk, size_t size, uint32_t slot)
{
    return (const char *)(chunk + 1) + slot * size;
}

static void add_chunk(struct visit *v, uint32_t kind, const struct record_chunk *chunk,
                      uint32_t index)
{
    struct chunk_ref ref = {chunk, index, segment_load32(&chunk->block),
                            segment_load32(&chunk->used)};
    if (segment_load64(&chunk->nonce) != v->reader->header.nonce) {
        v->reader->damaged = true;
        return;
    }
    if (ref.used > per_chunk[kind]) { /* the place counts for later indexes, its records do not */
        v->reader->damaged = true;
        ref.used = 0;
    }
    struct chunk_list *list = &v->lists[kind];
    *VEC_PUSH(list->refs, list->count, list->room) = ref;
}

/* Looks at all chunks and lists those of the wanted kinds; `block` is UINT32_MAX for any. Returns
 * the first free one, which will be taken next; NULL: none. */
static const struct record_chunk *scan(struct visit *v, unsigned kinds, uint32_t block)
{
    uint32_t index = 0;
    const struct record_chunk *next_free = NULL;
    for (int e = 0; e < RECORD_EXTENTS; e++) {
        const struct segment_map *map = &v->reader->extents[e];
        for (size_t at = 0; map->start && at < map->bytes; at += RECORD_CHUNK, index++) {
            const struct record_chunk *chunk = (const void *)(map->start + at);
            uint32_t kind = segment_load32(&chunk->kind);
            if (kind >= RECORD_KINDS)
                v->reader->damaged = true;
            else if (kind == RECORD_KIND_FREE)
                next_free = next_free ? next_free : chunk;
            else if ((kinds >> kind & 1) &&
                     (block == UINT32_MAX || segment_load32(&chunk->block) == block))
                add_chunk(v, kind, chunk, index);
        }
    }
    return next_free;
}

static int compare_refs(const void *pa, const void *pb)
{
    const struct chunk_ref *a = pa, *b = pb;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void sort_by_block(struct chunk_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (compare_refs(&list->refs[i - 1], &list->refs[i]) > 0) {
            qsort(list->refs, list->count, sizeof *list->refs, compare_refs);
            return;
        }
}

/* Number of records up to the last one in use, gaps included. */
static size_t records_in(const struct chunk_list *list, int kind)
{
    return list->count ? (list->count - 1) * per_chunk[kind] + list->refs[list->count - 1].used : 0;
}

static void give_modules(struct visit *v)
{
    const struct chunk_list *list = &v->lists[RECORD_KIND_MODULES];
    for (size_t c = 0; c < list->count; c++)
        for (uint32_t i = 0; i < list->refs[c].used; i++) {
            struct record_module copy;
            segment_copy(&copy, record_in(list->refs[c].chunk, sizeof copy, i), sizeof copy);
            if (copy.build_id_len > sizeof copy.build_id || copy.path_len > sizeof copy.path) {
                v->reader->damaged = true;
                copy.build_id_len = copy.path_len = 0;
            }
            if (v->to->module)
                v->to->module(v->to->data, (uint32_t)c * per_chunk[RECORD_KIND_MODULES] + i, &copy);
        }
}

static void give_names(struct visit *v)
{
    const struct chunk_list *list = &v->lists[RECORD_KIND_NAMES];
    for (size_t c = 0; c < list->count; c++)
        for (uint32_t i = 0; i < list->refs[c].used; i++) {
            _Alignas(8) struct record_name copy;
            segment_copy(&copy, record_in(list->refs[c].chunk, sizeof copy, i), sizeof copy);
            if (copy.len > sizeof copy.text) {
                v->reader->damaged = true;
                copy.len = 0;
            }
            if (v->to->name)
                v->to->name(v->to->data, (uint32_t)c * per_chunk[RECORD_KIND_NAMES] + i, &copy);
        }
}

static void index_peers(struct block *b, struct chunk_ref *ref, uint32_t from)
{
    for (uint32_t i = from; i < ref->used; i++) {
        const struct record_peer *live = record_in(ref->chunk, sizeof *live, i);
        uint32_t statement = segment_load32(&live->statement);
        if (statement >= b->statement_count) {
            /* One that is younger than this pass, or nonsense: neither is looked up. */
            continue;
        }
        *VEC_PUSH(b->refs, b->ref_count, b->ref_room) =
            (struct peer_ref){live, b->first_peer[statement]};
        b->first_peer[statement] = (uint32_t)(b->ref_count - 1);
    }
}

/* No peer has been added to the block since they were indexed. A few loads: it stands between the
 * two looks at a version. */
static bool peers_complete(const struct visit *v, const struct block *b)
{
    if (b->peers.count) {
        const struct chunk_ref *last = &b->peers.refs[b->peers.count - 1];
        uint32_t used = segment_load32(&last->chunk->used);
        if (used != last->used && used <= per_chunk[RECORD_KIND_PEERS])
            return false;
        if (used < per_chunk[RECORD_KIND_PEERS])
            return true;
    }
    if (!b->next_free)
        return !segment_grown(v->reader);
    return segment_load32(&b->next_free->kind) == RECORD_KIND_FREE;
}

static void more_peers(struct visit *v, struct block *b)
{
    uint32_t known = 0;
    if (b->peers.count) {
        struct chunk_ref *last = &b->peers.refs[b->peers.count - 1];
        uint32_t from = last->used, used = segment_load32(&last->chunk->used);
        known = last->index + 1;
        if (used > from && used <= per_chunk[RECORD_KIND_PEERS]) {
            last->used = used;
            index_peers(b, last, from);
        }
    }
    v->lists[RECORD_KIND_PEERS].count = 0; /* every block has its own list by now */
    segment_grow(v->reader);
    b->next_free = scan(v, 1u << RECORD_KIND_PEERS, b->index);
    for (size_t i = 0; i < v->lists[RECORD_KIND_PEERS].count; i++) {
        struct chunk_ref ref = v->lists[RECORD_KIND_PEERS].refs[i];
        if (ref.index < known)
            continue;
        *VEC_PUSH(b->peers.refs, b->peers.count, b->peers.room) = ref;
        index_peers(b, &ref, 0);
    }
}

static uint64_t open_time(const struct visit *v, uint64_t begin)
{
    return v->now > begin && v->now - begin > v->margin ? v->now - begin - v->margin : 0;
}

/*
 * Adds the time of open frames of this statement. The thread goes on meanwhile: a frame counts if
 * it reads the same twice with the depth above it in between. Then it was open all that time,
 * whichever order its words are written in; a frame that changes was not open long.
 */
static void add_open_frames(const struct visit *v, const struct block *b, uint32_t statement,
                            struct record_statement *copy)
{
    const struct record_thread *t = b->thread;
    uint64_t time = 0; /* of the outermost: a region inside itself is not timed twice */
    for (uint32_t i = 0; !time && i < RECORD_FRAMES && i < segment_load32(&t->depth); i++) {
        uint64_t begin = segment_load64(&t->frames[i].begin);
        if (segment_load32(&t->frames[i].statement) != statement ||
            segment_load32(&t->depth) <= i || segment_load64(&t->frames[i].begin) != begin ||
            segment_load32(&t->frames[i].statement) != statement || segment_load32(&t->depth) <= i)
            continue;
        time = open_time(v, begin);
    }
    copy->time += time + (copy->open ? open_time(v, copy->open) : 0);
    if (copy->call != RECORD_CALL_REGION)
        copy->self = copy->time; /* nothing else is timed inside; the writer leaves it to us */
}

static bool is_void(const struct visit *v, const struct block *b)
{
    const struct record_header *live = (const void *)v->reader->live.start;
    uint32_t asked = segment_load32(&live->control.word) >> RECORD_CONTROL_RESET_SHIFT;
    return segment_load32(&b->thread->resets) < asked;
}

static void copy_peers(struct block *b, uint32_t statement)
{
    for (uint32_t i = b->first_peer[statement]; i != NO_PEER; i = b->refs[i].next) {
        struct record_peer *copy = VEC_PUSH(b->copies, b->copy_count, b->copy_room);
        segment_copy(copy, b->refs[i].live, sizeof *copy);
    }
}

/* One try: true if nothing of it changed meanwhile. */
static bool try_statement(struct visit *v, struct block *b, uint32_t statement,
                          const struct record_statement *live, struct record_statement *copy)
{
    uint32_t version = segment_load32(&live->version);
    if (version & 1)
        return false;
    size_t copies = b->copy_count;
    segment_copy(copy, live, sizeof *copy);
    copy_peers(b, statement);
    add_open_frames(v, b, statement, copy);
    bool complete = peers_complete(v, b);
    if (complete && segment_load32(&live->version) == version)
        return true;
    b->copy_count = copies;
    if (!complete)
        more_peers(v, b);
    return false;
}

static bool patience(struct visit *v, int tries)
{
    if (tries < TRIES_SPIN) {
        __builtin_ia32_pause();
        return true;
    }
    if (v->tries_left-- <= 0)
        return false;
    if (tries % TRIES_PER_NAP)
        return true;
    if (v->naps >= NAPS)
        return false;
    long nap = v->naps < 6 ? (long)NAP_NS << v->naps : NAP_NS_MAX;
    v->naps++;
    sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    return true;
}

static void read_statement(struct visit *v, struct block *b, uint32_t statement,
                           const struct record_statement *live, struct record_statement *copy)
{
    for (int tries = 0; !try_statement(v, b, statement, live, copy); tries++)
        if (!patience(v, tries)) {
            segment_copy(copy, live, sizeof *copy);
            copy_peers(b, statement);
            add_open_frames(v, b, statement, copy);
            v->torn++;
            return;
        }
}

static bool statement_valid(const struct visit *v, const struct record_statement *s)
{
    if (s->module != RECORD_NO_MODULE && s->module >= v->modules)
        return false;
    return s->call != RECORD_CALL_REGION || s->name < v->names;
}

static void give_peers(struct visit *v, struct block *b)
{
    for (size_t i = 0; i < b->copy_count; i++) {
        const struct record_peer *p = &b->copies[i];
        if (p->statement >= b->statement_count || p->rank < RECORD_PEER_FOREIGN ||
            p->direction >= RECORD_DIRECTIONS)
            v->reader->damaged = true;
        else if (v->to->peer)
            v->to->peer(v->to->data, b->index, p);
    }
}

static void give_statements(struct visit *v, struct block *b)
{
    uint32_t first = 0;
    for (size_t c = 0; c < b->statements.count; c++) {
        const struct chunk_ref *ref = &b->statements.refs[c];
        for (uint32_t i = 0; i < ref->used; i++) {
            struct record_statement copy;
            size_t copies = b->copy_count;
            read_statement(v, b, first + i, record_in(ref->chunk, sizeof copy, i), &copy);
            /* Asked for before anything is set to zero: what was copied until here is whole. */
            if (is_void(v, b)) {
                b->copy_count = copies;
                return;
            }
            if (!statement_valid(v, &copy)) {
                b->copy_count = copies;
                v->reader->damaged = true;
            } else if (v->to->statement) {
                v->to->statement(v->to->data, b->index, first + i, &copy);
            }
        }
        first += per_chunk[RECORD_KIND_STATEMENTS];
    }
}

/* The part of a list, sorted by block, that belongs to `block`; *at moves over it. */
static struct chunk_list part_of(struct visit *v, int kind, uint32_t block, size_t *at)
{
    struct chunk_list *list = &v->lists[kind];
    size_t from = *at;
    while (*at < list->count && list->refs[*at].block == block)
        ++*at;
    struct chunk_list part = {0};
    if (*at > from) {
        part.refs = list->refs + from;
        part.count = *at - from;
    }
    return part;
}

static void give_block(struct visit *v, const struct chunk_ref *threads, uint32_t slot,
                       struct block *b)
{
    struct record_thread copy;
    b->thread = record_in(threads->chunk, sizeof copy, slot);
    segment_copy(&copy, b->thread, sizeof copy);
    if (copy.depth > RECORD_FRAMES) {
        v->reader->damaged = true;
        copy.depth = 0;
    }
    if (v->to->thread)
        v->to->thread(v->to->data, b->index, &copy);
    if (is_void(v, b))
        return;
    size_t count = records_in(&b->statements, RECORD_KIND_STATEMENTS);
    if (count > RECORD_STATEMENTS_MAX + per_chunk[RECORD_KIND_STATEMENTS]) {
        v->reader->damaged = true;
        return;
    }
    b->statement_count = (uint32_t)count;
    b->first_peer = xrealloc(NULL, count, sizeof *b->first_peer);
    memset(b->first_peer, 0xff, count * sizeof *b->first_peer);
    for (size_t i = 0; i < b->peers.count; i++)
        index_peers(b, &b->peers.refs[i], 0);
    give_statements(v, b);
    give_peers(v, b);
}

static void give_blocks(struct visit *v)
{
    const struct chunk_list *threads = &v->lists[RECORD_KIND_THREADS];
    size_t statement_at = 0, peer_at = 0;
    /* Chunks of all blocks are cut into lists of their own first: the common list of peers is used
     * again when a block turns out to have new ones. */
    size_t blocks = v->threads;
    struct chunk_list *peers = xcalloc(blocks, sizeof *peers);
    for (uint32_t i = 0; i < blocks; i++) {
        struct chunk_list part = part_of(v, RECORD_KIND_PEERS, i, &peer_at);
        for (size_t j = 0; j < part.count; j++)
            *VEC_PUSH(peers[i].refs, peers[i].count, peers[i].room) = part.refs[j];
    }
    if (peer_at < v->lists[RECORD_KIND_PEERS].count)
        v->reader->damaged = true; /* of blocks that do not exist */
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t per = per_chunk[RECORD_KIND_THREADS];
        const struct chunk_ref *ref = &threads->refs[i / per];
        struct block b = {.index = i, .peers = peers[i], .next_free = v->next_free};
        b.statements = part_of(v, RECORD_KIND_STATEMENTS, i, &statement_at);
        if (i % per < ref->used)
            give_block(v, ref, i % per, &b);
        free(b.peers.refs);
        free(b.first_peer);
        free(b.refs);
        free(b.copies);
    }
    if (statement_at < v->lists[RECORD_KIND_STATEMENTS].count)
        v->reader->damaged = true;
    free(peers);
}

int record_visit(struct record_reader *reader, uint64_t now, const struct record_visitor *visitor)
{
    struct visit v = {.reader = reader,
                      .to = visitor,
                      .now = now,
                      .margin = (uint64_t)(1000 / reader->header.tick_ns),
                      .tries_left = TRIES_MORE};
    guard_enter(reader);
    /* What is referred to is looked at after what refers to it, so that it is there. */
    v.next_free = scan(&v, 1u << RECORD_KIND_STATEMENTS | 1u << RECORD_KIND_PEERS, UINT32_MAX);
    scan(&v, 1u << RECORD_KIND_THREADS | 1u << RECORD_KIND_MODULES | 1u << RECORD_KIND_NAMES,
         UINT32_MAX);
    sort_by_block(&v.lists[RECORD_KIND_STATEMENTS]);
    sort_by_block(&v.lists[RECORD_KIND_PEERS]);
    v.modules = records_in(&v.lists[RECORD_KIND_MODULES], RECORD_KIND_MODULES);
    v.names = records_in(&v.lists[RECORD_KIND_NAMES], RECORD_KIND_NAMES);
    v.threads = records_in(&v.lists[RECORD_KIND_THREADS], RECORD_KIND_THREADS);
    give_modules(&v);
    give_names(&v);
    give_blocks(&v);
    guard_leave();
    for (int i = 0; i < RECORD_KINDS; i++)
        free(v.lists[i].refs);
    return v.torn;
}
