/* SPDX-License-Identifier: MIT */
/*
 * The short way through a wrapper: everything that the event needs was looked up before, at this
 * statement, and is found by comparing. Decided before the call and before the clock starts, so
 * that nothing but the site and the outcome is kept over the call; when anything is new, the
 * wrapper jumps to its full version, which finds it out. Without MPI_THREAD_MULTIPLE only, where
 * the table of requests is concerned: that needs its lock then.
 */
#ifndef LOUPE_MPI_FAST_H
#define LOUPE_MPI_FAST_H

#include "mpi/pair.h"
#include "mpi/shim.h"
#include "runtime/post.h"

/* The full version must find the program's return address where the wrapper found it. */
#if defined(__clang__)
#define JUMP __attribute__((musttail)) return
#else
#define JUMP return /* -foptimize-sibling-calls */
#endif
#define FULL static __attribute__((noinline))

/* As __builtin_frame_address(0) would be, without asking for a frame pointer. */
#define FRAME          ((void *)((void **)__builtin_dwarf_cfa() - 2))
#define READY(t, call) event_ready(t, call, __builtin_return_address(0))
#define OPEN(e, t, site)                                                                           \
    ({                                                                                             \
        SHIM_DEEP;                                                                                 \
        event_open(e, t, site, FRAME);                                                             \
    })
#define POST(e, t, site)                                                                           \
    ({                                                                                             \
        SHIM_DEEP;                                                                                 \
        post_open(e, t, site, FRAME);                                                              \
    })
#define SAME(cached, handle) ((__typeof__(handle))(cached) == (handle))

/* What is not short ends the event too, so that the short way keeps nothing over a second call. It
 * gets a copy of it: what has no address stays in registers, and on the way from a receive to the
 * next send each store is one more before MPI's own. */
int fast_receive_slow(struct ending e, struct site *site, MPI_Request request,
                      const struct near_peer *near);

/* A receive was posted from a peer that the site knows. */
HOT int fast_receive(struct ending *e, struct site *site, MPI_Request request,
                     const struct near_peer *near)
{
    uintptr_t key = HANDLE(request);
    struct pending *p = request_home(key);
    if (UNLIKELY(shim_requests.used >= shim_requests.fast_most || p->key ||
                 request == ABI_REQUEST_NULL))
        return fast_receive_slow(*e, site, request, near);
    shim_requests.used++;
    p->key = key;
    p->site = site;
    p->info = NULL;
    p->rank = near->world;
    p->tag = near->tag;
    p->kind = PENDING_RECV;
    p->active = p->listed = p->tested = 0;
    p->stream = near->stream;
    p->number = LIKELY(p->stream != NULL) ? stream_post(p->stream) : 0;
    p->peer = near->record;
    p->quick = e->thread;
    event_shut(e);
    return MPI_SUCCESS;
}

enum { FAST_REQUESTS = 16 };

struct fast_request {
    uintptr_t key;
    struct pending *slot;
    int index;
};

/* Requests given to a completion call that are tracked; with room for statuses, as the program may
 * not want any. In the thread's room: a wrapper with this on its stack could not jump. */
struct fast_waiting {
    struct fast_request *end; /* of those in use */
    struct fast_request of[FAST_REQUESTS];
    MPI_Status statuses[FAST_REQUESTS];
};
_Static_assert(sizeof(struct fast_waiting) <= THREAD_ROOM, "room");

/* False: too many, or one that does not stand in its first place. */
HOT bool fast_look_up(struct fast_waiting *w, int count, const MPI_Request *requests)
{
    struct fast_request *r = w->of;
    if (UNLIKELY(count > shim_requests.fast_count || !requests))
        return false;
    if (LIKELY(shim_requests.used))
        for (int i = 0; i < count; i++) {
            uintptr_t key = HANDLE(requests[i]);
            struct pending *p = request_home(key);
            if (p->key == key) {
                r->key = key;
                r->slot = p;
                r->index = i;
                r++;
            } else if (UNLIKELY(p->key)) {
                return false;
            }
        }
    w->end = r;
    return true;
}

/* From this one on, and ends the event. */
int fast_tell_slow(struct thread *t, const struct fast_request *r, const MPI_Status *statuses);

/* Tells of the completed receives at the statements that posted them. After the section of the
 * statement that waits is closed: both may be the one for the others. */
HOT int fast_tell(struct thread *t, const MPI_Status *statuses)
{
    const struct fast_waiting *w = t->room;
    for (const struct fast_request *r = w->of; r < w->end; r++) {
        struct pending *p = r->slot;
        uint64_t bytes;
        if (UNLIKELY(p->key != r->key || p->quick != t || p[1].key ||
                     !abi_status_plain(&statuses[r->index], &bytes)))
            return fast_tell_slow(t, r, statuses);
        struct record_statement *s = p->site->record;
        struct record_peer *peer = p->peer;
        p->key = 0;
        shim_requests.used--;
        statement_open(s);
        short_bytes(s, bytes);
        peer->count++;
        peer->bytes += bytes;
        statement_close(s);
    }
    t->guard = 0;
    return MPI_SUCCESS;
}

/* From this one on: their headers join the meeting. */
void fast_pair_slow(struct pairing *x, const struct fast_waiting *w, const struct fast_request *r,
                    const MPI_Status *statuses, bool test);
void fast_waited_slow(struct thread *t, struct site *site, int32_t rank, uint64_t sync);

/* Settles the event; the peer that was waited for is told at the statement that waits. */
HOT void fast_settle(struct ending *e, struct site *site, const struct pairing *x,
                     struct record_peer *peer)
{
    if (LIKELY(x->paired | x->met)) {
        uint64_t sync = pairing_sync(x);
        event_settle_short_met(e, &x->meeting, sync);
        sync = sync < e->ticks ? sync : e->ticks;
        if (peer)
            peer->sync += sync;
        else if (sync && x->meeting.last >= 0)
            fast_waited_slow(e->thread, site, x->meeting.last, sync);
        event_spent(e->thread, x->paired * pair_take_cost);
    } else {
        event_settle_short(e);
    }
    pairing_vote(x);
    pairing_count(x, e->record, e->thread->block);
}

/* The requests of a completion call are complete. */
HOT int fast_done(struct ending *e, struct site *site, const MPI_Status *statuses, bool test)
{
    struct thread *t = e->thread;
    const struct fast_waiting *w = t->room;
    if (w->end == w->of) {
        event_settle_short(e);
        event_shut(e);
        return MPI_SUCCESS;
    }
    if (UNLIKELY(!shim_headers)) {
        event_settle_short(e);
        statement_close(e->record);
        return fast_tell(t, statuses);
    }
    struct pairing x = pairing_start(event_meeting_short(e), e->begin, e->now);
    for (const struct fast_request *r = w->of; r < w->end; r++) {
        struct pending *p = r->slot;
        uint64_t bytes;
        if (UNLIKELY(p->key != r->key || p->quick != t ||
                     !abi_status_plain(&statuses[r->index], &bytes))) {
            fast_pair_slow(&x, w, r, statuses, test);
            break;
        }
        if (test && UNLIKELY(p->tested))
            x.uncertain = 1;
        pair_received(&x, p->stream, p->number, p->rank, bytes);
    }
    fast_settle(e, site, &x, NULL);
    statement_close(e->record);
    return fast_tell(t, statuses);
}

/* None is complete yet. */
HOT int fast_not_yet(struct ending *e)
{
    const struct fast_waiting *w = e->thread->room;
    for (const struct fast_request *r = w->of; r < w->end; r++)
        r->slot->tested |= r->slot->key == r->key;
    event_settle_short(e);
    event_shut(e);
    return MPI_SUCCESS;
}

/* The call failed: as waiting_drop. */
int fast_failed(struct ending e, int returned, const MPI_Request *requests,
                const MPI_Status *statuses);

/* A message from a rank or with a tag that is not near, or of a communicator that was freed
 * meanwhile. */
int fast_received_slow(struct ending e, struct site *site, const MPI_Status *status);

int fast_unreceived(struct ending e, struct site *site, int returned, const MPI_Status *status);

/* A receive from one source, and nothing was posted that could have got its message. */
HOT int fast_received(struct ending *e, struct site *site, const MPI_Status *status, bool headers)
{
    struct near_peer *near = near_peer(site, status->MPI_SOURCE, RECORD_RECEIVED);
    uint64_t bytes;
    if (UNLIKELY(near->rank != status->MPI_SOURCE || near->tag != status->MPI_TAG ||
                 !abi_status_plain(status, &bytes)))
        return fast_received_slow(*e, site, status);
    if (headers) {
        struct stream *s = near->stream;
        struct pairing x = pairing_start(event_meeting_short(e), e->begin, e->now);
        pair_received(&x, s, LIKELY(s != NULL) ? stream_post(s) : 0, near->world, bytes);
        fast_settle(e, site, &x, near->record);
    } else {
        event_settle_short(e);
    }
    short_bytes(e->record, bytes);
    peer_add(near->record, bytes, e->ticks);
    event_shut(e);
    return MPI_SUCCESS;
}

/* A send that may have waited for its receive, whatever came of it. Returns its ticks. */
uint64_t fast_settle_long(struct ending e, struct site *site, int dest, int returned,
                          uint64_t bytes);
/* The sender of what is about to be received may wait for it: is it known who, and which message?
 */
bool fast_answers(const struct site *site, int source, int tag);
/* Then it is told. Returns where the header is going to be. */
const void *fast_answer(struct ending e, struct thread *t, struct site *site, int source,
                        uint64_t room);

/* The message of a send that failed will not come. */
int fast_unsent(struct ending e, struct site *site, int dest, int returned);

#endif
