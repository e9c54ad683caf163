/* SPDX-License-Identifier: MIT */
/* The reader on segments that are right, damaged in every way, or in the middle of something. */
#include "record/reader.h"

#include "lib/tap.h"
#include "segments.h"

#include <errno.h>
#include <math.h>

static char root[128];
static int dir;

/* What a pass gave, summed up. */
struct seen {
    int modules, names, threads, statements, peers, probes;
    uint64_t probe_count;
    double probe_time;
    uint64_t count, time, self, peer_count;
    bool order; /* modules and names first, peers after their block's statements */
    uint32_t block;
    uint32_t last_module_path;
};

static void on_module(void *data, uint32_t index, const struct record_module *module)
{
    struct seen *s = data;
    s->order &= index == (uint32_t)s->modules && !s->threads;
    s->modules++;
    s->last_module_path = module->path_len;
}

static void on_name(void *data, uint32_t index, const struct record_name *name)
{
    struct seen *s = data;
    (void)name;
    s->order &= index == (uint32_t)s->names && !s->threads;
    s->names++;
}

static void on_thread(void *data, uint32_t block, const struct record_thread *thread)
{
    struct seen *s = data;
    s->order &= block == (uint32_t)s->threads && thread->depth <= RECORD_FRAMES;
    s->block = block;
    s->threads++;
}

static void on_statement(void *data, uint32_t block, uint32_t statement,
                         const struct record_statement *record)
{
    struct seen *s = data;
    (void)statement;
    s->order &= block == s->block;
    s->statements++;
    s->count += record->count;
    s->time += record->time;
    s->self += record->self;
}

static void on_peer(void *data, uint32_t block, const struct record_peer *peer)
{
    struct seen *s = data;
    s->order &= block == s->block;
    s->peers++;
    s->peer_count += peer->count;
}

static void on_probe(void *data, uint32_t block, const struct record_probe_reading *p)
{
    struct seen *s = data;
    s->order &= block == s->block;
    s->probes++;
    s->probe_count += p->count;
    s->probe_time += p->time;
}

static struct seen pass(struct record_reader *reader, uint64_t now, int *torn)
{
    struct seen seen = {.order = true};
    struct record_visitor visitor = {.data = &seen,
                                     .module = on_module,
                                     .name = on_name,
                                     .thread = on_thread,
                                     .statement = on_statement,
                                     .peer = on_peer,
                                     .probe = on_probe};
    int got = record_visit(reader, now, &visitor);
    if (torn)
        *torn = got;
    return seen;
}

static void test_whole(void)
{
    struct segment s = segment_new(dir, "whole");
    struct record_reader *reader = NULL;
    int torn = -1;
    segment_fill(&s);
    ok(!record_open(dir, -1, "whole", &reader), "a segment is opened");
    struct seen seen = pass(reader, 0, &torn);
    ok(seen.modules == 1 && seen.names == 1 && seen.threads == 2, "module, name and threads");
    ok(seen.statements == 6 && seen.count == 6 && seen.time == 2 * 5300, "statements");
    ok(seen.peers == 2 && seen.peer_count == 4, "peers");
    ok(seen.order, "in the order promised");
    ok(torn == 0 && !record_damaged(reader), "nothing torn, nothing damaged");
    ok(record_bytes(reader) == (SEGMENT_CHUNKS + 1) * RECORD_CHUNK, "its size");
    s.header->state = RECORD_FINISHED;
    ok(record_header(reader)->state == RECORD_RUNNING && !record_refresh(reader) &&
           record_header(reader)->state == RECORD_FINISHED,
       "the header is copied anew by refresh");
    struct record_visitor none = {0};
    ok(record_visit(reader, 0, &none) == 0, "a visitor may be interested in nothing");
    record_close(reader);
    record_close(NULL);
    ok(record_open(dir, -1, "absent", &reader) == -ENOENT && !reader, "no segment: -ENOENT");
    ok(record_open(dir, -1, "../whole", &reader) == -EINVAL, "names have no slash");
    segment_drop(&s);
}

static void test_many(void)
{
    struct segment s = segment_new(dir, "many");
    struct record_reader *reader = NULL;
    uint32_t index = 0;
    segment_thread(&s);
    segment_thread(&s);
    for (int i = 0; i < 100; i++) /* chunks of both blocks lie between each other */
        for (uint32_t block = 0; block < 2; block++) {
            struct record_statement *r =
                segment_statement(&s, block, 0, RECORD_NO_MODULE, 0, &index);
            for (int rank = 0; rank < 3; rank++)
                segment_event(r, segment_peer(&s, block, index, rank, RECORD_SENT), 10, 1);
        }
    ok(index == 99 && !record_open(dir, -1, "many", &reader), "200 statements in two blocks");
    struct seen seen = pass(reader, 0, NULL);
    ok(seen.statements == 200 && seen.count == 600, "all are seen");
    ok(seen.peers == 600 && seen.peer_count == 600 && seen.order, "with all their peers");
    record_close(reader);
    segment_drop(&s);
}

static void test_extents(void)
{
    struct segment s = segment_new(dir, "grow");
    struct record_reader *reader = NULL;
    char inner[160];
    segment_fill(&s);
    ok(!record_open(dir, -1, "grow", &reader), "a segment with one extent");
    snprintf(inner, sizeof inner, "%s/spill", root);
    mkdir(inner, 0700);
    int spill = open(inner, O_RDONLY | O_DIRECTORY);
    struct record_chunk *more = segment_map_file(spill, "grow", ".1", 2 * RECORD_CHUNK);
    more->nonce = s.header->nonce;
    more->used = 1;
    more->kind = RECORD_KIND_STATEMENTS;
    struct record_statement *r = (void *)(more + 1);
    r->count = 1000;
    s.header->extents[1] = (struct record_extent){.chunks = 2, .spilled = 1};
    struct seen seen = pass(reader, 0, NULL);
    ok(seen.count == 6, "a new extent is not seen before refresh");
    record_close(reader);
    ok(!record_open(dir, spill, "grow", &reader), "and seen by those who open it now");
    seen = pass(reader, 0, NULL);
    ok(seen.count == 1006 && !record_damaged(reader), "also when it was spilled");
    record_close(reader);
    ok(!record_open(dir, -1, "grow", &reader) && pass(reader, 0, NULL).count == 6 &&
           record_damaged(reader),
       "without the directory of spilled ones it is damaged");
    record_close(reader);
    close(spill);
    munmap(more, 2 * RECORD_CHUNK);
    segment_drop(&s);
}

/* One way to damage a segment: what record_open says, and if it opens whether damage is seen. */
struct damage {
    const char *what;
    void (*make)(struct segment *s);
    int error;
    int count; /* sum of counts still seen; 6 are there */
};

static struct record_chunk *chunk_of(struct segment *s, uint32_t kind, uint32_t block)
{
    for (uint32_t i = 0; i < s->taken; i++) {
        struct record_chunk *c = (void *)(s->extent + (size_t)RECORD_CHUNK * i);
        if (c->kind == kind && c->block == block)
            return c;
    }
    abort();
}

static struct record_statement *statement_of(struct segment *s, uint32_t block, int index)
{
    return (struct record_statement *)(chunk_of(s, RECORD_KIND_STATEMENTS, block) + 1) + index;
}

#define DAMAGE(name, code)                                                                         \
    static void name(struct segment *s)                                                            \
    {                                                                                              \
        code;                                                                                      \
    }
DAMAGE(magic, s->header->magic ^= 1)
DAMAGE(unwritten, s->header->magic = 0)
DAMAGE(version, s->header->version++)
DAMAGE(header_bytes, s->header->header_bytes--)
DAMAGE(statement_bytes, s->header->statement_bytes += 8)
DAMAGE(peer_bytes, s->header->peer_bytes += 8)
DAMAGE(state, s->header->state = RECORD_STATES)
DAMAGE(phase, s->header->mpi_phase = 9)
DAMAGE(clock_kind, s->header->clock = RECORD_CLOCKS)
DAMAGE(tick_nan, s->header->tick_ns = NAN)
DAMAGE(tick_zero, s->header->tick_ns = 0)
DAMAGE(tick_negative, s->header->tick_ns = -1)
DAMAGE(tick_infinite, s->header->tick_ns = INFINITY)
DAMAGE(pid_zero, s->header->pid = 0)
DAMAGE(rank_negative, s->header->rank = -2)
DAMAGE(size_negative, s->header->size = -1)
DAMAGE(extent_huge, s->header->extents[0].chunks = UINT32_MAX)
DAMAGE(extent_missing, s->header->extents[3].chunks = 1)
DAMAGE(chunk_nonce, chunk_of(s, RECORD_KIND_STATEMENTS, 0)->nonce++)
DAMAGE(chunk_kind, chunk_of(s, RECORD_KIND_STATEMENTS, 1)->kind = RECORD_KINDS)
DAMAGE(chunk_block, chunk_of(s, RECORD_KIND_STATEMENTS, 1)->block = 2)
DAMAGE(chunk_block_huge, chunk_of(s, RECORD_KIND_PEERS, 1)->block = UINT32_MAX)
DAMAGE(used_statements, chunk_of(s, RECORD_KIND_STATEMENTS, 1)->used = 10)
DAMAGE(used_huge, chunk_of(s, RECORD_KIND_STATEMENTS, 1)->used = UINT32_MAX)
DAMAGE(used_peers, chunk_of(s, RECORD_KIND_PEERS, 0)->used = 64)
DAMAGE(used_threads, chunk_of(s, RECORD_KIND_THREADS, 0)->used = 1000)
DAMAGE(used_modules, chunk_of(s, RECORD_KIND_MODULES, 0)->used = 8)
DAMAGE(module_index, statement_of(s, 0, 1)->module = 1)
DAMAGE(name_index, statement_of(s, 0, 2)->name = 1)
DAMAGE(path_len,
       ((struct record_module *)(chunk_of(s, RECORD_KIND_MODULES, 0) + 1))->path_len = 449)
DAMAGE(build_id_len,
       ((struct record_module *)(chunk_of(s, RECORD_KIND_MODULES, 0) + 1))->build_id_len = 33)
DAMAGE(name_len, ((struct record_name *)(chunk_of(s, RECORD_KIND_NAMES, 0) + 1))->len = 125)
DAMAGE(depth,
       ((struct record_thread *)(chunk_of(s, RECORD_KIND_THREADS, 0) + 1))->depth = RECORD_FRAMES +
                                                                                    1)
DAMAGE(direction, ((struct record_peer *)(chunk_of(s, RECORD_KIND_PEERS, 0) + 1))->direction = 2)
DAMAGE(peer_rank, ((struct record_peer *)(chunk_of(s, RECORD_KIND_PEERS, 0) + 1))->rank = -3)

static const struct damage damages[] = {
    {"wrong magic", magic, -EPROTO, 0},
    {"not yet written", unwritten, -EAGAIN, 0},
    {"another version", version, -ENOTSUP, 0},
    {"another size of the header", header_bytes, -ENOTSUP, 0},
    {"another size of statements", statement_bytes, -ENOTSUP, 0},
    {"another size of peers", peer_bytes, -ENOTSUP, 0},
    {"a state that does not exist", state, -EPROTO, 0},
    {"a phase that does not exist", phase, -EPROTO, 0},
    {"a clock that does not exist", clock_kind, -EPROTO, 0},
    {"a tick of NaN", tick_nan, -EPROTO, 0},
    {"a tick of 0", tick_zero, -EPROTO, 0},
    {"a negative tick", tick_negative, -EPROTO, 0},
    {"an infinite tick", tick_infinite, -EPROTO, 0},
    {"PID 0", pid_zero, -EPROTO, 0},
    {"rank -2", rank_negative, -EPROTO, 0},
    {"a negative size", size_negative, -EPROTO, 0},
    {"an extent larger than its file", extent_huge, 0, 6},
    {"an extent without a file", extent_missing, 0, 6},
    {"a chunk of another process", chunk_nonce, 0, 3},
    {"a kind that does not exist", chunk_kind, 0, 3},
    {"a block that does not exist", chunk_block, 0, 3},
    {"peers of a block that does not exist", chunk_block_huge, 0, 6},
    {"one statement too many in use", used_statements, 0, 3},
    {"4 billion statements in use", used_huge, 0, 3},
    {"one peer too many in use", used_peers, 0, 6},
    {"too many threads in use", used_threads, 0, 0},
    {"too many modules in use", used_modules, 0, 0},
    {"a module that does not exist", module_index, 0, 4},
    {"a name that does not exist", name_index, 0, 5},
    {"a path that is too long", path_len, 0, 6},
    {"a build-id that is too long", build_id_len, 0, 6},
    {"a name that is too long", name_len, 0, 6},
    {"frames that are too deep", depth, 0, 6},
    {"a direction that does not exist", direction, 0, 6},
    {"a peer of rank -3", peer_rank, 0, 6},
};

static void *first_of(struct segment *s, uint32_t kind)
{
    return chunk_of(s, kind, 0) + 1;
}

static struct record_probe *probe_of(struct segment *s, int index)
{
    return (struct record_probe *)first_of(s, RECORD_KIND_PROBES) + index;
}

static struct record_chunk *run_of(struct segment *s)
{
    struct record_chunk *c = chunk_of(s, RECORD_KIND_CELLS, 0);
    return (struct record_chunk *)((char *)c + RECORD_CHUNK);
}

DAMAGE(unit_module, ((struct record_unit *)first_of(s, RECORD_KIND_UNITS))->module = 1)
DAMAGE(unit_sites, ((struct record_unit *)first_of(s, RECORD_KIND_UNITS))->sites = UINT32_MAX)
DAMAGE(used_units, chunk_of(s, RECORD_KIND_UNITS, 0)->used = 253)
DAMAGE(cells_unit, ((struct record_cells *)first_of(s, RECORD_KIND_CELLS))->unit = 2)
DAMAGE(cells_sites, ((struct record_cells *)first_of(s, RECORD_KIND_CELLS))->sites = 21)
DAMAGE(cells_huge, ((struct record_cells *)first_of(s, RECORD_KIND_CELLS))->sites = UINT32_MAX)
DAMAGE(cells_used, chunk_of(s, RECORD_KIND_CELLS, 0)->used = RECORD_CHUNK)
DAMAGE(cells_twice, ((struct record_cells *)(run_of(s) + 1))->unit = 0)
DAMAGE(run_long, run_of(s)->more = 1000)
DAMAGE(run_huge, run_of(s)->more = UINT32_MAX)
DAMAGE(run_short, run_of(s)->more = 0)
DAMAGE(probe_unit, probe_of(s, 0)->unit = 2)
DAMAGE(probe_site, probe_of(s, 0)->site = 20)
DAMAGE(probe_kind, probe_of(s, 0)->kind = 99)
DAMAGE(probe_stratum, probe_of(s, 0)->stratum_size = 0)
DAMAGE(probe_caller, probe_of(s, 2)->caller_module = 1)
DAMAGE(probe_block, chunk_of(s, RECORD_KIND_PROBES, 0)->block = 9)
DAMAGE(used_probes, chunk_of(s, RECORD_KIND_PROBES, 0)->used = 22)

/* Counts: 17 of the loop, 7 of the procedure, 7 of its caller. */
static const struct damage probe_damages[] = {
    {"a unit of a module that does not exist", unit_module, 0, 0},
    {"a unit of 4 billion sites", unit_sites, 0, 0},
    {"one unit too many in use", used_units, 0, 0},
    {"cells of a unit that does not exist", cells_unit, 0, 7},
    {"one cell too many", cells_sites, 0, 7},
    {"4 billion cells", cells_huge, 0, 7},
    {"more cells than the chunk holds", cells_used, 0, 7},
    {"cells of a unit twice", cells_twice, 0, 31},
    {"a run beyond the extent", run_long, 0, 31},
    {"a run of 4 billion chunks", run_huge, 0, 31},
    {"a run that is too short", run_short, 0, 31},
    {"a probe of a unit that does not exist", probe_unit, 0, 14},
    {"a probe of a site that does not exist", probe_site, 0, 14},
    {"a probe of a kind that does not exist", probe_kind, 0, 14},
    {"a stratum of no blocks", probe_stratum, 0, 14},
    {"a caller in a module that does not exist", probe_caller, 0, 24},
    {"probes of a block that does not exist", probe_block, 0, 0},
    {"one probe too many in use", used_probes, 0, 0},
};

static void test_probes(void)
{
    struct segment s = segment_new(dir, "probes");
    struct record_reader *reader = NULL;
    segment_fill(&s);
    segment_probes(&s);
    ok(!record_open(dir, -1, "probes", &reader), "a segment with probes");
    struct seen seen = pass(reader, 10000, NULL);
    ok(seen.probes == 3 && seen.probe_count == 17 + 7 + 7 && seen.order, "they are seen");
    /* the open frame runs from 3000 to 10000, less 2000 ticks for a microsecond */
    ok(seen.probe_time == 1000 + 5000 + 1000, "with the visit that goes on: %.0f", seen.probe_time);
    ok(!record_damaged(reader) && seen.count == 6, "nothing is damaged");
    ((struct record_probe_frames *)first_of(&s, RECORD_KIND_FRAMES))->depth = UINT32_MAX;
    probe_of(&s, 0)->version = 1;
    int torn = 0;
    seen = pass(reader, 10000, &torn);
    ok(torn == 1 && seen.probes == 3, "a torn one is given as it stands");
    record_close(reader);
    segment_drop(&s);
    for (size_t i = 0; i < sizeof probe_damages / sizeof *probe_damages; i++) {
        const struct damage *d = &probe_damages[i];
        s = segment_new(dir, "damaged");
        segment_fill(&s);
        segment_probes(&s);
        d->make(&s);
        int err = record_open(dir, -1, "damaged", &reader);
        seen = err ? (struct seen){0} : pass(reader, 10000, NULL);
        ok(!err && record_damaged(reader) && seen.probe_count == (uint64_t)d->count,
           "%s: left out (%lu)", d->what, (unsigned long)seen.probe_count);
        record_close(reader);
        segment_drop(&s);
    }
}

static void test_damage(void)
{
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        struct segment s = segment_new(dir, "damaged");
        struct record_reader *reader = NULL;
        segment_fill(&s);
        d->make(&s);
        int err = record_open(dir, -1, "damaged", &reader);
        if (d->error) {
            ok(err == d->error && !reader, "%s: refused", d->what);
        } else {
            struct seen seen = err ? (struct seen){0} : pass(reader, 0, NULL);
            ok(!err && record_damaged(reader) && seen.count == (uint64_t)d->count && seen.order,
               "%s: seen, the rest is read", d->what);
        }
        record_close(reader);
        segment_drop(&s);
    }
}

static void test_files(void)
{
    struct segment s = segment_new(dir, "file");
    struct record_reader *reader = NULL;
    segment_fill(&s);
    ok(!symlinkat("file.hdr", dir, "link.hdr") && record_open(dir, -1, "link", &reader) == -EPROTO,
       "a symlink is refused");
    unlinkat(dir, "link.hdr", 0);
    ok(!mkfifoat(dir, "fifo.hdr", 0600) && record_open(dir, -1, "fifo", &reader) == -EPROTO,
       "a FIFO is refused and nobody waits for it");
    unlinkat(dir, "fifo.hdr", 0);
    fchmodat(dir, "file.hdr", 0666, 0);
    ok(record_open(dir, -1, "file", &reader) == -EPERM, "one that others can write to is refused");
    fchmodat(dir, "file.hdr", 0600, 0);

    int fd = openat(dir, "file.0", O_RDWR);
    ok(!record_open(dir, -1, "file", &reader), "the file is whole at first");
    ok(!ftruncate(fd, RECORD_CHUNK), "cut behind the reader's back");
    struct seen seen = pass(reader, 0, NULL);
    ok(record_damaged(reader) && seen.count == 0, "it is noticed, and nobody crashes");
    record_close(reader);
    ok(!record_open(dir, -1, "file", &reader) && record_damaged(reader), "short when opened");
    record_close(reader);
    close(fd);
    fd = openat(dir, "file.hdr", O_RDWR);
    ok(!ftruncate(fd, 100) && record_open(dir, -1, "file", &reader) == -EPROTO,
       "a short header is refused");
    ok(!ftruncate(fd, 0) && record_open(dir, -1, "file", &reader) == -EAGAIN,
       "an empty header is not written yet");
    close(fd);
    unlinkat(dir, "file.hdr", 0);
    unlinkat(dir, "file.0", 0);
}

static void test_resets(void)
{
    struct segment s = segment_new(dir, "resets");
    struct record_reader *reader = NULL;
    struct record_control *control = NULL;
    segment_fill(&s);
    ok(!record_control(dir, "resets", &control), "the control word is mapped");
    control->word = 1u << RECORD_CONTROL_RESET_SHIFT | RECORD_CONTROL_OFF;
    ok(s.header->control.word == control->word, "and is the process's own");
    ok(!record_open(dir, -1, "resets", &reader), "a reset was asked for");
    struct seen seen = pass(reader, 0, NULL);
    ok(seen.threads == 2 && seen.statements == 0 && seen.peers == 0, "records are void");
    ((struct record_thread *)(chunk_of(&s, RECORD_KIND_THREADS, 0) + 1))[1].resets = 1;
    seen = pass(reader, 0, NULL);
    ok(seen.statements == 3 && seen.peers == 1, "but for a block that has done it");
    record_close(reader);
    record_control_close(control);
    record_control_close(NULL);
    s.header->magic++;
    ok(record_control(dir, "resets", &control) == -EPROTO && !control,
       "no control over what is not a segment");
    segment_drop(&s);
}

static void test_frames(void)
{
    struct segment s = segment_new(dir, "frames");
    struct record_reader *reader = NULL;
    uint32_t region, send;
    struct record_thread *t = segment_thread(&s);
    uint32_t name = segment_name(&s, "solve");
    segment_statement(&s, 0, RECORD_CALL_REGION, RECORD_NO_MODULE, 0, &region)->name = name;
    segment_statement(&s, 0, 0, RECORD_NO_MODULE, 0, &send);
    t->frames[0] = (struct record_frame){.begin = 100000, .statement = region};
    t->frames[1] = (struct record_frame){.begin = 150000, .statement = send};
    ok(!record_open(dir, -1, "frames", &reader), "frames are there, but none is open");
    ok(pass(reader, 200000, NULL).time == 0, "so no time is added");
    t->depth = 2;
    struct seen seen = pass(reader, 200000, NULL); /* a microsecond is 2000 ticks */
    ok(seen.count == 0, "open frames are not counted");
    ok(seen.time == 98000 + 48000, "their time is, less a microsecond each");
    ok(seen.self == 48000, "and self time of the communication");
    ok(pass(reader, 151000, NULL).time == 49000, "less than a microsecond is nothing");
    ok(pass(reader, 0, NULL).time == 0, "without a moment nothing is added");
    t->frames[1].statement = 77;
    ok(pass(reader, 200000, NULL).time == 98000, "a frame of no statement is passed over");
    record_close(reader);
    segment_drop(&s);
}

static void test_torn(void)
{
    struct segment s = segment_new(dir, "torn");
    struct record_reader *reader = NULL;
    int torn = 0;
    segment_fill(&s);
    statement_of(&s, 0, 1)->version++;
    ok(!record_open(dir, -1, "torn", &reader), "a process was killed within an event");
    struct seen seen = pass(reader, 0, &torn);
    ok(torn == 1, "one statement is torn");
    ok(seen.count == 6 && seen.peer_count == 4, "what it has counted is given all the same");
    record_close(reader);
    segment_drop(&s);
}

int main(void)
{
    dir = segment_begin(root, sizeof root);
    test_whole();
    test_many();
    test_extents();
    test_damage();
    test_probes();
    test_files();
    test_resets();
    test_frames();
    test_torn();
    close(dir);
    segment_end(root);
    return tap_done();
}
