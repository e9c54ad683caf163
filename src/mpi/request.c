/* SPDX-License-Identifier: MIT */
/*
 * Pending requests: what was posted, so that its completion (source, bytes) is told at the
 * statement that posted it. A table of the process, open addressing, keyed by handle; with
 * MPI_THREAD_MULTIPLE a handle can stand in it twice for a moment (one thread completes a request
 * whose handle another already got anew), then the serial number tells them apart.
 */
#include "mpi/request.h"

#include <errno.h>
#include <string.h>

enum { FIRST = 256, MOST = 1 << 20 };

static struct pending first[FIRST + 1] = {[FIRST] = {.key = 1}};
struct pending_table shim_requests = {
    .slots = first,
    .mask = FIRST - 1,
    .bytes_mask = (FIRST - 1) * sizeof *first,
    .most = FIRST / 4 * 3,
};
static uint32_t lock;
static uint64_t serials;

void requests_enter(void)
{
    if (UNLIKELY(shim_multiple))
        slow_lock(&lock);
}

void requests_leave(void)
{
    if (UNLIKELY(shim_multiple))
        slow_unlock(&lock);
}

static inline uint32_t home(uintptr_t key)
{
    return (uint32_t)(request_home(key) - shim_requests.slots);
}

void requests_open(bool multiple)
{
    shim_posts = multiple;
    shim_requests.fast_most = multiple ? 0 : shim_requests.most;
    shim_requests.fast_count = multiple ? -1 : FAST_REQUESTS;
}

void requests_forget(void)
{
    requests_enter();
    for (uint32_t i = 0; i <= shim_requests.mask; i++) {
        struct pending *p = &shim_requests.slots[i];
        if (p->key && p->info)
            comm_release(p->info);
        if (p->key && p->listed && p->post)
            post_forget(p->post); /* its handle may mean nothing by now: MPI is not asked */
        *p = (struct pending){0};
    }
    posts_forget();
    marks_drop_all();
    shim_requests.used = 0;
    requests_leave();
}

struct pending *request_find_among(uintptr_t key, uint64_t serial)
{
    struct pending *newest = NULL;
    for (struct pending *p = request_home(key); p->key; p = request_next(p)) {
        if (p->key != key || (serial && p->serial != serial))
            continue;
        if (!newest || p->serial > newest->serial)
            newest = p;
    }
    return newest;
}

static struct pending *free_slot(uintptr_t key)
{
    struct pending *p = request_home(key);
    while (p->key)
        p = request_next(p);
    return p;
}

/* Doubles the table when it is three quarters full; false when it is full and cannot grow. */
static bool grow(void)
{
    struct pending_table *t = &shim_requests;
    uint32_t old_room = t->mask + 1, more = 2 * old_room;
    struct pending *old = t->slots, *bigger = NULL;
    int saved = errno;
    if (more <= MOST)
        bigger = pages_alloc((more + 1) * sizeof *bigger);
    errno = saved;
    if (!bigger)
        return t->used + 1 < old_room;
    bigger[more].key = 1;
    t->slots = bigger;
    t->mask = more - 1;
    t->bytes_mask = t->mask * (uint32_t)sizeof *bigger;
    t->most = more / 4 * 3;
    if (t->fast_most)
        t->fast_most = t->most;
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].key)
            *free_slot(old[i].key) = old[i];
    return true; /* the old one stays: who waits may look into it once more */
}

/* Closes the gap, so that no tombstones pile up over a long run. */
void request_take_out(struct pending *p)
{
    const uint32_t mask = shim_requests.mask;
    struct pending *slots = shim_requests.slots;
    uint32_t hole = (uint32_t)(p - slots);
    for (uint32_t i = (hole + 1) & mask; slots[i].key; i = (i + 1) & mask) {
        uint32_t distance = (i - home(slots[i].key)) & mask;
        if (distance >= ((i - hole) & mask)) {
            slots[hole] = slots[i];
            hole = i;
        }
    }
    slots[hole].key = 0;
    shim_requests.used--;
}

static void let_go(const struct pending *p)
{
    if (UNLIKELY(marks_pending) && !p->listed)
        mark_drop(p->stream, p->number, MARK_VOID);
    if (p->info)
        comm_release(p->info);
    if (p->listed && p->post)
        post_free(p->post);
}

static void erase(struct pending *p)
{
    let_go(p);
    request_take_out(p);
}

static void dropped(void)
{
    struct record_header *h = loupe_process.writer.header;
    record_trouble(h, RECORD_TROUBLE_REQUESTS);
    __atomic_fetch_add(&h->dropped_requests, 1, __ATOMIC_RELAXED);
}

/* The slot for a new request; one that has its handle already, if that can only be a stale one. */
HOT struct pending *insert(uintptr_t key)
{
    if (UNLIKELY(shim_requests.used >= shim_requests.most && !grow())) {
        dropped();
        return NULL;
    }
    struct pending *p = UNLIKELY(shim_multiple) ? free_slot(key) : request_slot(key);
    if (LIKELY(!p->key))
        shim_requests.used++;
    else /* its completion was never seen: the handle means the new one */
        let_go(p);
    return p;
}

/* With the lock. */
bool request_put(const struct pending *new)
{
    struct pending *p = insert(new->key);
    if (LIKELY(p != NULL)) {
        *p = *new;
        if (UNLIKELY(shim_multiple))
            p->serial = ++serials;
        if (p->info)
            comm_hold(p->info);
    } else if (new->listed &&new->post) {
        post_free(new->post);
    }
    return p;
}

/* A receive is posted: which message of its stream it will get, if that is known already. */
static void post(struct pending *p, const struct comm_info *info, MPI_Request request)
{
    struct stream spare;
    p->stream = NULL;
    p->listed = p->tested = 0;
    if (!info || !info->id || p->rank == SHIM_NOBODY || p->rank == RECORD_PEER_FOREIGN)
        return;
    bool open = p->rank == SHIM_ANY || p->tag == MPI_ANY_TAG;
    struct stream *s = open ? NULL : stream_from(info->id, p->rank, p->tag, &spare);
    if (!open && (!s || (!s->loose && !posts_pending(info)))) {
        p->stream = s;
        p->number = s ? stream_post(s) : 0;
        return;
    }
    p->listed = 1;
    p->post = post_add(info, p->rank, p->tag, request);
}

/* Its sender may wait for it. */
static void answer(struct event *e, const struct pending *p)
{
    if (p->listed || !p->stream || !pair_answers(p->stream, p->bytes))
        return;
    answer_publish(e->thread, p->stream, p->number, e->begin, delay_told(e->thread, e->before));
    event_spent(e->thread, pair_publish_cost);
}

/* It is in the table, which will say when it is complete. */
static void mark(struct event *e, const struct pending *p, uint64_t bytes)
{
    if (p->listed || !p->stream || !pair_marked(bytes))
        return;
    struct spending spent = spending_begin(e->thread);
    if (p->kind == PENDING_SEND)
        mark_add_send(p->stream, p->number, bytes);
    else
        mark_add_receive(p->stream, p->number, bytes);
    spending_end(e->thread, &spent);
}

void request_track(struct event *e, MPI_Request request, enum pending_kind kind,
                   const struct comm_info *info, int rank, int tag, uint64_t bytes)
{
    if (UNLIKELY(request == ABI_REQUEST_NULL))
        return;
    struct pending new = {.key = HANDLE(request),
                          .site = e->site,
                          .kind = (uint8_t)kind,
                          .tag = tag,
                          .bytes = bytes,
                          .info = kind >= PENDING_SEND_INIT ? info : NULL};
    if (rank == MPI_ANY_SOURCE) {
        new.rank = SHIM_ANY;
        new.info = info;
    } else if (rank == MPI_PROC_NULL) {
        new.rank = SHIM_NOBODY;
    } else {
        new.rank = world_rank(info, rank);
    }
    if (kind == PENDING_RECV) {
        post(&new, info, request);
        answer(e, &new);
        if (!streams_midway)
            new.bytes = 0; /* what arrives counts, not the room for it */
        if (new.rank >= 0 && e->site->comm_info == info) {
            event_near_peer(e->site, rank, new.rank, RECORD_RECEIVED);
            if (!new.listed && stream_kept(new.stream))
                near_stream(e->site, rank, RECORD_RECEIVED, tag, new.stream);
        }
    }
    if (request_put(&new) && kind == PENDING_RECV)
        mark(e, &new, bytes);
}

void request_track_send(struct event *e, MPI_Request request, struct stream *s, uint32_t number,
                        uint64_t bytes)
{
    const struct pending new = {.key = HANDLE(request),
                                .site = e->site,
                                .kind = PENDING_SEND,
                                .rank = SHIM_NOBODY,
                                .stream = s,
                                .number = number,
                                .bytes = bytes};
    if (request != ABI_REQUEST_NULL && request_put(&new))
        mark(e, &new, bytes);
}

void request_track_message(struct event *e, MPI_Request request, const struct pending *message)
{
    struct pending new = *message;
    if (UNLIKELY(request == ABI_REQUEST_NULL))
        return;
    new.key = HANDLE(request);
    new.site = e->site;
    new.kind = PENDING_RECV;
    request_put(&new);
}

int fast_receive_slow(struct ending e, struct site *site, MPI_Request request,
                      const struct near_peer *near)
{
    if (request != ABI_REQUEST_NULL)
        request_put(&(struct pending){.key = HANDLE(request),
                                      .site = site,
                                      .kind = PENDING_RECV,
                                      .rank = near->world,
                                      .tag = near->tag,
                                      .stream = near->stream,
                                      .number = near->stream ? stream_post(near->stream) : 0,
                                      .peer = near->record,
                                      .quick = e.thread});
    event_shut(&e);
    return MPI_SUCCESS;
}

static struct pending *find_now(MPI_Request request)
{
    return request_find(HANDLE(request));
}

struct stream *request_publish(struct event *e, MPI_Request request)
{
    const struct pending *p = find_now(request);
    struct stream spare, *s = NULL;
    if (UNLIKELY(streams_midway) && p && p->kind == PENDING_RECV_INIT)
        pair_look_starting(e, p);
    if (p && p->kind == PENDING_SEND_INIT && p->info && p->tag >= 0)
        s = stream_to(p->info->id, p->rank, p->tag, &spare);
    if (s)
        pair_publish(e->thread, e->site, e->begin, e->before, s, p->bytes);
    return s && !s->loose ? s : NULL;
}

void request_start(struct event *e, MPI_Request request)
{
    struct pending *p = find_now(request);
    if (!p || p->kind < PENDING_SEND_INIT)
        return;
    p->active = 1;
    p->site = e->site;
    if (p->kind == PENDING_RECV_INIT) {
        if (UNLIKELY(marks_pending) && !p->listed) /* of a time before that failed */
            mark_drop(p->stream, p->number, MARK_VOID);
        post(p, p->tag == NO_TAG ? NULL : p->info, request);
        answer(e, p);
        mark(e, p, p->bytes);
    } else if (p->rank != SHIM_NOBODY && pair_seen(e)) {
        statement_bytes(e->site->record, p->bytes);
        event_peer(e->thread, e->site, p->rank, RECORD_SENT, p->bytes, 0);
    }
}

void request_forget(MPI_Request request)
{
    requests_enter();
    struct pending *p = find_now(request);
    if (p)
        erase(p);
    requests_leave();
}

/* Its number in the stream goes to the next. */
void request_unpost(struct pending *p)
{
    const struct pending_table *t = &shim_requests;
    if (p->listed) {
        if (p->post)
            post_cancel(p->post);
    } else if (p->stream) {
        marks_drop_stream(p->stream);
        for (uint32_t i = 0; i <= t->mask; i++) {
            struct pending *o = &t->slots[i];
            if (o->key && !o->listed && o->stream == p->stream &&
                (o->kind == PENDING_RECV || o->kind == PENDING_RECV_INIT) &&
                (int32_t)(o->number - p->number) > 0)
                o->number--;
        }
        stream_unpost(p->stream);
        p->stream = NULL;
    }
}

void request_cancelled(MPI_Request request)
{
    MPI_Status status;
    int flag = 0;
    requests_enter();
    struct pending *p = find_now(request);
    bool receives = p && (p->kind == PENDING_RECV || (p->kind == PENDING_RECV_INIT && p->active));
    if (receives && PM(Request_get_status)(request, &flag, &status) == MPI_SUCCESS && flag &&
        abi_status_cancelled(&status))
        request_unpost(p);
    requests_leave();
}

void message_track(MPI_Message message, const struct comm_info *info, const MPI_Status *status)
{
    struct stream spare;
    struct pending new = {.key = HANDLE(message), .rank = SHIM_ANY, .info = info};
    if (!info || status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    requests_enter();
    int32_t rank = world_rank(info, status->MPI_SOURCE);
    struct stream *s = stream_from(info->id, rank, status->MPI_TAG, &spare);
    new.tag = status->MPI_TAG;
    if (s && (s->loose || !post_match(info, rank, new.tag, s, &new.number)))
        new.listed = 1; /* and no post: it cannot be said which */
    else
        new.stream = s;
    request_put(&new);
    requests_leave();
}

bool message_take(MPI_Message message, struct pending *taken)
{
    requests_enter();
    struct pending *p = request_find(HANDLE(message));
    bool there = p && p->kind == PENDING_MESSAGE;
    if (there) {
        *taken = *p;
        request_take_out(p); /* its info stays held */
    }
    requests_leave();
    return there;
}
