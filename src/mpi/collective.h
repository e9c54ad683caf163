/* SPDX-License-Identifier: MIT */
/*
 * A collective on its way: its number on its communicator, and who waits for whom in it.
 *
 *     coll_come(&c, site, comm, kind, root)     before the clock starts
 *     coll_begin(&c, &e)                        after it has started: this rank is there
 *     ... the call ...
 *     coll_go(&c, &e, bytes)                    settles the event: the others are met. Bytes, where
 *                                               each waits for all: 0 if it is not sure that it
 * does coll_failed(&c, &e, returned)             instead, when it went wrong
 *
 * Every collective that passes here is counted, recorded or not and whoever calls it: one rank,
 * where measurement is off, cannot tell MPI's own from the program's, and would count what another
 * does not.
 */
#ifndef LOUPE_MPI_COLLECTIVE_H
#define LOUPE_MPI_COLLECTIVE_H

#include "mpi/instance.h"
#include "mpi/meet.h"
#include "mpi/pair.h"

#pragma GCC visibility push(hidden)

enum coll_kind {
    COLL_ALL,       /* each waits for all */
    COLL_FROM_ROOT, /* the others wait for the root */
    COLL_TO_ROOT,   /* the root waits for all */
    COLL_LOWER,     /* each waits for those of lower rank */
    COLL_NEIGHBORS  /* each waits for its neighbours */
};

struct coming {
    struct comm_info *info; /* NULL: its id is not known */
    struct meet *meet;      /* NULL: nobody is met */
    uint64_t number;
    int32_t root;
    uint16_t kind;              /* enum coll_kind */
    uint16_t size;              /* power of two of the bytes, where there is a root */
    const MPI_Request *request; /* nonblocking: the others are met when it is complete */
};

void coll_come(struct coming *c, struct site *site, MPI_Comm comm, enum coll_kind kind, int root);
void coll_go(struct coming *c, struct event *e, uint64_t bytes);
void coll_failed(struct coming *c, struct event *e, int returned);
/* One that MPI or another tool calls inside of another call is counted only; NULL: not even that.
 */
struct comm_info *coll_inside(MPI_Comm comm);
/* Not counted after all, if it was refused so that the others never saw it. */
void coll_take_back(struct comm_info *info, int returned);

/* The path of this rank beside its slot; MEET_PATH, or 0 if it cannot be told. */
uint32_t coll_tell_path(struct thread *t, const struct meet *m, uint64_t number);

/* What a slot says of the statement. */
HOT uint32_t coll_statement(struct thread *t, const struct site *site, const struct meet *m,
                            uint64_t number)
{
    return UNLIKELY(t->path) ? site->index | coll_tell_path(t, m, number) : site->index;
}

/* For instance.h. */
static inline uint32_t coll_call(const struct event *e)
{
    bool known = pair_seen(e) && e->site != e->thread->others;
    return known ? e->site->record->call + 1u : 0;
}

/* Other hosts are told that all of this one are there, if they are; the event begins after that. */
void coll_tell_hosts(const struct coming *c, struct event *e);

static inline void coll_begin(const struct coming *c, struct event *e)
{
    if (c->meet) {
        if (UNLIKELY(c->meet->midway))
            instance_begin(c->meet, c->number, coll_call(e));
        meet_write(c->meet, c->number, e->begin, delay_told(e->thread, e->before),
                   coll_statement(e->thread, e->site, c->meet, c->number));
        if (UNLIKELY(c->meet->hosts != NULL))
            coll_tell_hosts(c, e);
    }
}

/* Those whom this rank waits for join the meeting, if all members are on this host; false: not all
 * are known, or another may have held it up. */
bool coll_meet_here(const struct coming *c, struct pairing *x);
/* The same with members on other hosts. */
bool coll_meet_hosts(const struct coming *c, struct pairing *x, bool wait);
/* The root of one that has its data from there was there then. */
bool coll_meet_root(const struct coming *c, struct pairing *x, const struct meet_slot *root);
/* Nothing is known of any board any more. */
void coll_leave(void);
/* A nonblocking one is complete. */
void coll_complete(struct pairing *x, const struct pending *p);
void request_track_collective(struct event *e, const struct coming *c);

/* ---- the short way (fast.py): the site knows the communicator, which has its ring ---- */

HOT struct meet *short_meet(const struct site *site, MPI_Comm comm)
{
    const struct comm_info *info = site->comm_info;
    if (UNLIKELY((MPI_Comm)site->comm != comm || !info || !info->meet || !info->meet->own ||
                 info->meet->full))
        return NULL;
    return info->meet;
}

HOT void short_begin(struct meet *m, const struct ending *e, struct thread *t, struct site *site)
{
    uint64_t number = ++((struct comm_info *)site->comm_info)->collectives;
    meet_write(m, number, e->begin, delay_told(t, e->before), coll_statement(t, site, m, number));
}

/* What it costs this time, which is measured. */
int64_t short_learn(struct meet *m, uint64_t since);
int short_failed(struct ending e, struct site *site, int returned);

/* Everyone was waited for; settles the event. */
HOT void short_go_all(struct meet *m, struct ending *e, struct site *site)
{
    struct meeting met = event_meeting_short(e);
    int64_t known = *e->thread->delay; /* meeting paths accounts for itself */
    bool sure = meet_join_all(m, m->last, e->now, &met);
    uint64_t sync = (uint64_t)meeting_wait(&met);
    int64_t cost = m->cost.cost;
    if (UNLIKELY(learnt_due(&m->cost)))
        cost =
            short_learn(m, e->now + (uint64_t)((*e->thread->delay - known) >> RECORD_TIME_SHIFT));
    event_settle_short_met(e, &met, sync);
    event_spent(e->thread, cost);
    if (UNLIKELY(!sure))
        e->record->uncertain++;
    sync = sync < e->ticks ? sync : e->ticks;
    if (sync && met.last >= 0) {
        struct record_peer *p = event_find_peer(e->thread, site, met.last, RECORD_RECEIVED);
        if (LIKELY(p != NULL))
            p->sync += sync;
    }
}

/* ---- what they count: after success, settled, inside the odd section ---- */

bool coll_is_root(struct event *e, int root, MPI_Comm comm);
int coll_members(struct event *e, MPI_Comm comm);
int coll_me(struct event *e, MPI_Comm comm);
/* Everyone but the root sends to it (or receives from it); the root's bytes are its own part. This
 * one settles the event too: how long data take depends on their size. */
void coll_rooted(struct coming *c, struct event *e, uint64_t bytes, int root, MPI_Comm comm,
                 uint32_t direction);
/* The same to every member, or to every out-neighbour; `total` is the statement's. */
void coll_each(struct event *e, uint64_t bytes_each, MPI_Comm comm);
void coll_each_neighbor(struct event *e, uint64_t total, uint64_t bytes_each, MPI_Comm comm);
/* Different amounts: begin, then one call per member or neighbour. */
void coll_to(struct event *e, const struct comm_info *info, int rank, uint64_t bytes);
void coll_to_neighbor(struct event *e, const struct comm_info *info, int index, uint64_t bytes);
int coll_neighbors(struct event *e, MPI_Comm comm, const struct comm_info **info);

#pragma GCC visibility pop

#endif
