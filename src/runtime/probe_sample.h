/* SPDX-License-Identifier: MIT */
/* Which visits are timed. So far: all. */
#ifndef LOUPE_RUNTIME_PROBE_SAMPLE_H
#define LOUPE_RUNTIME_PROBE_SAMPLE_H

#include "runtime/hot.h"
#include "runtime/probe.h"

/* A timed visit has ended. */
static inline void sample_add(struct probe_frame *f, int64_t time)
{
    struct record_probe *r = f->record;
    uint64_t ticks = time > 0 ? (uint64_t)time >> RECORD_TIME_SHIFT : 0;
    r->timed++;
    r->min = ticks < r->min ? ticks : r->min;
    r->max = ticks > r->max ? ticks : r->max;
    r->time += time;
}

/* A visit that came to the slow path: is it timed (its weight, or 0), and in how many visits does
 * the site come here again? */
static inline uint32_t sample_visit(struct probe_thread *p, struct probe_site *s, uint32_t *gap)
{
    (void)p;
    *gap = 1;
    s->left = 1;
    return s->size;
}

static inline uint32_t sample_entry(struct probe_thread *p, struct probe_site *s, bool marked,
                                    uint32_t *gap)
{
    (void)p;
    *gap = 1;
    return marked ? 0 : s->size;
}

/* From now on a call is only counted, and what it was timed is in other times. */
static inline void sample_never(struct probe_site *s, struct probe_frame *f)
{
    (void)f;
    s->untimed = true;
    s->record->state &= ~RECORD_PROBE_TIMED;
}

#endif
