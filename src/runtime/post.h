/* SPDX-License-Identifier: MIT */
/*
 * Posts of nonblocking operations take so little that two readings of the clock can be half of what
 * they cost. Where they come so fast that this would go beyond the budget, they are timed in
 * bursts, as probes are: of RECORD_POST_SIZE blocks of RECORD_POST_BLOCK posts one, drawn before,
 * is timed and stands for all. Count, bytes and peers are exact, and the record says how many posts
 * were not timed. All that is measured in visits, for each statement and thread.
 *
 *     if (post_counted(t, site)) {
 *         post_open(&e, t, site, frame);
 *         ... the call ...
 *         post_count(&e, site);
 *         ... bytes and peer ...
 *         event_shut(&e);
 *     } else {
 *         ... as always ...
 *         event_settle_short(&e);
 *         post_settled(&e, site, peer);
 *     }
 *
 * Only on the short way; what goes the full way is timed and stands for itself, and so is what is
 * needed by somebody else: regions, probes' budget, the critical path.
 */
#ifndef LOUPE_RUNTIME_POST_H
#define LOUPE_RUNTIME_POST_H

#include "runtime/hot.h"

HOT bool post_counted(const struct thread *t, const struct site *site)
{
    return site->posts.skip && LIKELY(!t->path && !t->watched);
}

HOT void post_open(struct ending *e, struct thread *t, struct site *site, void *frame)
{
    e->record = site->record;
    e->ticks = 0;
    site->posts.skip--;
    t->open = site;
    t->guard = (uintptr_t)frame;
}

/* Opens the statement's odd section, as event_stop does. */
HOT void post_count(struct ending *e, const struct site *site)
{
    struct thread *t = e->thread = site->thread;
    struct record_statement *s = e->record;
    int64_t delay = *t->delay + t->post_cost;
    statement_open(s);
    s->count++;
    s->estimated++;
    *t->delay = delay;
    t->block->delay = delay >> RECORD_TIME_SHIFT;
}

void post_turn(const struct ending *e, struct site *site, struct record_peer *peer)
    EXPORT_AS(post_turn);

/* One that was timed; `peer`: its time is kept there too. */
HOT void post_settled(const struct ending *e, struct site *site, struct record_peer *peer)
{
    if (UNLIKELY(--site->posts.left <= 0 || site->posts.weight > 1))
        post_turn(e, site, peer);
}

#endif
