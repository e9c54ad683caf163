/* SPDX-License-Identifier: MIT */
/* The reader on segments that are right, or in the middle of something. */
#include "pass.h"

#include "lib/tap.h"

#include <errno.h>

static char root[128];
static int dir;

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
    test_files();
    test_resets();
    test_frames();
    test_torn();
    close(dir);
    segment_end(root);
    return tap_done();
}
