/* SPDX-License-Identifier: MIT */
/* Builds segments as a process would write them, for tests of those who read them. */
#ifndef LOUPE_TESTS_SEGMENTS_H
#define LOUPE_TESTS_SEGMENTS_H

#include "record/layout.h"
#include "record/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENT_CHUNKS = 64 };

struct segment {
    int dir;
    char name[32];
    struct record_header *header;
    char *extent;
    uint32_t taken; /* chunks */
};

static inline void segment_write_ready(struct segment *s)
{
    struct record_header *h = s->header;
    h->version = RECORD_VERSION;
    h->header_bytes = sizeof *h;
    h->statement_bytes = sizeof(struct record_statement);
    h->peer_bytes = sizeof(struct record_peer);
    h->nonce = 0x1234567890abcdefull;
    h->pid = getpid();
    h->rank = -1;
    h->tick_ns = 0.5;
    h->started = 1000;
    h->extents[0].chunks = SEGMENT_CHUNKS;
    strcpy(h->host, "here");
    strcpy(h->program, "/usr/bin/app");
    h->magic = RECORD_MAGIC;
}

static inline void *segment_map_file(int dir, const char *name, const char *suffix, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", name, suffix);
    int fd = openat(dir, path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes))
        abort();
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        abort();
    return at;
}

static inline struct segment segment_new(int dir, const char *name)
{
    struct segment s = {.dir = dir};
    snprintf(s.name, sizeof s.name, "%s", name);
    s.header = segment_map_file(dir, name, PLACE_HEADER_SUFFIX, 2 * RECORD_CHUNK);
    s.extent = segment_map_file(dir, name, ".0", SEGMENT_CHUNKS * RECORD_CHUNK);
    segment_write_ready(&s);
    return s;
}

static inline void segment_drop(struct segment *s)
{
    char path[64];
    munmap(s->header, 2 * RECORD_CHUNK);
    munmap(s->extent, SEGMENT_CHUNKS * RECORD_CHUNK);
    snprintf(path, sizeof path, "%s" PLACE_HEADER_SUFFIX, s->name);
    unlinkat(s->dir, path, 0);
    snprintf(path, sizeof path, "%s.0", s->name);
    unlinkat(s->dir, path, 0);
}

static inline struct record_chunk *segment_chunk(struct segment *s, uint32_t kind, uint32_t block)
{
    struct record_chunk *c = (void *)(s->extent + (size_t)RECORD_CHUNK * s->taken++);
    c->nonce = s->header->nonce;
    c->block = block;
    __atomic_store_n(&c->kind, kind, __ATOMIC_RELEASE);
    return c;
}

/* The next free record of this kind and block; *index is its number among them. */
static inline void *segment_record(struct segment *s, uint32_t kind, uint32_t block, size_t size,
                                   uint32_t *index)
{
    uint32_t per = (uint32_t)(RECORD_CHUNK_ROOM / (int)size), before = 0;
    struct record_chunk *c = NULL;
    for (uint32_t i = 0; i < s->taken; i++) {
        struct record_chunk *at = (void *)(s->extent + (size_t)RECORD_CHUNK * i);
        if (at->kind != kind || at->block != block)
            continue;
        if (at->used < per) {
            c = at;
            break;
        }
        before += per;
    }
    if (!c)
        c = segment_chunk(s, kind, block);
    *index = before + c->used;
    return (char *)(c + 1) + c->used * size;
}

/* Makes the record that segment_record gave visible. */
static inline void segment_publish(void *record)
{
    struct record_chunk *c = (void *)((uintptr_t)record & ~(uintptr_t)(RECORD_CHUNK - 1));
    __atomic_store_n(&c->used, c->used + 1, __ATOMIC_RELEASE);
}

static inline struct record_thread *segment_thread(struct segment *s)
{
    uint32_t index;
    struct record_thread *t =
        segment_record(s, RECORD_KIND_THREADS, 0, sizeof(struct record_thread), &index);
    t->threads = 1;
    segment_publish(t);
    return t;
}

static inline uint32_t segment_module(struct segment *s, const char *path, const char *build_id)
{
    uint32_t index;
    struct record_module *m =
        segment_record(s, RECORD_KIND_MODULES, 0, sizeof(struct record_module), &index);
    m->path_len = (uint32_t)strlen(path);
    memcpy(m->path, path, m->path_len);
    m->build_id_len = (uint32_t)strlen(build_id);
    memcpy(m->build_id, build_id, m->build_id_len);
    segment_publish(m);
    return index;
}

static inline uint32_t segment_name(struct segment *s, const char *text)
{
    uint32_t index;
    struct record_name *n =
        segment_record(s, RECORD_KIND_NAMES, 0, sizeof(struct record_name), &index);
    n->len = (uint32_t)strlen(text);
    memcpy(n->text, text, n->len);
    segment_publish(n);
    return index;
}

static inline struct record_statement *segment_statement(struct segment *s, uint32_t block,
                                                         uint32_t call, uint32_t module,
                                                         uint64_t offset, uint32_t *index)
{
    uint32_t number;
    struct record_statement *r =
        segment_record(s, RECORD_KIND_STATEMENTS, block, sizeof(struct record_statement), &number);
    r->call = call;
    r->module = module;
    r->offset = offset;
    segment_publish(r);
    if (index)
        *index = number;
    return r;
}

static inline struct record_peer *segment_peer(struct segment *s, uint32_t block,
                                               uint32_t statement, int32_t rank, uint32_t direction)
{
    uint32_t index;
    struct record_peer *p =
        segment_record(s, RECORD_KIND_PEERS, block, sizeof(struct record_peer), &index);
    p->statement = statement;
    p->rank = rank;
    p->direction = direction;
    segment_publish(p);
    return p;
}

/* What the writer does at the end of an execution that took `ticks`. */
static inline void segment_event(struct record_statement *r, struct record_peer *p, uint64_t ticks,
                                 uint64_t bytes)
{
    r->version++;
    r->min = !r->count || ticks < r->min ? ticks : r->min;
    r->max = ticks > r->max ? ticks : r->max;
    r->count++;
    r->time += ticks;
    r->self += ticks;
    r->bytes += bytes;
    if (p) {
        p->count++;
        p->time += ticks;
        p->bytes += bytes;
    }
    r->version++;
}

/* A small but complete one: two blocks, a module, a region, statements with peers. */
static inline void segment_fill(struct segment *s)
{
    uint32_t index;
    segment_thread(s);
    segment_thread(s);
    uint32_t module = segment_module(s, "/usr/bin/app", "\x01\xab");
    uint32_t name = segment_name(s, "solve");
    for (uint32_t block = 0; block < 2; block++) {
        segment_statement(s, block, RECORD_CALL_OTHERS, RECORD_NO_MODULE, 0, NULL);
        struct record_statement *r = segment_statement(s, block, 0, module, 0x40, &index);
        struct record_peer *p = segment_peer(s, block, index, 1, RECORD_SENT);
        segment_event(r, p, 200, 8);
        segment_event(r, p, 100, 8);
        r = segment_statement(s, block, RECORD_CALL_REGION, module, 0x80, NULL);
        r->name = name;
        segment_event(r, NULL, 5000, 0);
    }
}

/* Probes of block 0, behind what segment_fill has made: a unit of 20 sites, of which site 1 is a
 * loop (17 executions, 5 timed), site 2 a procedure with a caller, and site 1 goes on. A second
 * unit needs a run of two chunks for its cells. */
static inline void segment_probes(struct segment *s)
{
    enum { SITES = 20, MANY = 1500 };
    uint32_t index;
    for (uint32_t i = 0; i < 2; i++) {
        struct record_unit *u = segment_record(s, RECORD_KIND_UNITS, 0, sizeof *u, &index);
        *u = (struct record_unit){.id = 0x77 + i, .module = 0, .sites = i ? MANY : SITES};
        segment_publish(u);
    }
    struct record_chunk *c = segment_chunk(s, RECORD_KIND_CELLS, 0);
    struct record_cells *cells = (struct record_cells *)(c + 1);
    cells->unit = 0;
    cells->sites = SITES;
    cells->cells[1] = 3;
    cells->cells[2] = -1;
    c->used = sizeof *cells + SITES * sizeof(int32_t);
    c = (struct record_chunk *)(s->extent + (size_t)RECORD_CHUNK * s->taken);
    s->taken += 2;
    cells = (struct record_cells *)(c + 1);
    cells->unit = 1;
    cells->sites = MANY;
    memset(cells->cells, 0x11,
           MANY * sizeof(int32_t)); /* not to be taken for the head of a chunk */
    c->used = sizeof *cells + MANY * sizeof(int32_t);
    c->nonce = s->header->nonce;
    c->more = 1;
    __atomic_store_n(&c->kind, RECORD_KIND_CELLS, __ATOMIC_RELEASE);
    struct record_probe like = {.unit = 0,
                                .site = 1,
                                .kind = 5,
                                .state = RECORD_PROBE_TIMED,
                                .caller_module = RECORD_NO_MODULE,
                                .armed = 20,
                                .timed = 5,
                                .time = 1000 << RECORD_TIME_SHIFT,
                                .min = 100,
                                .max = 300,
                                .stratum_size = 1};
    for (int i = 0; i < 3; i++) {
        struct record_probe *r = segment_record(s, RECORD_KIND_PROBES, 0, sizeof *r, &index);
        *r = like;
        if (i > 0) {
            r->site = 2;
            r->kind = 1;
            r->armed = 6;
            r->state = 0;
        }
        if (i > 1) {
            r->state = RECORD_PROBE_TIMED | RECORD_PROBE_CALLER;
            r->caller_module = 0;
            r->caller_offset = 0x40;
            r->count = 7;
        }
        segment_publish(r);
    }
    c = segment_chunk(s, RECORD_KIND_FRAMES, 0);
    struct record_probe_frames *f = (struct record_probe_frames *)(c + 1);
    f->frames[0] = (struct record_probe_frame){.begin = 3000, .probe = 0, .weight = 1};
    f->depth = 1;
    c->used = 1;
}

/* The critical path of a block: nothing but a generation yet. */
static inline struct record_path *segment_path(struct segment *s, uint32_t block,
                                               uint32_t generation)
{
    uint32_t index;
    struct record_path *p = segment_record(s, RECORD_KIND_PATHS, block, sizeof *p, &index);
    *p = (struct record_path){.generation = generation, .innermost = RECORD_PATH_NO_ITEM};
    segment_publish(p);
    return p;
}

/* A private directory for a test, removed by segment_end; also the root for jobs and spilling. */
static inline int segment_begin(char *path, size_t room)
{
    const char *shm = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(path, room, "%s/loupe-test-XXXXXX", shm);
    if (!mkdtemp(path))
        abort();
    setenv(PLACE_ENV_SHM_ROOT, path, 1);
    setenv("TMPDIR", path, 1);
    return open(path, O_RDONLY | O_DIRECTORY);
}

static inline void segment_end(const char *path)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command))
        printf("# %s is left behind\n", path);
}

#endif
