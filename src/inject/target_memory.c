/* SPDX-License-Identifier: MIT */
/*
 * Memory of ours in the target: a memfd that a thread of its own makes, maps and closes, and that
 * we map through /proc. Code is executable there and writable here alone. What is given back waits
 * until a stop in which neither a program counter nor a word of a stack led into it.
 */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, ALIGN = 16, JOURNAL_BYTES = 1 << 20, DATA_BYTES = 8 << 20 };
/* Each one twice as large as the last: places near the code are scarce, and what those have left
 * there who died before us stays. */
enum { CODE_FIRST = 1 << 20, CODE_DOUBLINGS = 5 };
enum { MEMFD_EXEC = 0x10, FIXED_NOREPLACE = 0x100000 };

struct making {
    struct target *target;
    struct arena *arena;
    uint64_t near, near_end;
};

static long close_there(struct remote *r, long fd)
{
    return remote_call(r, SYS_close, (uint64_t[6]){(uint64_t)fd});
}

static long memfd_there(struct remote *r, enum arena_kind kind)
{
    const char *name = kind == ARENA_CALLS     ? ARENA_CALLS_NAME
                       : kind == ARENA_JOURNAL ? ARENA_JOURNAL_NAME
                                               : "loupe";
    uint64_t at = remote_put(r, name, strlen(name) + 1);
    if (!at)
        return -EFAULT;
    long fd = remote_call(r, SYS_memfd_create, (uint64_t[6]){at, MFD_CLOEXEC | MEMFD_EXEC});
    if (fd == -EINVAL) /* an older kernel */
        fd = remote_call(r, SYS_memfd_create, (uint64_t[6]){at, MFD_CLOEXEC});
    return fd;
}

/* Here: the descriptor of the target's file, ours alone. */
static int map_here(struct making *m, long fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%ld", (int)m->target->pid, fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0)
        return -errno;
    int r = ftruncate(own, (off_t)m->arena->bytes) ? -errno : 0;
    void *local = MAP_FAILED;
    if (r == 0) {
        local = mmap(NULL, m->arena->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
        r = local == MAP_FAILED ? -errno : 0;
    }
    close(own);
    if (r == 0)
        m->arena->local = local;
    return r;
}

static int map_there(struct remote *r, struct making *m, long fd)
{
    struct arena *a = m->arena;
    uint64_t protection = a->kind == ARENA_CODE ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
    uint64_t at = 0, flags = MAP_SHARED;
    if (m->near_end) {
        at = maps_gap(&m->target->maps, m->near, m->near_end, a->bytes);
        flags |= FIXED_NOREPLACE;
        if (!at)
            return -ENOMEM;
    }
    long got =
        remote_call(r, SYS_mmap, (uint64_t[6]){at, a->bytes, protection, flags, (uint64_t)fd, 0});
    if (got < 0 && got > -4096)
        return (int)got;
    if (at && (uint64_t)got != at) { /* a kernel that does not know the flag: not where it helps */
        remote_call(r, SYS_munmap, (uint64_t[6]){(uint64_t)got, a->bytes});
        return -ENOMEM;
    }
    a->remote = (uint64_t)got;
    return 0;
}

static int make_stopped(struct making *m)
{
    struct target *t = m->target;
    int e = maps_read(t, &t->maps);
    if (e)
        return e;
    struct thread *th = remote_thread(t);
    if (!th)
        return -EAGAIN;
    if (!remote_find_code(t))
        return -ENOTSUP;
    struct remote r;
    e = remote_begin(&r, t, th, t->mem);
    if (e) /* no room where its stack is now: it may be elsewhere soon */
        return e == -EFAULT ? -EAGAIN : e;
    long fd = memfd_there(&r, m->arena->kind);
    e = fd < 0 ? (int)fd : map_here(m, fd);
    if (e == 0)
        e = map_there(&r, m, fd);
    if (fd >= 0)
        close_there(&r, fd);
    remote_end(&r);
    return e;
}

static int make(void *argument)
{
    enum { ATTEMPTS = 500 }; /* no thread may be in a state to do it for a while */
    struct making *m = argument;
    int e = -EAGAIN;
    for (int i = 0; i < ATTEMPTS && e == -EAGAIN; i++) {
        if (m->target->dead)
            return -ESRCH;
        e = threads_stop(&m->target, 1);
        if (e == 0) {
            e = m->target->dead ? -ESRCH : make_stopped(m);
            threads_resume(&m->target, 1);
        }
        if (e == -EAGAIN) {
            bool held = m->target->held;
            m->target->held = false;
            threads_resume(&m->target, 1);
            tracer_serve(2000000);
            m->target->held = held;
        }
    }
    return e;
}

struct arena *arena_make(struct target *t, enum arena_kind kind, size_t bytes, uint64_t near,
                         uint64_t near_end)
{
    struct arena *a = xcalloc(1, sizeof *a);
    *a = (struct arena){.kind = kind, .bytes = bytes};
    struct making m = {t, a, near, near_end};
    int e = tracer_do(make, &m);
    while (e == -ENOMEM && near_end && a->bytes > 65536) {
        if (a->local)
            munmap(a->local, a->bytes);
        a->local = NULL;
        a->bytes /= 2;
        e = tracer_do(make, &m);
    }
    if (e) {
        if (a->local)
            munmap(a->local, a->bytes);
        free(a);
        errno = -e;
        return NULL;
    }
    pthread_mutex_lock(&t->lock);
    *VEC_PUSH(t->arenas, t->arena_count, t->arena_room) = a;
    pthread_mutex_unlock(&t->lock);
    return a;
}

/* The first of all is where later calls keep what they need to come back, and the journal. */
static bool have_calls(struct target *t)
{
    if (!t->calls)
        t->calls = arena_make(t, ARENA_CALLS, ARENA_CALLS_BYTES + JOURNAL_BYTES, 0, 0);
    return t->calls;
}

static bool take(struct arena *a, size_t bytes, uint64_t *remote)
{
    for (size_t i = 0; i < a->free_count; i++) {
        struct span *s = &a->free[i];
        if (s->end - s->start < bytes)
            continue;
        *remote = s->start;
        s->start += bytes;
        if (s->start == s->end)
            memmove(s, s + 1, (--a->free_count - i) * sizeof *s);
        return true;
    }
    if (a->bytes - a->used < bytes)
        return false;
    *remote = a->remote + a->used;
    a->used += bytes;
    return true;
}

static const uint64_t REACH = (1ull << 31) - (1 << 20);

static bool reaches(const struct arena *a, uint64_t near, uint64_t near_end)
{
    return near + REACH >= a->remote + a->bytes && a->remote + REACH >= near_end;
}

static size_t rounded(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) & -unit;
}

uint8_t *target_code(struct target *t, uint64_t near, uint64_t near_end, size_t bytes,
                     uint64_t *remote)
{
    bytes = rounded(bytes ? bytes : 1, ALIGN);
    size_t others = 0;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < t->arena_count; i++) {
        struct arena *a = t->arenas[i];
        if (a->kind != ARENA_CODE || !reaches(a, near, near_end))
            continue;
        others++;
        if (take(a, bytes, remote)) {
            pthread_mutex_unlock(&t->lock);
            return a->local + (*remote - a->remote);
        }
    }
    pthread_mutex_unlock(&t->lock);
    size_t room = (size_t)CODE_FIRST << (others < CODE_DOUBLINGS ? others : CODE_DOUBLINGS);
    if (room < bytes)
        room = rounded(bytes, PAGE);
    struct arena *a = have_calls(t) ? arena_make(t, ARENA_CODE, room, near, near_end) : NULL;
    if (!a || !take(a, bytes, remote))
        return NULL;
    return a->local + (*remote - a->remote);
}

void *target_data(struct target *t, size_t bytes, uint64_t *remote)
{
    bytes = rounded(bytes ? bytes : 1, 64);
    for (size_t i = 0; i < t->arena_count; i++) {
        struct arena *a = t->arenas[i];
        if (a->kind == ARENA_DATA && take(a, bytes, remote))
            return a->local + (*remote - a->remote);
    }
    size_t room = bytes > DATA_BYTES ? rounded(bytes, PAGE) : DATA_BYTES;
    struct arena *a = have_calls(t) ? arena_make(t, ARENA_DATA, room, 0, 0) : NULL;
    if (!a || !take(a, bytes, remote))
        return NULL;
    return a->local + (*remote - a->remote);
}

void *target_data_near(struct target *t, uint64_t near, uint64_t near_end, size_t bytes,
                       uint64_t *remote)
{
    enum { NEAR_BYTES = 64 << 10 };
    bytes = rounded(bytes ? bytes : 1, 64);
    for (size_t i = 0; i < t->arena_count; i++) {
        struct arena *a = t->arenas[i];
        if (a->kind == ARENA_DATA && reaches(a, near, near_end) && take(a, bytes, remote))
            return a->local + (*remote - a->remote);
    }
    size_t room = rounded(bytes > NEAR_BYTES ? bytes : NEAR_BYTES, PAGE);
    struct arena *a = have_calls(t) ? arena_make(t, ARENA_DATA, room, near, near_end) : NULL;
    if (!a || !take(a, bytes, remote))
        return NULL;
    return a->local + (*remote - a->remote);
}

/* Giving back */

struct arena *arena_of(struct target *t, uint64_t remote)
{
    for (size_t i = 0; i < t->arena_count; i++)
        if (remote >= t->arenas[i]->remote && remote < t->arenas[i]->remote + t->arenas[i]->bytes)
            return t->arenas[i];
    return NULL;
}

void target_code_free(struct target *t, uint64_t remote, size_t bytes)
{
    pthread_mutex_lock(&t->lock);
    struct arena *a = arena_of(t, remote);
    if (a && a->kind == ARENA_CODE)
        *VEC_PUSH(a->waiting, a->waiting_count, a->waiting_room) =
            (struct span){remote, remote + rounded(bytes ? bytes : 1, ALIGN), false};
    pthread_mutex_unlock(&t->lock);
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

bool arenas_waiting(const struct target *t)
{
    for (size_t i = 0; i < t->arena_count; i++)
        if (t->arenas[i]->waiting_count)
            return true;
    return false;
}

void arenas_unseen(struct target *t)
{
    for (size_t i = 0; i < t->arena_count; i++) {
        struct arena *a = t->arenas[i];
        if (a->waiting_count)
            qsort(a->waiting, a->waiting_count, sizeof *a->waiting, by_start);
        for (size_t k = 0; k < a->waiting_count; k++)
            a->waiting[k].seen = false;
    }
}

void arenas_seen(struct target *t, uint64_t word)
{
    struct arena *a = arena_of(t, word);
    size_t low = 0, high = a ? a->waiting_count : 0;
    while (low < high) { /* the end too: a return address may stand right behind a call */
        size_t middle = (low + high) / 2;
        if (a->waiting[middle].end < word)
            low = middle + 1;
        else
            high = middle;
    }
    for (; a && low < a->waiting_count && a->waiting[low].start <= word; low++)
        a->waiting[low].seen = true;
}

void arenas_keep(struct target *t)
{
    for (size_t i = 0; i < t->arena_count; i++)
        for (size_t k = 0; k < t->arenas[i]->waiting_count; k++)
            t->arenas[i]->waiting[k].seen = true;
}

static void join(struct arena *a)
{
    if (!a->free_count)
        return;
    qsort(a->free, a->free_count, sizeof *a->free, by_start);
    size_t kept = 0;
    for (size_t i = 1; i < a->free_count; i++)
        if (a->free[kept].end == a->free[i].start)
            a->free[kept].end = a->free[i].end;
        else
            a->free[++kept] = a->free[i];
    a->free_count = kept + 1;
}

void arenas_reuse(struct target *t)
{
    for (size_t i = 0; i < t->arena_count && !t->pinned; i++) {
        struct arena *a = t->arenas[i];
        size_t kept = 0;
        for (size_t k = 0; k < a->waiting_count; k++)
            if (a->waiting[k].seen)
                a->waiting[kept++] = a->waiting[k];
            else
                *VEC_PUSH(a->free, a->free_count, a->free_room) = a->waiting[k];
        if (kept < a->waiting_count)
            join(a);
        a->waiting_count = kept;
    }
}

void arenas_drop(struct target *t)
{
    for (size_t i = 0; i < t->arena_count; i++) {
        struct arena *a = t->arenas[i];
        munmap(a->local, a->bytes);
        free(a->free);
        free(a->waiting);
        free(a);
    }
    free(t->arenas);
}

/* A forked child */

/* A copy is made elsewhere and moved over the shared pages when it is whole: our death in between
 * leaves it one or the other. */
static int copy_one(struct remote *r, const struct arena *a)
{
    size_t bytes = rounded(a->used, PAGE);
    uint64_t protection = a->kind == ARENA_CODE ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
    long at = remote_call(
        r, SYS_mmap, (uint64_t[6]){0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0});
    if (at < 0 && at > -4096)
        return (int)at;
    int e = mem_write(r->mem, (uint64_t)at, a->local, bytes);
    if (e)
        return e;
    long moved = remote_call(
        r, SYS_mremap,
        (uint64_t[6]){(uint64_t)at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, a->remote});
    return moved == (long)a->remote ? 0 : -ENOMEM;
}

int arenas_copy(struct target *t, struct thread *child)
{
    if (t->arena_count == 0)
        return 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child->tid);
    int mem = open(path, O_RDWR | O_CLOEXEC);
    if (mem < 0)
        return -errno;
    struct remote r;
    int e = remote_begin(&r, t, child, mem);
    if (e) {
        close(mem);
        return e;
    }
    for (size_t i = 0; i < t->arena_count && e == 0; i++)
        if (t->arenas[i]->used)
            e = copy_one(&r, t->arenas[i]);
    if (!remote_end(&r))
        e = -ECHILD;
    close(mem);
    return e;
}
