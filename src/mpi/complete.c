/* SPDX-License-Identifier: MIT */
/*
 * Completion of requests: what was posted is told at the statement that posted it, and the headers
 * of the messages received say how long the call that completes them has waited, and for whom.
 */
#include "mpi/anchor.h"
#include "mpi/collective.h"
#include "mpi/request.h"

#include <errno.h>

/* ---- looking ahead, in a job that was attached to (anchor.h) ---- */

/* Where a message is there when it has come; of a long one only its announcement would be. */
static bool shows_absence(const struct pending *p)
{
    return p && (p->kind == PENDING_RECV || (p->kind == PENDING_RECV_INIT && p->active)) &&
           !p->listed && p->stream && p->stream->midway && p->bytes <= ANSWER_BYTES &&
           anchor_due(p->stream);
}

/* Looks at those in `open`, bit by bit; when each was last not there. Returns those that still are
 * not. */
static uint32_t look_once(uint32_t open, const MPI_Request *requests, uint64_t *absent)
{
    for (uint32_t left = open; left; left &= left - 1) {
        int i = __builtin_ctz(left), there = 0;
        MPI_Status status;
        uint64_t now = clock_now();
        if (PM(Request_get_status)(requests[i], &there, &status) != MPI_SUCCESS || there)
            open &= ~(1u << i);
        else
            absent[i] = now;
    }
    return open;
}

void waiting_look(const struct waiting *w, const MPI_Request *requests)
{
    uint64_t absent[FAST_REQUESTS] = {0}, until = clock_now() + anchor_patience();
    uint32_t open = 0;
    if (w->none || w->count > FAST_REQUESTS)
        return;
    for (int i = 0; i < w->count; i++)
        open |= w->marks[i] && shows_absence(request_find(w->keys[i])) ? 1u << i : 0;
    while (open && clock_now() < until)
        open = look_once(open, requests, absent);
    for (int i = 0; i < w->count; i++) {
        const struct pending *p = absent[i] ? request_find(w->keys[i]) : NULL;
        if (p)
            anchor_absent(p->stream, p->number, absent[i]);
    }
}

/* ---- completion ---- */

/* The record to tell of a completion at: the posting statement's in the completing thread; NULL:
 * measurement was off when it was posted. */
static inline struct site *posting_site(const struct pending *p, struct thread *t)
{
    struct site *site = p->site;
    if (UNLIKELY(site == site->thread->unseen))
        return NULL;
    if (LIKELY(site->thread == t))
        return site;
    if (site == site->thread->others)
        return t->others;
    return event_site(t, site_address(site), site->record->call);
}

static void *scratch(struct thread *t, size_t bytes)
{
    if (t->scratch_bytes < bytes) {
        int saved = errno;
        pages_free(t->scratch, t->scratch_bytes);
        t->scratch = pages_alloc(2 * bytes);
        t->scratch_bytes = t->scratch ? 2 * bytes : 0;
        errno = saved;
    }
    return t->scratch;
}

static bool place(struct waiting *w, struct thread *t, int count)
{
    w->keys = w->few_keys;
    w->marks = w->few_marks;
    w->statuses = w->few_statuses;
    if (LIKELY(count <= (int)(sizeof w->few_keys / sizeof *w->few_keys)))
        return true;
    size_t each = sizeof *w->keys + sizeof *w->marks + sizeof *w->statuses;
    char *memory = scratch(t, (size_t)count * each);
    if (!memory)
        return false;
    w->keys = (uintptr_t *)memory;
    w->marks = (uint64_t *)(w->keys + count);
    w->statuses = (MPI_Status *)(w->marks + count);
    return true;
}

/* Notes handle and slot of every request; false if none of them is tracked. */
static bool look_up(struct waiting *w, const MPI_Request *requests)
{
    uint64_t tracked = 0;
    for (int i = 0; i < w->count; i++) {
        uintptr_t key = HANDLE(requests[i]);
        const struct pending *p = request_slot(key);
        uint64_t mark = p->key ? (uint64_t)(p - shim_requests.slots) + 1 : 0;
        w->keys[i] = key;
        w->marks[i] = mark;
        tracked |= mark;
    }
    return tracked;
}

/* The same by serial number, which stays good when another thread gets a handle anew. */
static bool look_up_among(struct waiting *w, const MPI_Request *requests)
{
    uint64_t tracked = 0;
    requests_enter();
    for (int i = 0; i < w->count; i++) {
        w->keys[i] = HANDLE(requests[i]);
        const struct pending *p = request_find_among(w->keys[i], 0);
        w->marks[i] = p ? p->serial : 0;
        tracked |= w->marks[i];
    }
    requests_leave();
    return tracked;
}

void waiting_begin(struct waiting *w, struct thread *t, int count, const MPI_Request *requests,
                   MPI_Status *statuses, bool ignored)
{
    w->count = count;
    bool some = __atomic_load_n(&shim_requests.used, __ATOMIC_RELAXED) && count > 0 && requests &&
                place(w, t, count) &&
                (UNLIKELY(shim_multiple) ? look_up_among(w, requests) : look_up(w, requests));
    w->none = !some;
    w->own_statuses = some && ignored;
    if (!w->own_statuses)
        w->statuses = statuses;
}

/* The entry of a completed request: where it was, unless another's removal has moved it. */
HOT struct pending *completed(const struct waiting *w, int index)
{
    if (UNLIKELY(shim_multiple))
        return request_find_among(w->keys[index], w->marks[index]);
    struct pending *p = &shim_requests.slots[w->marks[index] - 1];
    return LIKELY(p->key == w->keys[index]) ? p : request_find(w->keys[index]);
}

static int32_t completed_rank(const struct pending *done, const MPI_Status *status)
{
    if (done->rank != SHIM_ANY)
        return done->rank;
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return SHIM_NOBODY;
    return world_rank(done->info, status->MPI_SOURCE);
}

HOT void tell(const struct pending *done, struct thread *t, const MPI_Status *status)
{
    bool read = done->kind == PENDING_READ;
    int32_t rank = completed_rank(done, status);
    /* Open MPI's file layer leaves the cancelled flag as it was in memory. */
    if (!read && (rank == SHIM_NOBODY || abi_status_cancelled(status)))
        return;
    struct site *site = posting_site(done, t);
    if (UNLIKELY(!site))
        return;
    uint64_t bytes = abi_status_bytes(status);
    statement_open(site->record);
    statement_bytes(site->record, bytes);
    if (!read)
        event_peer(t, site, rank, RECORD_RECEIVED, bytes, 0);
    statement_close(site->record);
}

/* The receive was listed; what it got is known by now, or never will be. */
static void unlist(struct pending *p, bool known)
{
    if (UNLIKELY(marks_pending) && !p->listed)
        mark_drop(p->stream, p->number, known ? MARK_LEAVE : MARK_VOID);
    if (p->listed && p->post) {
        if (known)
            post_forget(p->post);
        else
            post_free(p->post);
    }
    p->listed = 0;
    p->stream = NULL;
}

/* Takes a completed request out of the table, or a persistent one out of its activity. What is to
 * be told of it is told without the lock: a first visit can take long. Its info stays held. */
static bool take(struct pending *p, struct pending *done, bool known)
{
    bool receives = false;
    if (p && p->kind == PENDING_COLLECTIVE) {
        comm_release(p->info);
        request_take_out(p);
    } else if (p &&
               (p->kind == PENDING_RECV || p->kind == PENDING_READ || p->kind == PENDING_SEND)) {
        *done = *p;
        receives = p->kind != PENDING_SEND;
        unlist(p, known);
        request_take_out(p);
    } else if (p && p->active) {
        p->active = 0;
        *done = *p;
        receives = p->kind == PENDING_RECV_INIT;
        if (receives)
            unlist(p, known);
        if (receives && p->info)
            comm_hold(p->info);
    }
    return receives;
}

static void taken(const struct pending *done, struct thread *t, const MPI_Status *status)
{
    if (status)
        tell(done, t, status);
    if (done->info)
        comm_release(done->info);
}

/* NULL: what it got is not known. */
static void waiting_tell(struct waiting *w, struct thread *t, int index, const MPI_Status *status,
                         bool seen)
{
    struct pending done;
    requests_enter();
    bool receives = take(completed(w, index), &done, status);
    requests_leave();
    if (receives)
        taken(&done, t, seen ? status : NULL);
}

/* A request that was tracked and is complete, without MPI_THREAD_MULTIPLE. */
static void complete(uintptr_t key, struct thread *t, const MPI_Status *status)
{
    struct pending done;
    if (take(request_find(key), &done, status))
        taken(&done, t, status);
}

static bool is_receive(const struct pending *p)
{
    return p && (p->kind == PENDING_RECV || (p->kind == PENDING_RECV_INIT && p->active));
}

/* Before any of them is paired: what those have got whose message is not known yet. */
static void hear(struct pending *p, const MPI_Status *status)
{
    if (!is_receive(p) || !p->listed || !p->post || abi_status_cancelled(status))
        return;
    int32_t rank = completed_rank(p, status);
    if (rank == SHIM_NOBODY)
        post_cancel(p->post);
    else
        post_complete(p->post, rank, status);
}

static void pair_listed(struct pairing *x, struct post *post, bool any)
{
    struct stream spare, *s;
    if (!post) {
        x->ambiguous++;
        return;
    }
    post_resolve(post);
    s = stream_from(post->info->id, post->rank, post->got, &spare);
    struct header h = post->header;
    bool found = post->taken ? post->found : s && pair_take(s, post->number, post->bytes, &h);
    if (!post->resolved || !post->sure) {
        x->ambiguous++;
    } else if (found && s) {
        pairing_join(x, s->in, &h, post->rank, post->bytes);
        x->reordered += any && order_changed(post->info->id, post->tag, post->rank, &h);
    } else {
        x->missing += post->rank != streams_self;
    }
}

/* A completed request: its message's header joins the meeting, or those of its collective do. */
static void pair_one(struct pairing *x, struct pending *p, const MPI_Status *status, bool test)
{
    if (p && p->kind == PENDING_COLLECTIVE) {
        coll_complete(x, p);
        pairing_latest(x, INT64_MAX);
        x->uncertain |= test && p->tested;
        return;
    }
    if (p && p->kind == PENDING_SEND)
        pairing_sent(x, p->stream, p->number, p->bytes, mark_begun(p->stream, p->number));
    if (p && p->kind == PENDING_SEND_INIT && p->bytes > pair_eager)
        pairing_latest(x, INT64_MAX); /* whether it waited is not looked at */
    if (!is_receive(p) || p->rank == SHIM_NOBODY || status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    if (test && p->tested)
        x->uncertain = 1;
    if (abi_status_cancelled(status))
        request_unpost(p);
    else if (p->listed)
        pair_listed(x, p->post, p->rank == SHIM_ANY);
    else
        pair_received(x, p->stream, p->number, completed_rank(p, status), abi_status_bytes(status));
}

void waiting_done(struct waiting *w, struct event *e, int count, const int *indices,
                  const MPI_Status *statuses, bool test)
{
    struct pairing x = pairing_begin(e);
    requests_enter();
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            int index = indices ? indices[i] : i;
            if (index < 0 || index >= w->count || !w->marks[index])
                continue;
            struct pending *p = completed(w, index);
            if (pass == 0)
                hear(p, &statuses[i]);
            else
                pair_one(&x, p, &statuses[i], test);
        }
    requests_leave();
    pairing_settle(e, &x);
    event_close(e);
    for (int i = 0; i < count; i++) {
        int index = indices ? indices[i] : i;
        if (index >= 0 && index < w->count && w->marks[index])
            waiting_tell(w, e->thread, index, &statuses[i], pair_seen(e));
    }
}

void waiting_tested(struct waiting *w)
{
    requests_enter();
    for (int i = 0; !w->none && i < w->count; i++) {
        struct pending *p = w->marks[i] ? completed(w, i) : NULL;
        if (p)
            p->tested = 1;
    }
    requests_leave();
}

void fast_pair_slow(struct pairing *x, const struct fast_waiting *w, const struct fast_request *r,
                    const MPI_Status *statuses, bool test)
{
    for (const struct fast_request *o = r; o < w->end; o++)
        hear(request_find(o->key), &statuses[o->index]);
    for (; r < w->end; r++)
        pair_one(x, request_find(r->key), &statuses[r->index], test);
}

int fast_tell_slow(struct thread *t, const struct fast_request *r, const MPI_Status *statuses)
{
    struct fast_waiting *w = t->room;
    for (; r < w->end; r++)
        complete(r->key, t, &statuses[r->index]);
    t->guard = 0;
    return MPI_SUCCESS;
}

/* One of the requests of a call that failed is complete: its message counts, if it is known. */
static void heard_late(struct pending *p, const MPI_Status *status)
{
    if (p && status)
        hear(p, status);
    if (is_receive(p) && p->listed && p->post && status)
        post_resolve(p->post);
}

/* Handles that are gone; persistent ones stay, and those that failed are not active any more. */
void waiting_drop(struct waiting *w, struct thread *t, const MPI_Request *requests,
                  const MPI_Status *statuses, bool seen)
{
    for (int i = 0; !w->none && i < w->count; i++) {
        const MPI_Status *s =
            statuses && statuses[i].MPI_ERROR == MPI_SUCCESS ? &statuses[i] : NULL;
        if (!w->marks[i] || requests[i] != ABI_REQUEST_NULL)
            continue;
        requests_enter();
        heard_late(completed(w, i), s);
        requests_leave();
        waiting_tell(w, t, i, s, seen);
    }
}

int fast_failed(struct ending e, int returned, const MPI_Request *requests,
                const MPI_Status *statuses)
{
    struct thread *t = e.thread;
    struct fast_waiting *w = t->room;
    event_settle_short(&e);
    statement_close(e.record);
    for (const struct fast_request *r = w->of; r < w->end; r++) {
        bool well = statuses && statuses[r->index].MPI_ERROR == MPI_SUCCESS;
        if (requests[r->index] != ABI_REQUEST_NULL)
            continue;
        heard_late(request_find(r->key), well ? &statuses[r->index] : NULL);
        complete(r->key, t, well ? &statuses[r->index] : NULL);
    }
    t->guard = 0;
    return returned;
}
