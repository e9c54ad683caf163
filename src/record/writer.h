/* SPDX-License-Identifier: MIT */
/*
 * The writing side of a process's segment: files, extents, chunks. Inside the target: libc only,
 * no malloc, no descriptor kept open, errno is the caller's business.
 *
 * Lock order: none is held while another is taken. `growing` is only tried, never waited for
 * without bound: a thread that cannot get a chunk folds its event instead of blocking.
 */
#ifndef LOUPE_RECORD_WRITER_H
#define LOUPE_RECORD_WRITER_H

#include "record/export.h"
#include "record/layout.h"

#include <stdbool.h>
#include <stddef.h>

struct record_writer {
    struct record_header *header; /* mapped; NULL: not open */
    char dir[256], spill[256];    /* where extents may go; spill may be empty */
    char name[17];
    bool spare_shm; /* before MPI_Init: a small /dev/shm is MPI's alone */
    uint64_t bytes_max;
    struct {
        char *chunks;
        uint32_t count;
    } extents[RECORD_EXTENTS];
    uint32_t next, total; /* chunks: taken, and there; atomic */
    uint32_t growing;     /* a thread adds an extent; atomic */
    uint32_t pause;       /* under `growing`: requests to refuse before the next try */
};

/* Creates NAME.hdr in `dir`, or in `spill` if that fails; both must be directories of ours. */
int record_writer_open(struct record_writer *w, const char *dir, const char *spill);
/* Forgets the segment without touching it: after fork it is the parent's. */
void record_writer_forget(struct record_writer *w);
/* A chunk for records of `kind`; NULL when nothing can be had (trouble bits say why). */
struct record_chunk *record_writer_chunk(struct record_writer *w, enum record_kind kind,
                                         uint32_t block);
/* The same for `count` chunks, one behind the other. */
struct record_chunk *record_writer_run(struct record_writer *w, enum record_kind kind,
                                       uint32_t block, uint32_t count);
void record_trouble(struct record_header *header, uint32_t bits) EXPORT_AS(record_trouble);

/* Where the next record of a block goes. */
struct record_cursor {
    struct record_chunk *chunk;
    uint32_t used;
};
/* Room for one more record of `size` bytes, zeroed; NULL as above. The caller fills it and then
 * calls record_cursor_publish, so that readers never see half a record. */
void *record_cursor_next(struct record_writer *w, struct record_cursor *c, enum record_kind kind,
                         uint32_t block, size_t size);
void record_cursor_publish(struct record_cursor *c);

#endif
