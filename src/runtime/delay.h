/* SPDX-License-Identifier: MIT */
/*
 * The one rule of virtual time. A thread's *delay* is how much later its events now happen than
 * they would have without us; virtual time is real time less the delay.
 *
 * Whatever waits for others (a receive, a Wait for many, a rendezvous, a collective, a join) goes
 * on when the last of them is there. In real time that is the greatest of their moments, in virtual
 * time the greatest of their virtual moments, and the delay afterwards is the difference:
 *
 *     struct meeting m = meeting_begin(now, delay);
 *     meeting_join(&m, at, its_delay, who);           any number of them, in any order
 *     delay = meeting_delay(&m);
 *
 * A partner that was there early (`at` long before) counts as much as one that came late: a thread
 * whose probes cost a second, and that finds its message waiting, keeps that second.
 */
#ifndef LOUPE_RUNTIME_DELAY_H
#define LOUPE_RUNTIME_DELAY_H

#include <stdint.h>

enum { MEETING_SELF = -1 };

/* All in ticks, or all in fractions of them. */
struct meeting {
    int64_t real;  /* when the last was there */
    int64_t ideal; /* the same in virtual time */
    int64_t own;   /* when the one who waits began to, in virtual time */
    int32_t last;  /* who was the last in virtual time; MEETING_SELF: nobody is waited for */
};

static inline struct meeting meeting_begin(int64_t at, int64_t delay)
{
    return (struct meeting){
        .real = at, .ideal = at - delay, .own = at - delay, .last = MEETING_SELF};
}

static inline void meeting_join(struct meeting *m, int64_t at, int64_t delay, int32_t who)
{
    if (at > m->real)
        m->real = at;
    if (at - delay > m->ideal) {
        m->ideal = at - delay;
        m->last = who;
    }
}

static inline int64_t meeting_delay(const struct meeting *m)
{
    return m->real - m->ideal;
}

/* How long it would have waited without us. */
static inline int64_t meeting_wait(const struct meeting *m)
{
    return m->ideal - m->own;
}

#endif
