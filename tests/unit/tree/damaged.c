/* SPDX-License-Identifier: MIT */
/* The reader on segments that are damaged in every way. */
#include "pass.h"

#include "lib/tap.h"

#include <errno.h>
#include <math.h>

static char root[128];
static int dir;

/* One way to damage a segment: what record_open says, and if it opens whether damage is seen. */
struct damage {
    const char *what;
    void (*make)(struct segment *s);
    int error;
    int count; /* sum of counts still seen; 6 are there */
};

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

int main(void)
{
    dir = segment_begin(root, sizeof root);
    test_damage();
    test_probes();
    close(dir);
    segment_end(root);
    return tap_done();
}
