/* SPDX-License-Identifier: MIT */
/* One pass over a segment: what visit.c, probes.c and paths.c share; for nobody else. */
#ifndef LOUPE_RECORD_VISIT_H
#define LOUPE_RECORD_VISIT_H

#include "record/segment.h"

/* A chunk that was found in the first look at all heads. */
struct chunk_ref {
    const struct record_chunk *chunk;
    uint32_t index, block, used;
    uint32_t more; /* chunks of its run behind it */
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
    struct record_unit *units; /* copies */
    size_t unit_count;
    int torn;
    long tries_left;
    int naps;
};

/* The block that is being read. */
struct block {
    uint32_t index;
    const struct record_thread *thread;
    struct chunk_list statements, cells, probes, frames, paths;
    uint32_t statement_count;
    struct chunk_list peers;              /* of this block, in order */
    const struct record_chunk *next_free; /* when they were listed; NULL: none */
    uint32_t *first_peer;                 /* by statement */
    struct peer_ref *refs;
    size_t ref_count, ref_room;
    struct record_peer *copies; /* of the statements read so far */
    size_t copy_count, copy_room;
};

/* Kinds of chunks that belong to a thread block, and those of the whole process. */
#define VISIT_OF_BLOCKS                                                                            \
    (1u << RECORD_KIND_STATEMENTS | 1u << RECORD_KIND_PEERS | 1u << RECORD_KIND_CELLS |            \
     1u << RECORD_KIND_PROBES | 1u << RECORD_KIND_FRAMES | 1u << RECORD_KIND_PATHS)
#define VISIT_OF_PROCESS                                                                           \
    (1u << RECORD_KIND_THREADS | 1u << RECORD_KIND_MODULES | 1u << RECORD_KIND_NAMES |             \
     1u << RECORD_KIND_UNITS)

extern const uint32_t visit_per_chunk[RECORD_KINDS];

static inline const void *visit_record(const struct record_chunk *chunk, size_t size, uint32_t slot)
{
    return (const char *)(chunk + 1) + slot * size;
}

const struct record_chunk *visit_scan(struct visit *v, unsigned kinds, uint32_t block);
/* Number of records up to the last one in use, gaps included. */
size_t visit_records(const struct chunk_list *list, int kind);
/* A reset was asked for that the block has not done yet. */
bool visit_void(const struct visit *v, const struct block *b);
/* What its open frames, which began in virtual time, are to be moved by; ticks. */
static inline uint64_t visit_delay(const struct visit *v, const struct record_thread *t)
{
    bool none = v->reader->header.compensation == RECORD_COMPENSATE_NONE;
    return none ? 0 : segment_load64((const uint64_t *)&t->delay);
}
/* Whether to try once more to read a record that changes; waits a little if need be. */
bool visit_patience(struct visit *v, int tries);

/* Copies and checks the units; then, of each block, its probes. */
void probes_begin(struct visit *v);
void probes_give(struct visit *v, struct block *b);
/* The critical path of a block, if it has one. */
void paths_give(struct visit *v, struct block *b);

#endif
