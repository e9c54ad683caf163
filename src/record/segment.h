/* SPDX-License-Identifier: MIT */
/* What the files of the reader share; for nobody else. */
#ifndef LOUPE_RECORD_SEGMENT_H
#define LOUPE_RECORD_SEGMENT_H

#include "record/reader.h"

#include <limits.h>

/* What a reader is willing to look at: all chunks of one process. */
#define SEGMENT_CHUNKS_MAX (1u << 18)

struct segment_map {
    const char *start; /* NULL: not mapped */
    size_t bytes;
};

struct record_reader {
    struct record_header header; /* the copy */
    struct segment_map live;     /* the header file */
    struct segment_map extents[RECORD_EXTENTS];
    uint32_t chunks; /* in all extents that are mapped */
    bool damaged;
    uint32_t tried; /* extents that were mapped, or could not be: bits */
    struct path_floor {
        uint32_t generation;
        int64_t length;
    } * floors; /* by block: the longest path that was given */
    size_t floor_count, floor_room;
    int dir, spill;
    char name[NAME_MAX + 1];
};

/* Whether extents have appeared that nobody tried to map yet; and maps them. */
bool segment_grown(const struct record_reader *reader);
void segment_grow(struct record_reader *reader);

/*
 * A file that is cut while it is mapped, or a page that the machine cannot give, raises SIGBUS in
 * whoever looks at it. Between these two calls the page then becomes one of zeros, and the reader
 * is marked damaged: as everything is checked, zeros do no harm. Per thread, not nested.
 */
void guard_enter(struct record_reader *reader);
void guard_leave(void);

static inline uint32_t segment_load32(const uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline uint64_t segment_load64(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

typedef uint64_t __attribute__((may_alias)) segment_word;

/* Word by word and in order, so that no counter is torn and versions read around it mean what they
 * should; memcpy promises neither. Both sides are aligned to 8 bytes, as is the size. */
static inline void segment_copy(void *to, const void *from, size_t bytes)
{
    segment_word *out = to;
    const segment_word *in = from;
    for (size_t i = 0; i < bytes / sizeof *in; i++)
        out[i] = __atomic_load_n(in + i, __ATOMIC_ACQUIRE);
}

#endif
