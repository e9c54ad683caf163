/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    HEADER_BYTES = RECORD_CHUNK,
    FIRST_CHUNKS = RECORD_EXTENT_FIRST / RECORD_CHUNK,
    GROW_TRIES = 2000,   /* yields before an event is folded instead */
    GROW_PAUSE = 4096,   /* chunks refused without trying after no extent could be had */
    SMALL_SHM_MIB = 256, /* below this, shared memory is left alone before MPI_Init */
    HEADROOM_MIB = 8,    /* always left for MPI, or an eighth of a smaller file system */
};

void record_trouble(struct record_header *header, uint32_t bits)
{
    if ((__atomic_load_n(&header->trouble, __ATOMIC_RELAXED) & bits) != bits)
        __atomic_fetch_or(&header->trouble, bits, __ATOMIC_RELAXED);
}

/* To reach beyond the limit on a file's size would not only fail, but end the program by SIGXFSZ.
 */
static bool within_limit(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || bytes <= limit.rlim_cur;
}

/* Allocation comes before mapping: a page that cannot be had is an error here, not a SIGBUS
 * later. */
static void *map_path(const char *path, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    void *map = MAP_FAILED;
    if (!posix_fallocate(fd, 0, (off_t)bytes))
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        unlink(path);
        return NULL;
    }
    return map;
}

/* Creates, allocates and maps a file; the descriptor does not outlive the call. A thread that is
 * cancelled must not end in here, with a lock held. */
static void *map_new(const char *dir, const char *name, const char *suffix, size_t bytes)
{
    char path[320];
    int cancel;
    if (snprintf(path, sizeof path, "%s/%s%s", dir, name, suffix) >= (int)sizeof path ||
        !within_limit(bytes))
        return NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    void *map = map_path(path, bytes);
    pthread_setcancelstate(cancel, NULL);
    return map;
}

static int set_dir(char to[256], const char *from)
{
    if (!from)
        from = "";
    size_t len = strlen(from);
    if (len >= 256)
        return -ENAMETOOLONG;
    memcpy(to, from, len + 1);
    return 0;
}

int record_writer_open(struct record_writer *w, const char *dir, const char *spill)
{
    *w = (struct record_writer){.bytes_max = RECORD_BYTES_MAX, .spare_shm = true};
    int error = set_dir(w->dir, dir);
    if (!error)
        error = set_dir(w->spill, spill);
    if (!error)
        error = place_random_name(w->name);
    if (error)
        return error;
    w->header = map_new(w->dir, w->name, PLACE_HEADER_SUFFIX, HEADER_BYTES);
    if (!w->header && w->spill[0])
        w->header = map_new(w->spill, w->name, PLACE_HEADER_SUFFIX, HEADER_BYTES);
    if (!w->header)
        return -ENOSPC;
    struct record_header *h = w->header;
    h->version = RECORD_VERSION;
    h->header_bytes = sizeof *h;
    h->statement_bytes = sizeof(struct record_statement);
    h->peer_bytes = sizeof(struct record_peer);
    for (int i = 0; i < 16; i++)
        h->nonce = h->nonce * 31 + (unsigned char)w->name[i];
    return 0;
}

void record_writer_forget(struct record_writer *w)
{
    *w = (struct record_writer){0};
}

/* Is there room in shared memory for us, and after us for MPI? */
static bool fits_shm(const struct record_writer *w, uint64_t bytes)
{
    struct statvfs fs;
    if (statvfs(w->dir, &fs) || !fs.f_frsize)
        return false;
    uint64_t total = (uint64_t)fs.f_blocks * fs.f_frsize;
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (!total) /* a tmpfs without limit */
        return true;
    if (w->spare_shm && total < (uint64_t)SMALL_SHM_MIB << 20)
        return false;
    uint64_t headroom = (uint64_t)HEADROOM_MIB << 20;
    if (headroom > total / 8)
        headroom = total / 8;
    return free_bytes >= bytes + headroom;
}

static void *new_extent(struct record_writer *w, int extent, uint64_t bytes, bool *spilled)
{
    char suffix[16];
    snprintf(suffix, sizeof suffix, ".%d", extent);
    *spilled = false;
    if (fits_shm(w, bytes)) {
        void *map = map_new(w->dir, w->name, suffix, bytes);
        if (map)
            return map;
    }
    void *map = w->spill[0] ? map_new(w->spill, w->name, suffix, bytes) : NULL;
    *spilled = map != NULL;
    if (map)
        record_trouble(w->header, RECORD_TROUBLE_SPILLED);
    return map;
}

/* Adds an extent of at least `need` chunks; extents double, so that their number stays small. */
static int add_extent(struct record_writer *w, uint32_t need)
{
    int e = 0;
    while (e < RECORD_EXTENTS && w->extents[e].count)
        e++;
    uint64_t chunks = e < 2 ? FIRST_CHUNKS : (uint64_t)FIRST_CHUNKS << (e - 1);
    chunks = chunks < need ? need : chunks;
    uint64_t bytes = chunks * RECORD_CHUNK;
    if (e == RECORD_EXTENTS || (uint64_t)w->total * RECORD_CHUNK + bytes > w->bytes_max) {
        record_trouble(w->header, RECORD_TROUBLE_STATEMENTS);
        return -ENOSPC;
    }
    bool spilled;
    w->extents[e].chunks = new_extent(w, e, bytes, &spilled);
    if (!w->extents[e].chunks) {
        record_trouble(w->header, RECORD_TROUBLE_NO_SPACE);
        return -ENOSPC;
    }
    w->extents[e].count = (uint32_t)chunks;
    w->header->extents[e].spilled = spilled;
    __atomic_store_n(&w->header->extents[e].chunks, (uint32_t)chunks, __ATOMIC_RELEASE);
    __atomic_store_n(&w->total, w->total + (uint32_t)chunks, __ATOMIC_RELEASE);
    return 0;
}

static int grow(struct record_writer *w, uint32_t need)
{
    if (__atomic_exchange_n(&w->growing, 1, __ATOMIC_ACQUIRE))
        return -EBUSY;
    int error = 0;
    if (w->pause) {
        w->pause--;
        error = -ENOSPC;
    } else if (__atomic_load_n(&w->next, __ATOMIC_RELAXED) + need > w->total) {
        error = add_extent(w, need);                    /* none has come since */
        w->pause = error && need == 1 ? GROW_PAUSE : 0; /* events go on, and each of them asks */
    }
    __atomic_store_n(&w->growing, 0, __ATOMIC_RELEASE);
    return error;
}

/* The chunk, and how many there are from it to the end of its extent. */
static struct record_chunk *chunk_at(struct record_writer *w, uint32_t index, uint32_t *rest)
{
    for (int e = 0; e < RECORD_EXTENTS; e++) {
        *rest = w->extents[e].count - index;
        if (index < w->extents[e].count)
            return (struct record_chunk *)(w->extents[e].chunks + (size_t)index * RECORD_CHUNK);
        index -= w->extents[e].count;
    }
    return NULL;
}

static void take_chunk(struct record_writer *w, struct record_chunk *chunk, enum record_kind kind,
                       uint32_t block, uint32_t more)
{
    chunk->nonce = w->header->nonce;
    chunk->block = block;
    chunk->more = more;
    __atomic_store_n(&chunk->kind, kind, __ATOMIC_RELEASE);
}

struct record_chunk *record_writer_run(struct record_writer *w, enum record_kind kind,
                                       uint32_t block, uint32_t count)
{
    for (int tries = 0; tries < GROW_TRIES;) {
        uint32_t n = __atomic_load_n(&w->next, __ATOMIC_RELAXED), rest;
        uint32_t total = __atomic_load_n(&w->total, __ATOMIC_ACQUIRE);
        if (n + count > total) {
            int error = grow(w, count);
            if (error == -ENOSPC)
                return NULL;
            if (error == -EBUSY) {
                sched_yield();
                tries++;
            }
            continue;
        }
        struct record_chunk *chunk = chunk_at(w, n, &rest);
        bool fits = rest >= count; /* else what is left of this extent is passed over */
        uint32_t taken = fits ? count : rest;
        if (!__atomic_compare_exchange_n(&w->next, &n, n + taken, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        if (fits) {
            take_chunk(w, chunk, kind, block, count - 1);
            return chunk;
        }
        for (uint32_t i = 0; i < rest; i++)
            take_chunk(w, (void *)((char *)chunk + (size_t)i * RECORD_CHUNK), RECORD_KIND_SPARE, 0,
                       0);
    }
    return NULL;
}

struct record_chunk *record_writer_chunk(struct record_writer *w, enum record_kind kind,
                                         uint32_t block)
{
    return record_writer_run(w, kind, block, 1);
}

void *record_cursor_next(struct record_writer *w, struct record_cursor *c, enum record_kind kind,
                         uint32_t block, size_t size)
{
    if (!c->chunk || (c->used + 1) * size > RECORD_CHUNK_ROOM) {
        struct record_chunk *chunk = record_writer_chunk(w, kind, block);
        if (!chunk)
            return NULL;
        *c = (struct record_cursor){.chunk = chunk};
    }
    return (char *)(c->chunk + 1) + c->used * size;
}

void record_cursor_publish(struct record_cursor *c)
{
    __atomic_store_n(&c->chunk->used, ++c->used, __ATOMIC_RELEASE);
}
