/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of segments, and what brings its records together: the first bytes of the input
 * are the header file, the rest the first extent. `segment-seeds DIR` (-DSEEDS) writes inputs to
 * begin with. Build it all with -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, or the reader waits for
 * writers that do not exist.
 */
#include "record/reader.h"
#include "tree/collect.h"
#include "unit/tree/segments.h"

#include <signal.h>

#ifdef SEEDS

static void write_seed(const char *dir, const char *name, const struct segment *s, size_t chunks)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(s->header, sizeof *s->header, 1, f) != 1 ||
        fwrite(s->extent, RECORD_CHUNK, chunks, f) != chunks || fclose(f))
        abort();
}

int main(int argc, char **argv)
{
    char root[128];
    int dir = segment_begin(root, sizeof root);
    if (argc != 2)
        return 2;
    struct segment s = segment_new(dir, "seed");
    s.header->extents[0].chunks = 1;
    write_seed(argv[1], "empty", &s, 0);
    segment_fill(&s);
    s.header->extents[0].chunks = s.taken + 1;
    write_seed(argv[1], "small", &s, s.taken + 1);
    struct record_thread *t = (void *)(s.extent + sizeof(struct record_chunk));
    t->depth = 2;
    t->frames[0] = (struct record_frame){.begin = 2000, .statement = 2};
    t->frames[1] = (struct record_frame){.begin = 3000, .statement = 1};
    write_seed(argv[1], "frames", &s, s.taken + 1);
    s.header->control.word = 1u << RECORD_CONTROL_RESET_SHIFT;
    t->resets = 1;
    write_seed(argv[1], "reset", &s, s.taken + 1);
    s.header->control.word = 0;
    segment_probes(&s);
    s.header->extents[0].chunks = s.taken + 1;
    write_seed(argv[1], "probes", &s, s.taken + 1);
    struct record_probe *r =
        (void *)(s.extent + (size_t)RECORD_CHUNK * (s.taken - 2) + sizeof(struct record_chunk));
    r->state |= RECORD_PROBE_SAMPLED;
    r->stratum_size = 40;
    r->stratum_timed = 10;
    r->stratum_time = 1 << 20;
    r->strata = 50;
    r->squares[0] = 12345;
    write_seed(argv[1], "estimates", &s, s.taken + 1);
    struct record_path *p = segment_path(&s, 0, 3);
    p->offset = 2000;
    p->items = 2;
    p->active = 2;
    p->innermost = 1;
    p->item[0] = (struct record_path_item){.share = 500, .exclusive = 300, .excess = 20};
    p->item[1].share = p->item[1].exclusive = -700;
    p->strip_shift = 10;
    p->strip[0] = 1;
    s.header->extents[0].chunks = s.taken + 1;
    write_seed(argv[1], "path", &s, s.taken + 1);
    p->waits = 5000;
    p->ended = 6000;
    write_seed(argv[1], "path-ended", &s, s.taken + 1);
    segment_drop(&s);
    close(dir);
    segment_end(root);
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[128];
static int dir = -1, header_fd, extent_fd;

static void clean_up(void)
{
    unlinkat(dir, "fuzz.hdr", 0);
    unlinkat(dir, "fuzz.0", 0);
    rmdir(root);
}

static void set_up(void)
{
    dir = segment_begin(root, sizeof root);
    header_fd = openat(dir, "fuzz.hdr", O_RDWR | O_CREAT | O_EXCL, 0600);
    extent_fd = openat(dir, "fuzz.0", O_RDWR | O_CREAT | O_EXCL, 0600);
    if (dir < 0 || header_fd < 0 || extent_fd < 0)
        abort();
    atexit(clean_up);
}

static void fill(int fd, const uint8_t *data, size_t size)
{
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record_reader *reader;
    struct collect_totals totals;
    if (dir < 0)
        set_up();
    size_t header = size < sizeof(struct record_header) ? size : sizeof(struct record_header);
    fill(header_fd, data, header);
    fill(extent_fd, data + header, size - header);
    if (record_open(dir, -1, "fuzz", &reader))
        return 0;
    struct run *run = run_new();
    run->program = strdup("fuzz");
    graph_add(&run->graph, &(struct graph_node){.parent = GRAPH_NONE, .name = run->program});
    struct collect *collect = collect_new(run);
    collect_last(reader);
    struct collect_moment moment = {record_now(reader), 1, true};
    struct plan plan = {.generation = 3, .on = 1, .items = 2};
    collect_process(collect, reader, &moment, 0, &totals);
    collect_keep_paths(collect, true);
    run_add_rank(run);
    collect_path(collect, &plan);
    run_finish(run);
    collect_free(collect);
    run_free(run);
    record_close(reader);
    return 0;
}

#endif
