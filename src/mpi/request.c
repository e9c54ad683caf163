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

static struct pending *table;
static uint32_t room, used, lock;
static uint64_t serials;

static void enter(void)
{
    if (shim_multiple)
        slow_lock(&lock);
}

static void leave(void)
{
    if (shim_multiple)
        slow_unlock(&lock);
}

static uint32_t home(uintptr_t key)
{
    return (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 40) & (room - 1);
}

/* The entry with this handle and serial number; serial 0: the newest with this handle. */
static struct pending *find(uintptr_t key, uint64_t serial)
{
    struct pending *newest = NULL;
    if (!used)
        return NULL;
    for (uint32_t h = home(key); table[h].key; h = (h + 1) & (room - 1)) {
        if (table[h].key != key || (serial && table[h].serial != serial))
            continue;
        if (!shim_multiple || serial)
            return &table[h];
        if (!newest || table[h].serial > newest->serial)
            newest = &table[h];
    }
    return newest;
}

static struct pending *free_slot(uintptr_t key)
{
    uint32_t h = home(key);
    while (table[h].key)
        h = (h + 1) & (room - 1);
    return &table[h];
}

static bool reserve(void)
{
    if (4 * (used + 1) <= 3 * room)
        return true;
    uint32_t old_room = room, more = room ? 2 * room : FIRST;
    struct pending *old = table, *bigger = NULL;
    int saved = errno;
    if (more <= MOST)
        bigger = pages_alloc(more * sizeof *bigger);
    errno = saved;
    if (!bigger)
        return used + 1 < room;
    table = bigger;
    room = more;
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].key)
            *free_slot(old[i].key) = old[i];
    pages_free(old, old_room * sizeof *old);
    return true;
}

/* Closes the gap, so that no tombstones pile up over a long run. */
static void take_out(struct pending *p)
{
    uint32_t hole = (uint32_t)(p - table);
    for (uint32_t i = (hole + 1) & (room - 1); table[i].key; i = (i + 1) & (room - 1)) {
        uint32_t distance = (i - home(table[i].key)) & (room - 1);
        if (distance >= ((i - hole) & (room - 1))) {
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
static struct pending *insert(uintptr_t key)
{
    if (UNLIKELY(!reserve())) {
        dropped();
        return NULL;
    }
    uint32_t h = home(key);
    while (table[h].key && (table[h].key != key || shim_multiple))
        h = (h + 1) & (room - 1);
    struct pending *p = &table[h];
    if (!p->key)
        used++;
    else if (p->info) /* its completion was never seen: the handle means the new one */
        comm_release(p->info);
    return p;
}

/* The record to tell of a completion at: the posting statement's in the completing thread. */
static struct site *posting_site(const struct pending *p, struct thread *t)
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
    struct pending *p = find(HANDLE(request), 0);
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
    struct pending *p = find(HANDLE(request), 0);
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
    struct pending *p = find(HANDLE(message), 0);
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

void waiting_begin(struct waiting *w, struct thread *t, int count, const MPI_Request *requests,
                   MPI_Status *statuses, bool ignored)
{
    w->count = count;
    w->own_statuses = false;
    w->none =
        !__atomic_load_n(&used, __ATOMIC_RELAXED) || count <= 0 || !requests || !place(w, t, count);
    if (!w->none) {
        uint64_t tracked = 0;
        enter();
        for (int i = 0; i < count; i++) {
            w->keys[i] = HANDLE(requests[i]);
            const struct pending *p = find(w->keys[i], 0);
            w->marks[i] = !p ? 0 : shim_multiple ? p->serial : (uint64_t)(p - table) + 1;
            tracked |= w->marks[i];
        }
        leave();
        w->none = !tracked;
    }
    w->own_statuses = !w->none && ignored;
    if (!w->own_statuses)
        w->statuses = statuses;
}

/* The entry of a completed request: where it was, unless another's removal has moved it. */
static struct pending *completed(const struct waiting *w, int index)
{
    if (shim_multiple)
        return find(w->keys[index], w->marks[index]);
    struct pending *p = &table[w->marks[index] - 1];
    return LIKELY(p->key == w->keys[index]) ? p : find(w->keys[index], 0);
}

static int32_t completed_rank(const struct pending *done, const MPI_Status *status)
{
    if (done->rank != SHIM_ANY)
        return done->rank;
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return SHIM_NOBODY;
    return world_rank(done->info, status->MPI_SOURCE);
}

static void tell(const struct pending *done, struct thread *t, const MPI_Status *status)
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
