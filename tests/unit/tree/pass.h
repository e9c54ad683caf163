/* SPDX-License-Identifier: MIT */
/* A pass of the reader over a segment, for its tests; and where in the segment things are. */
#ifndef LOUPE_TESTS_PASS_H
#define LOUPE_TESTS_PASS_H

#include "record/reader.h"

#include "segments.h"

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

#endif
