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
#include "record/visit.h"
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

const uint32_t visit_per_chunk[RECORD_KINDS] = {
    [RECORD_KIND_THREADS] = RECORD_PER_CHUNK(struct record_thread),
    [RECORD_KIND_MODULES] = RECORD_PER_CHUNK(struct record_module),
    [RECORD_KIND_NAMES] = RECORD_PER_CHUNK(struct record_name),
    [RECORD_KIND_STATEMENTS] = RECORD_PER_CHUNK(struct record_statement),
    [RECORD_KIND_PEERS] = RECORD_PER_CHUNK(struct record_peer),
    [RECORD_KIND_UNITS] = RECORD_PER_CHUNK(struct record_unit),
    [RECORD_KIND_CELLS] = 0, /* bytes; see probes.c */
    [RECORD_KIND_PROBES] = RECORD_PER_CHUNK(struct record_probe),
    [RECORD_KIND_FRAMES] = 1,
    [RECORD_KIND_PATHS] = 1,
};

static void add_chunk(struct visit *v, uint32_t kind, const struct record_chunk *chunk,
                      uint32_t index, uint32_t more)
{
    struct chunk_ref ref = {chunk, index, segment_load32(&chunk->block),
                            segment_load32(&chunk->used), more};
    uint32_t limit = visit_per_chunk[kind];
    if (kind == RECORD_KIND_CELLS)
        limit = (1 + more) * RECORD_CHUNK - (uint32_t)sizeof *chunk;
    if (ref.used > limit) { /* the place counts for later indexes, its records do not */
        v->reader->damaged = true;
        ref.used = 0;
    }
    struct chunk_list *list = &v->lists[kind];
    *VEC_PUSH(list->refs, list->count, list->room) = ref;
}

/* Looks at one extent; false: what stands there is no chunk. */
static bool scan_extent(struct visit *v, const struct segment_map *map, unsigned kinds,
                        uint32_t block, uint32_t *index, const struct record_chunk **next_free)
{
    bool whole = true;
    size_t step;
    for (size_t at = 0; map->start && at < map->bytes; at += step, *index += step / RECORD_CHUNK) {
        const struct record_chunk *chunk = (const void *)(map->start + at);
        uint32_t kind = segment_load32(&chunk->kind), more = 0;
        step = RECORD_CHUNK;
        if (kind == RECORD_KIND_FREE) {
            *next_free = *next_free ? *next_free : chunk;
            continue;
        }
        if (kind >= RECORD_KINDS || segment_load64(&chunk->nonce) != v->reader->header.nonce) {
            whole = false;
            continue;
        }
        if (kind == RECORD_KIND_CELLS)
            more = segment_load32(&chunk->more);
        if (more >= (map->bytes - at) / RECORD_CHUNK) {
            whole = false;
            more = 0;
        }
        step += (size_t)more * RECORD_CHUNK;
        if ((kinds >> kind & 1) && (block == UINT32_MAX || segment_load32(&chunk->block) == block))
            add_chunk(v, kind, chunk, *index, more);
    }
    return whole;
}

/*
 * Looks at all chunks and lists those of the wanted kinds; `block` is UINT32_MAX for any. Returns
 * the first free one, which will be taken next; NULL: none. Between the look at a free chunk and
 * the next one both may be taken for a run, of which only the first has a head: then again.
 */
const struct record_chunk *visit_scan(struct visit *v, unsigned kinds, uint32_t block)
{
    enum { SCANS = 16 };
    size_t before[RECORD_KINDS];
    for (int i = 0; i < RECORD_KINDS; i++)
        before[i] = v->lists[i].count;
    for (int tries = 1;; tries++) {
        uint32_t index = 0;
        const struct record_chunk *next_free = NULL;
        bool whole = true;
        for (int e = 0; e < RECORD_EXTENTS; e++)
            whole &= scan_extent(v, &v->reader->extents[e], kinds, block, &index, &next_free);
        if (whole)
            return next_free;
        if (tries == SCANS || !next_free || segment_load32(&next_free->kind) == RECORD_KIND_FREE) {
            v->reader->damaged = true;
            return next_free;
        }
        for (int i = 0; i < RECORD_KINDS; i++)
            v->lists[i].count = before[i];
    }
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
size_t visit_records(const struct chunk_list *list, int kind)
{
    return list->count
               ? (list->count - 1) * visit_per_chunk[kind] + list->refs[list->count - 1].used
               : 0;
}

static void give_modules(struct visit *v)
{
    const struct chunk_list *list = &v->lists[RECORD_KIND_MODULES];
    for (size_t c = 0; c < list->count; c++)
        for (uint32_t i = 0; i < list->refs[c].used; i++) {
            struct record_module copy;
            segment_copy(&copy, visit_record(list->refs[c].chunk, sizeof copy, i), sizeof copy);
            if (copy.build_id_len > sizeof copy.build_id || copy.path_len > sizeof copy.path) {
                v->reader->damaged = true;
                copy.build_id_len = copy.path_len = 0;
            }
            if (v->to->module)
                v->to->module(v->to->data, (uint32_t)c * visit_per_chunk[RECORD_KIND_MODULES] + i,
                              &copy);
        }
}

static void give_names(struct visit *v)
{
    const struct chunk_list *list = &v->lists[RECORD_KIND_NAMES];
    for (size_t c = 0; c < list->count; c++)
        for (uint32_t i = 0; i < list->refs[c].used; i++) {
            _Alignas(8) struct record_name copy;
            segment_copy(&copy, visit_record(list->refs[c].chunk, sizeof copy, i), sizeof copy);
            if (copy.len > sizeof copy.text) {
                v->reader->damaged = true;
                copy.len = 0;
            }
            if (v->to->name)
                v->to->name(v->to->data, (uint32_t)c * visit_per_chunk[RECORD_KIND_NAMES] + i,
                            &copy);
        }
}

static void index_peers(struct block *b, struct chunk_ref *ref, uint32_t from)
{
    for (uint32_t i = from; i < ref->used; i++) {
        const struct record_peer *live = visit_record(ref->chunk, sizeof *live, i);
        uint32_t statement = segment_load32(&live->statement);
        if (statement >= b->statement_count)
            continue; /* younger than this pass, or nonsense: neither is looked up */
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
        if (used != last->used && used <= visit_per_chunk[RECORD_KIND_PEERS])
            return false;
        if (used < visit_per_chunk[RECORD_KIND_PEERS])
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
        if (used > from && used <= visit_per_chunk[RECORD_KIND_PEERS]) {
            last->used = used;
            index_peers(b, last, from);
        }
    }
    v->lists[RECORD_KIND_PEERS].count = 0; /* every block has its own list by now */
    segment_grow(v->reader);
    b->next_free = visit_scan(v, 1u << RECORD_KIND_PEERS, b->index);
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
        time = open_time(v, begin + visit_delay(v, t)); /* it began in virtual time */
    }
    time += copy->open ? open_time(v, copy->open) : 0;
    copy->time += time;
    copy->real += time;
    if (copy->call != RECORD_CALL_REGION)
        copy->self = copy->time; /* nothing else is timed inside; the writer leaves it to us */
}

bool visit_void(const struct visit *v, const struct block *b)
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

bool visit_patience(struct visit *v, int tries)
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
        if (!visit_patience(v, tries)) {
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

/* Copied from the last to the first: in their own order they need the least sorting later. */
static void give_peers(struct visit *v, struct block *b)
{
    for (size_t i = b->copy_count; i-- > 0;) {
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
            read_statement(v, b, first + i, visit_record(ref->chunk, sizeof copy, i), &copy);
            /* Asked for before anything is set to zero: what was copied until here is whole. */
            if (visit_void(v, b)) {
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
        first += visit_per_chunk[RECORD_KIND_STATEMENTS];
    }
}

/* The part of a list, sorted by block, that belongs to `block`; *at moves over it. */
struct chunk_list visit_part(struct visit *v, int kind, uint32_t block, size_t *at)
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
    b->thread = visit_record(threads->chunk, sizeof copy, slot);
    segment_copy(&copy, b->thread, sizeof copy);
    copy.delay = (int64_t)((uint64_t)copy.delay - (uint64_t)copy.delay_before);
    copy.received = (int64_t)((uint64_t)copy.received - (uint64_t)copy.received_before);
    if (v->reader->header.compensation == RECORD_COMPENSATE_NONE) { /* times have it all in them */
        copy.received = (int64_t)((uint64_t)copy.received - (uint64_t)copy.delay);
        copy.delay = 0;
    }
    if (copy.depth > RECORD_FRAMES) {
        v->reader->damaged = true;
        copy.depth = 0;
    }
    bool is_void = visit_void(v, b);
    if (is_void) {
        copy.delay = copy.received = 0;
#define X(name, unit, merge) copy.name = 0;
        RECORD_PAIRING_FIELDS(X)
#undef X
    }
    if (v->to->thread)
        v->to->thread(v->to->data, b->index, &copy);
    paths_give(v, b); /* a reset of the statistics leaves it alone */
    if (is_void)
        return;
    size_t count = visit_records(&b->statements, RECORD_KIND_STATEMENTS);
    if (count > RECORD_STATEMENTS_MAX + visit_per_chunk[RECORD_KIND_STATEMENTS]) {
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
    if (v->to->probe && !visit_void(v, b))
        probes_give(v, b);
}

static void give_blocks(struct visit *v)
{
    const struct chunk_list *threads = &v->lists[RECORD_KIND_THREADS];
    size_t at[RECORD_KINDS] = {0};
    size_t *peer_at = &at[RECORD_KIND_PEERS];
    /* Chunks of all blocks are cut into lists of their own first: the common list of peers is used
     * again when a block turns out to have new ones. */
    size_t blocks = v->threads;
    struct chunk_list *peers = xcalloc(blocks, sizeof *peers);
    for (uint32_t i = 0; i < blocks; i++) {
        struct chunk_list part = visit_part(v, RECORD_KIND_PEERS, i, peer_at);
        for (size_t j = 0; j < part.count; j++)
            *VEC_PUSH(peers[i].refs, peers[i].count, peers[i].room) = part.refs[j];
    }
    if (*peer_at < v->lists[RECORD_KIND_PEERS].count)
        v->reader->damaged = true; /* of blocks that do not exist */
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t per = visit_per_chunk[RECORD_KIND_THREADS];
        const struct chunk_ref *ref = &threads->refs[i / per];
        struct block b = {.index = i, .peers = peers[i], .next_free = v->next_free};
        b.statements = visit_part(v, RECORD_KIND_STATEMENTS, i, &at[RECORD_KIND_STATEMENTS]);
        b.cells = visit_part(v, RECORD_KIND_CELLS, i, &at[RECORD_KIND_CELLS]);
        b.probes = visit_part(v, RECORD_KIND_PROBES, i, &at[RECORD_KIND_PROBES]);
        b.frames = visit_part(v, RECORD_KIND_FRAMES, i, &at[RECORD_KIND_FRAMES]);
        b.paths = visit_part(v, RECORD_KIND_PATHS, i, &at[RECORD_KIND_PATHS]);
        if (i % per < ref->used)
            give_block(v, ref, i % per, &b);
        free(b.peers.refs);
        free(b.first_peer);
        free(b.refs);
        free(b.copies);
    }
    for (int k = 0; k < RECORD_KINDS; k++)
        if ((VISIT_OF_BLOCKS >> k & 1) && k != RECORD_KIND_PEERS && at[k] < v->lists[k].count)
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
    v.next_free = visit_scan(&v, VISIT_OF_BLOCKS, UINT32_MAX);
    visit_scan(&v, VISIT_OF_PROCESS, UINT32_MAX);
    for (int k = 0; k < RECORD_KINDS; k++)
        if (VISIT_OF_BLOCKS >> k & 1)
            sort_by_block(&v.lists[k]);
    v.modules = visit_records(&v.lists[RECORD_KIND_MODULES], RECORD_KIND_MODULES);
    v.names = visit_records(&v.lists[RECORD_KIND_NAMES], RECORD_KIND_NAMES);
    v.threads = visit_records(&v.lists[RECORD_KIND_THREADS], RECORD_KIND_THREADS);
    probes_begin(&v);
    give_modules(&v);
    give_names(&v);
    give_blocks(&v);
    guard_leave();
    free(v.units);
    for (int i = 0; i < RECORD_KINDS; i++)
        free(v.lists[i].refs);
    return v.torn;
}
