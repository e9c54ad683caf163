/* SPDX-License-Identifier: MIT */
/*
 * Pending requests: what was posted, so that its completion (source, bytes) is told at the
 * statement that posted it. A table of the process, open addressing, keyed by handle; with
 * MPI_THREAD_MULTIPLE a handle can stand in it twice for a moment (one thread completes a request
 * whose handle another already got anew), then the serial number tells them apart.
 */
#include "mpi/shim.h"

#include <errno.h>
#include <string.h>

enum { FIRST = 256, MOST = 1 << 20 };

static struct pending first[FIRST];
static struct pending *table = first;
static uint32_t mask = FIRST - 1, used, lock;
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
    return (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 40) & mask;
}

/* The slot that has this handle, or the free one where it would stand. */
HOT struct pending *slot_of(uintptr_t key)
{
    uint32_t h = home(key);
    while (table[h].key && table[h].key != key)
        h = (h + 1) & mask;
    return &table[h];
}

/* With MPI_THREAD_MULTIPLE: by serial number; serial 0: the newest with this handle. */
static struct pending *find_among(uintptr_t key, uint64_t serial)
{
    struct pending *newest = NULL;
    for (uint32_t h = home(key); table[h].key; h = (h + 1) & mask) {
        if (table[h].key != key || (serial && table[h].serial != serial))
            continue;
        if (!newest || table[h].serial > newest->serial)
            newest = &table[h];
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
    uint32_t h = home(key);
    while (table[h].key)
        h = (h + 1) & mask;
    return &table[h];
}

/* Doubles the table when it is three quarters full; false when it is full and cannot grow. */
static bool grow(void)
{
    uint32_t old_room = mask + 1, more = 2 * old_room;
    struct pending *old = table, *bigger = NULL;
    int saved = errno;
    if (more <= MOST)
        bigger = pages_alloc(more * sizeof *bigger);
    errno = saved;
    if (!bigger)
        return used + 1 < old_room;
    table = bigger;
    mask = more - 1;
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].key)
            *free_slot(old[i].key) = old[i];
    if (old != first)
        pages_free(old, old_room * sizeof *old);
    return true;
}

/* Closes the gap, so that no tombstones pile up over a long run. */
static void take_out(struct pending *p)
{
    uint32_t hole = (uint32_t)(p - table);
    for (uint32_t i = (hole + 1) & mask; table[i].key; i = (i + 1) & mask) {
        uint32_t distance = (i - home(table[i].key)) & mask;
        if (distance >= ((i - hole) & mask)) {
            table[hole] = table[i];
            hole = i;
        }
    }
    table[hole].key = 0;
    used--;
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
    if (UNLIKELY(4 * (used + 1) > 3 * (mask + 1) && !grow())) {
        dropped();
        return NULL;
    }
    struct pending *p = UNLIKELY(shim_multiple) ? free_slot(key) : slot_of(key);
    if (LIKELY(!p->key))
        used++;
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

void request_track(struct event *e, MPI_Request request, enum pending_kind kind,
                   const struct comm_info *info, int rank, uint64_t bytes)
{
    if (UNLIKELY(request == ABI_REQUEST_NULL))
        return;
    enter();
    struct pending *p = insert(HANDLE(request));
    if (LIKELY(p != NULL)) {
        p->key = HANDLE(request);
        p->site = e->site;
        p->kind = (uint16_t)kind;
        p->active = 0;
        p->info = NULL;
        p->rank = rank == MPI_PROC_NULL ? SHIM_NOBODY : world_rank(info, rank);
        if (rank == MPI_ANY_SOURCE) {
            p->rank = SHIM_ANY;
            p->info = info;
            if (info)
                comm_hold(info);
        }
        p->bytes = bytes;
        if (shim_multiple)
            p->serial = ++serials;
    }
    leave();
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
    const struct pending *entries = table;
    const uint32_t m = mask;
    uint64_t tracked = 0;
    for (int i = 0; i < w->count; i++) {
        uintptr_t key = HANDLE(requests[i]);
        uint32_t h = home(key);
        while (entries[h].key && entries[h].key != key)
            h = (h + 1) & m;
        uint64_t mark = entries[h].key ? h + 1 : 0;
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
    slow_lock(&lock);
    for (int i = 0; i < w->count; i++) {
        w->keys[i] = HANDLE(requests[i]);
        const struct pending *p = find_among(w->keys[i], 0);
        w->marks[i] = p ? p->serial : 0;
        tracked |= w->marks[i];
    }
    slow_unlock(&lock);
    return tracked;
}

void waiting_begin(struct waiting *w, struct thread *t, int count, const MPI_Request *requests,
                   MPI_Status *statuses, bool ignored)
{
    w->count = count;
    bool some = __atomic_load_n(&used, __ATOMIC_RELAXED) && count > 0 && requests &&
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
    struct pending *p = &table[w->marks[index] - 1];
    return LIKELY(p->key == w->keys[index]) ? p : find(w->keys[index]);
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
static bool take(const struct waiting *w, int index, struct pending *done)
{
    bool receives = false;
    enter();
    struct pending *p = completed(w, index);
    if (p && (p->kind == PENDING_RECV || p->kind == PENDING_READ)) {
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
    leave();
    return receives;
}

void waiting_tell(struct waiting *w, struct thread *t, int index, const MPI_Status *status)
{
    struct pending done;
    if (!take(w, index, &done))
        return;
    if (status)
        tell(&done, t, status);
    if (done.info)
        comm_release(done.info);
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
