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
    if (more <= MOST)
        bigger = pages_alloc(more * sizeof *bigger);
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
static void erase(struct pending *p)
{
    uint32_t hole = (uint32_t)(p - table);
    if (p->info)
        comm_release(p->info);
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

static void dropped(void)
{
    struct record_header *h = loupe_process.writer.header;
    record_trouble(h, RECORD_TROUBLE_REQUESTS);
    __atomic_fetch_add(&h->dropped_requests, 1, __ATOMIC_RELAXED);
}

static struct pending *insert(uintptr_t key)
{
    struct pending *p = shim_multiple ? NULL : find(key, 0);
    if (p) { /* its completion was never seen: the handle means the new one */
        if (p->info)
            comm_release(p->info);
        return p;
    }
    if (!reserve()) {
        dropped();
        return NULL;
    }
    used++;
    return free_slot(key);
}

void request_track(struct event *e, MPI_Request request, enum pending_kind kind,
                   const struct comm_info *info, int rank, uint64_t bytes)
{
    if (request == ABI_REQUEST_NULL)
        return;
    int saved = errno;
    bool any = rank == MPI_ANY_SOURCE;
    struct pending new = {.key = HANDLE(request),
                          .call = (uint16_t)e->site->record->call,
                          .kind = (uint8_t)kind,
                          .bytes = bytes,
                          .info = any ? info : NULL};
    new.address = e->site == e->thread->others ? 0 : site_address(e->site);
    new.rank = any ? SHIM_ANY : rank == MPI_PROC_NULL ? SHIM_NOBODY : world_rank(info, rank);
    enter();
    struct pending *p = insert(new.key);
    if (p) {
        new.serial = ++serials;
        *p = new;
        if (new.info)
            comm_hold(new.info);
    }
    leave();
    errno = saved;
}

void request_start(struct event *e, MPI_Request request)
{
    enter();
    struct pending *p = find(HANDLE(request), 0);
    struct pending started = {0};
    if (p && p->kind >= PENDING_SEND_INIT) {
        p->active = 1;
        p->call = (uint16_t)e->site->record->call;
        p->address = e->site == e->thread->others ? 0 : site_address(e->site);
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
        pages_free(t->scratch, t->scratch_bytes);
        t->scratch = pages_alloc(2 * bytes);
        t->scratch_bytes = t->scratch ? 2 * bytes : 0;
    }
    return t->scratch;
}

static bool place(struct waiting *w, struct thread *t, int count)
{
    w->keys = w->few_keys;
    w->serials = w->few_serials;
    w->statuses = w->few_statuses;
    if (count <= (int)(sizeof w->few_keys / sizeof *w->few_keys))
        return true;
    size_t each = sizeof *w->keys + sizeof *w->serials + sizeof *w->statuses;
    char *memory = scratch(t, (size_t)count * each);
    if (!memory)
        return false;
    w->keys = (uintptr_t *)memory;
    w->serials = (uint64_t *)(w->keys + count);
    w->statuses = (MPI_Status *)(w->serials + count);
    return true;
}

void waiting_begin(struct waiting *w, struct thread *t, int count, const MPI_Request *requests,
                   MPI_Status *statuses, bool ignored)
{
    int saved = errno;
    w->count = count;
    w->own_statuses = false;
    w->none =
        !__atomic_load_n(&used, __ATOMIC_RELAXED) || count <= 0 || !requests || !place(w, t, count);
    if (!w->none) {
        enter();
        bool tracked = false;
        for (int i = 0; i < count; i++) {
            w->keys[i] = HANDLE(requests[i]);
            /* Without threads one sight of the table is enough, at completion. */
            if (!shim_multiple && tracked)
                continue;
            const struct pending *p = find(w->keys[i], 0);
            w->serials[i] = p ? p->serial : 0;
            tracked |= p != NULL;
        }
        leave();
        w->none = !tracked;
    }
    if (w->none || !ignored)
        w->statuses = statuses;
    else
        w->own_statuses = true;
    errno = saved;
}

static bool take_completed(struct waiting *w, int index, struct pending *done)
{
    bool found = false;
    enter();
    struct pending *p = NULL;
    if (!shim_multiple || w->serials[index])
        p = find(w->keys[index], shim_multiple ? w->serials[index] : 0);
    if (p) {
        *done = *p;
        bool persistent = p->kind >= PENDING_SEND_INIT;
        found = !persistent || p->active;
        p->active = 0;
        if (done->info)
            comm_hold(done->info);
        if (!persistent)
            erase(p);
    }
    leave();
    return found;
}

static int32_t completed_rank(const struct pending *done, const MPI_Status *status)
{
    if (done->rank != SHIM_ANY)
        return done->rank;
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return SHIM_NOBODY;
    return world_rank(done->info, status->MPI_SOURCE);
}

void waiting_complete(struct waiting *w, struct thread *t, int index, const MPI_Status *status)
{
    struct pending done = {0};
    if (w->none || index < 0 || index >= w->count)
        return;
    bool found = take_completed(w, index, &done);
    /* Open MPI's file layer leaves the cancelled flag as it was in memory. */
    bool cancelled = done.kind != PENDING_READ && abi_status_cancelled(status);
    bool told = found && done.kind != PENDING_SEND_INIT && !cancelled;
    int32_t rank = told ? completed_rank(&done, status) : SHIM_NOBODY;
    if (told && (rank != SHIM_NOBODY || done.kind == PENDING_READ)) {
        struct site *site = done.address ? event_site(t, done.address, done.call) : t->others;
        uint64_t bytes = abi_status_bytes(status);
        statement_open(site->record);
        statement_bytes(site->record, bytes);
        if (done.kind != PENDING_READ)
            event_peer(t, site, rank, RECORD_RECEIVED, bytes, 0);
        statement_close(site->record);
    }
    if (done.info)
        comm_release(done.info);
}

int waiting_error(const struct waiting *w)
{
    for (int i = 0; i < w->count; i++)
        if (w->statuses[i].MPI_ERROR != MPI_SUCCESS && w->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            return w->statuses[i].MPI_ERROR;
    return MPI_ERR_IN_STATUS;
}
