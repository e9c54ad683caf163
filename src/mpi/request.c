/* SPDX-License-Identifier: MIT */
/*
 * Pending requests: what was posted, so that its completion (source, bytes) is told at the
 * statement that posted it. A table of the process, open addressing, keyed by handle; with
 * MPI_THREAD_MULTIPLE a handle can stand in it twice for a moment (one thread completes a request
 * whose handle another already got anew), then the serial number tells them apart.
 */
#include "mpi/collective.h"
#include "mpi/fast.h"

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

static inline void enter(void)
{
    if (UNLIKELY(shim_multiple))
        slow_lock(&lock);
}

static inline void leave(void)
{
    if (UNLIKELY(shim_multiple))
        slow_unlock(&lock);
}

static inline uint32_t home(uintptr_t key)
{
    return (uint32_t)(request_home(key) - shim_requests.slots);
}

static inline struct pending *next_slot(const struct pending *p)
{
    return &shim_requests.slots[(uint32_t)(p + 1 - shim_requests.slots) & shim_requests.mask];
}

/* The slot that has this handle, or the free one where it would stand. */
HOT struct pending *slot_of(uintptr_t key)
{
    struct pending *p = request_home(key);
    while (p->key && p->key != key)
        p = next_slot(p);
    return p;
}

void requests_open(bool multiple)
{
    shim_requests.fast_most = multiple ? 0 : shim_requests.most;
    shim_requests.fast_count = multiple ? -1 : FAST_REQUESTS;
}

/* With MPI_THREAD_MULTIPLE: by serial number; serial 0: the newest with this handle. */
static struct pending *find_among(uintptr_t key, uint64_t serial)
{
    struct pending *newest = NULL;
    for (struct pending *p = request_home(key); p->key; p = next_slot(p)) {
        if (p->key != key || (serial && p->serial != serial))
            continue;
        if (!newest || p->serial > newest->serial)
            newest = p;
    }
    return newest;
}

HOT struct pending *find(uintptr_t key)
{
    if (UNLIKELY(shim_multiple))
        return find_among(key, 0);
    struct pending *p = slot_of(key);
    return p->key ? p : NULL;
}

static struct pending *free_slot(uintptr_t key)
{
    struct pending *p = request_home(key);
    while (p->key)
        p = next_slot(p);
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
static void take_out(struct pending *p)
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

static void erase(struct pending *p)
{
    if (p->info)
        comm_release(p->info);
    take_out(p);
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
    struct pending *p = UNLIKELY(shim_multiple) ? free_slot(key) : slot_of(key);
    if (LIKELY(!p->key))
        shim_requests.used++;
    else if (p->info) /* its completion was never seen: the handle means the new one */
        comm_release(p->info);
    return p;
}

/* The record to tell of a completion at: the posting statement's in the completing thread. */
static inline struct site *posting_site(const struct pending *p, struct thread *t)
{
    struct site *site = p->site;
    if (LIKELY(site->thread == t))
        return site;
    if (site == site->thread->others)
        return t->others;
    return event_site(t, site_address(site), site->record->call);
}

static void put_in(const struct pending *new)
{
    enter();
    struct pending *p = insert(new->key);
    if (LIKELY(p != NULL)) {
        *p = *new;
        p->serial = ++serials;
        if (p->info)
            comm_hold(p->info);
    }
    leave();
}

void request_track(struct event *e, MPI_Request request, enum pending_kind kind,
                   const struct comm_info *info, int rank, uint64_t bytes)
{
    if (UNLIKELY(request == ABI_REQUEST_NULL))
        return;
    struct pending new = {
        .key = HANDLE(request), .site = e->site, .kind = (uint16_t)kind, .bytes = bytes};
    if (rank == MPI_ANY_SOURCE) {
        new.rank = SHIM_ANY;
        new.info = info;
    } else if (rank == MPI_PROC_NULL) {
        new.rank = SHIM_NOBODY;
    } else {
        new.rank = world_rank(info, rank);
        if (kind == PENDING_RECV && e->site->comm_info == info)
            event_near_peer(e->site, rank, new.rank, RECORD_RECEIVED);
    }
    put_in(&new);
}

int fast_receive_slow(struct ending *e, struct site *site, MPI_Request request,
                      const struct near_peer *near)
{
    if (request != ABI_REQUEST_NULL)
        put_in(&(struct pending){.key = HANDLE(request),
                                 .site = site,
                                 .kind = PENDING_RECV,
                                 .rank = near->world,
                                 .record = e->record,
                                 .peer = near->record,
                                 .quick = e->thread});
    event_shut(e);
    return MPI_SUCCESS;
}

/* What it is stands in `active`. */
enum { COLL_SIZE = 0xff, COLL_KIND_SHIFT = 8, COLL_TESTED = 1 << 15 };

void request_track_collective(struct event *e, const struct coming *c)
{
    if (c->meet && *c->request != ABI_REQUEST_NULL)
        put_in(&(struct pending){.key = HANDLE(*c->request),
                                 .site = e->site,
                                 .kind = PENDING_COLLECTIVE,
                                 .active = (uint16_t)(c->kind << COLL_KIND_SHIFT | c->size),
                                 .info = c->info,
                                 .rank = c->root,
                                 .number = c->number});
}

void request_start(struct event *e, MPI_Request request)
{
    enter();
    struct pending *p = find(HANDLE(request));
    struct pending started = {0};
    if (p && p->kind >= PENDING_SEND_INIT) {
        p->active = 1;
        p->site = e->site;
        started = *p;
    }
    leave();
    if (started.active && started.kind == PENDING_SEND_INIT && started.rank != SHIM_NOBODY) {
        statement_bytes(e->site->record, started.bytes);
        event_peer(e->thread, e->site, started.rank, RECORD_SENT, started.bytes, 0);
    }
}

void request_forget(MPI_Request request)
{
    enter();
    struct pending *p = find(HANDLE(request));
    if (p)
        erase(p);
    leave();
}

void message_track(MPI_Message message, const struct comm_info *info)
{
    enter();
    struct pending *p = info ? insert(HANDLE(message)) : NULL;
    if (p) {
        *p = (struct pending){.key = HANDLE(message), .serial = ++serials, .info = info};
        comm_hold(info);
    }
    leave();
}

const struct comm_info *message_take(MPI_Message message)
{
    const struct comm_info *info = NULL;
    enter();
    struct pending *p = find(HANDLE(message));
    if (p && p->kind == PENDING_MESSAGE) {
        info = p->info;
        comm_hold(info);
        erase(p);
    }
    leave();
    return info;
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
        const struct pending *p = slot_of(key);
        uint64_t mark = p->key ? (uint64_t)(p - shim_requests.slots) + 1 : 0;
        w->keys[i] = key;
        w->marks[i] = mark;
        w->meets |= mark && p->kind == PENDING_COLLECTIVE;
        tracked |= mark;
    }
    return tracked;
}

/* The same by serial number, which stays good when another thread gets a handle anew. */
static bool look_up_among(struct waiting *w, const MPI_Request *requests)
{
    uint64_t tracked = 0;
    slow_lock(&lock);
    for (int i = 0; i < w->count; i++) {
        w->keys[i] = HANDLE(requests[i]);
        const struct pending *p = find_among(w->keys[i], 0);
        w->marks[i] = p ? p->serial : 0;
        w->meets |= p && p->kind == PENDING_COLLECTIVE;
        tracked |= w->marks[i];
    }
    slow_unlock(&lock);
    return tracked;
}

void waiting_begin(struct waiting *w, struct thread *t, int count, const MPI_Request *requests,
                   MPI_Status *statuses, bool ignored)
{
    w->count = count;
    w->meets = false;
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
        return find_among(w->keys[index], w->marks[index]);
    struct pending *p = &shim_requests.slots[w->marks[index] - 1];
    return LIKELY(p->key == w->keys[index]) ? p : find(w->keys[index]);
}

void waiting_meet(struct waiting *w, const struct event *e, int index, struct joint *j)
{
    if (index < 0 || index >= w->count || !w->marks[index])
        return;
    enter();
    const struct pending *p = completed(w, index);
    struct pending done = p ? *p : (struct pending){0};
    leave();
    if (done.kind != PENDING_COLLECTIVE)
        return;
    struct coming c = {.info = (struct comm_info *)done.info,
                       .meet = done.info->meet,
                       .number = done.number,
                       .root = done.rank,
                       .kind = (done.active & ~COLL_TESTED) >> COLL_KIND_SHIFT,
                       .size = done.active & COLL_SIZE};
    coll_meet(&c, e->begin, e->now, j);
    j->sure &= !(done.active & COLL_TESTED);
}

void waiting_in_vain(struct waiting *w)
{
    enter();
    for (int i = 0; i < w->count; i++) {
        struct pending *p = w->marks[i] ? completed(w, i) : NULL;
        if (p && p->kind == PENDING_COLLECTIVE)
            p->active |= COLL_TESTED;
    }
    leave();
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
    uint64_t bytes = abi_status_bytes(status);
    statement_open(site->record);
    statement_bytes(site->record, bytes);
    if (!read)
        event_peer(t, site, rank, RECORD_RECEIVED, bytes, 0);
    statement_close(site->record);
}

/* Takes a completed request out of the table, or a persistent one out of its activity. What is to
 * be told of it is told without the lock: a first visit can take long. Its info stays held. */
static bool take(struct pending *p, struct pending *done)
{
    bool receives = false;
    if (p && p->kind == PENDING_COLLECTIVE) {
        erase(p);
    } else if (p && (p->kind == PENDING_RECV || p->kind == PENDING_READ)) {
        *done = *p;
        receives = true;
        take_out(p);
    } else if (p && p->active) {
        p->active = 0;
        *done = *p;
        receives = p->kind == PENDING_RECV_INIT;
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

void waiting_tell(struct waiting *w, struct thread *t, int index, const MPI_Status *status)
{
    struct pending done;
    enter();
    bool receives = take(completed(w, index), &done);
    leave();
    if (receives)
        taken(&done, t, status);
}

/* A request that was tracked and is complete, without MPI_THREAD_MULTIPLE. */
static void complete(uintptr_t key, struct thread *t, const MPI_Status *status)
{
    struct pending done;
    if (take(find(key), &done))
        taken(&done, t, status);
}

int fast_tell_slow(struct thread *t, const struct fast_request *r, const MPI_Status *statuses)
{
    struct fast_waiting *w = t->room;
    for (; r < w->end; r++)
        complete(r->key, t, &statuses[r->index]);
    t->guard = 0;
    return MPI_SUCCESS;
}

bool waiting_unseen(struct waiting *w, int count, const MPI_Request *requests)
{
    struct thread *t = loupe_tls.self;
    if (!t || !t->off || t->guard)
        return false;
    waiting_begin(w, t, count, requests, NULL, false);
    return !w->none;
}

/* Handles that are gone; persistent ones stay, and those that failed are not active any more. */
void waiting_drop(struct waiting *w, struct thread *t, const MPI_Request *requests,
                  const MPI_Status *statuses)
{
    for (int i = 0; !w->none && i < w->count; i++) {
        const MPI_Status *s =
            statuses && statuses[i].MPI_ERROR == MPI_SUCCESS ? &statuses[i] : NULL;
        if (w->marks[i] && requests[i] == ABI_REQUEST_NULL)
            waiting_tell(w, t, i, s);
    }
}

int fast_failed(struct thread *t, int returned, const MPI_Request *requests,
                const MPI_Status *statuses)
{
    struct fast_waiting *w = t->room;
    for (const struct fast_request *r = w->of; r < w->end; r++) {
        bool well = statuses && statuses[r->index].MPI_ERROR == MPI_SUCCESS;
        if (requests[r->index] == ABI_REQUEST_NULL)
            complete(r->key, t, well ? &statuses[r->index] : NULL);
    }
    t->guard = 0;
    return returned;
}
