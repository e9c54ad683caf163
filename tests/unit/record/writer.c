/* SPDX-License-Identifier: MIT */
/* The writing side: growing, the cap, and where extents go when shared memory has no room. */
#include "record/writer.h"

#include "lib/tap.h"
#include "record/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/loupe-test-XXXXXX", spill[] = "/tmp/loupe-test-XXXXXX";

static bool there(const char *where, const char *name, const char *suffix)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s%s", where, name, suffix);
    return access(path, F_OK) == 0;
}

static void make_dirs(void)
{
    strcpy(dir, "/tmp/loupe-test-XXXXXX");
    strcpy(spill, "/tmp/loupe-test-XXXXXX");
    if (!mkdtemp(dir) || !mkdtemp(spill))
        exit(1);
}

static void remove_dirs(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf %s %s", dir, spill);
    if (system(command))
        exit(1);
}

static void test_growing(void)
{
    struct record_writer w;
    make_dirs();
    ok(!record_writer_open(&w, dir, spill), "a segment is made");
    w.spare_shm = false;
    w.header->magic = RECORD_MAGIC;
    w.header->tick_ns = 1;
    w.header->pid = getpid();
    ok(there(dir, w.name, ".hdr") && !there(dir, w.name, ".0"), "with its header alone");
    struct record_chunk *first = record_writer_chunk(&w, RECORD_KIND_NAMES, 0);
    ok(first && there(dir, w.name, ".0"), "the first chunk brings the first extent");
    if (!first)
        return;
    first->used = 1;
    strcpy(((struct record_name *)(first + 1))->text, "stays");
    int chunks = 1;
    while (record_writer_chunk(&w, RECORD_KIND_NAMES, 0))
        chunks++;
    ok(chunks > 8000, "it grows to its cap: %d chunks", chunks);
    ok((uint64_t)chunks * RECORD_CHUNK <= RECORD_BYTES_MAX, "and not beyond");
    ok(w.header->trouble == RECORD_TROUBLE_STATEMENTS, "the header says that it is full");
    ok(!strcmp(((struct record_name *)(first + 1))->text, "stays"), "nothing has moved");
    struct record_reader *reader;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    ok(!record_open(fd, -1, w.name, &reader), "a reader sees all of it");
    ok(record_bytes(reader) == (uint64_t)(chunks + 1) * RECORD_CHUNK, "every chunk");
    record_close(reader);
    close(fd);
    remove_dirs();
}

static void test_spill(void)
{
    struct record_writer w;
    make_dirs();
    ok(!record_writer_open(&w, "/nonexistent", spill), "no shared memory: the header is spilled");
    ok(there(spill, w.name, ".hdr"), "to the other directory");
    ok(record_writer_chunk(&w, RECORD_KIND_NAMES, 0) && there(spill, w.name, ".0"),
       "and so are extents");
    ok(w.header->trouble & RECORD_TROUBLE_SPILLED && w.header->extents[0].spilled,
       "which the header says");
    ok(record_writer_open(&w, "/nonexistent", NULL) < 0, "nowhere at all: an error");
    remove_dirs();
}

static void test_cursor(void)
{
    struct record_writer w;
    struct record_cursor c = {0};
    make_dirs();
    record_writer_open(&w, dir, spill);
    struct record_peer *a = record_cursor_next(&w, &c, RECORD_KIND_PEERS, 7, sizeof *a);
    ok(a == record_cursor_next(&w, &c, RECORD_KIND_PEERS, 7, sizeof *a),
       "a record that is not published is given again");
    ok(c.chunk->used == 0, "readers do not see it");
    record_cursor_publish(&c);
    ok(c.chunk->used == 1 && c.chunk->block == 7, "then they do");
    struct record_chunk *chunk = c.chunk;
    for (int i = 1; i < RECORD_PER_CHUNK(struct record_peer) + 1; i++) {
        record_cursor_next(&w, &c, RECORD_KIND_PEERS, 7, sizeof *a);
        record_cursor_publish(&c);
    }
    ok(c.chunk != chunk && chunk->used == RECORD_PER_CHUNK(struct record_peer),
       "a full chunk is followed by another");
    remove_dirs();
}

int main(void)
{
    test_growing();
    test_spill();
    test_cursor();
    return tap_done();
}
