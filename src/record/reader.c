/* SPDX-License-Identifier: MIT */
/* Opening and checking of a segment; visit.c goes through its records. */
#include "record/reader.h"

#include "base/alloc.h"
#include "record/place.h"
#include "record/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

_Static_assert(offsetof(struct record_header, control) + sizeof(struct record_control) <=
                   RECORD_CHUNK,
               "loupe ctl maps the first page alone");

static bool name_is_plain(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) + 5 < NAME_MAX;
}

/* Opens a file of a segment: a regular one, ours, that nobody else can write to. */
static int open_file(int dir, const char *name, const char *suffix, int flags, size_t *bytes)
{
    char path[NAME_MAX + 1];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", name, suffix);
    /* O_NONBLOCK: a FIFO that somebody put there must not stop us. */
    int fd = openat(dir, path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? -EPROTO : -errno;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && !S_ISREG(st.st_mode))
        err = -EPROTO;
    if (!err && (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))))
        err = -EPERM;
    if (err) {
        close(fd);
        return err;
    }
    *bytes = st.st_size > 0 ? (size_t)st.st_size : 0;
    return fd;
}

static int map_file(int fd, size_t bytes, struct segment_map *map)
{
    /* All of it is read soon, and a fault for each page takes longer than that; but what someone
     * has made large for no reason is not to be filled by us. */
    enum { AT_ONCE = 1 << 22 };
    int populate = bytes <= AT_ONCE ? MAP_POPULATE : 0;
    void *start = mmap(NULL, bytes, PROT_READ, MAP_SHARED | populate, fd, 0);
    if (start == MAP_FAILED)
        return -errno;
    *map = (struct segment_map){start, bytes};
    return 0;
}

static int check_header(struct record_header *h)
{
    if (h->magic == 0)
        return -EAGAIN; /* its process has just begun to write it */
    if (h->magic != RECORD_MAGIC)
        return -EPROTO;
    if (h->version != RECORD_VERSION || h->header_bytes != sizeof *h ||
        h->statement_bytes != sizeof(struct record_statement) ||
        h->peer_bytes != sizeof(struct record_peer))
        return -ENOTSUP;
    if (h->state >= RECORD_STATES || h->mpi_phase > RECORD_MPI_FINALIZED ||
        h->clock >= RECORD_CLOCKS || h->pid <= 0 || h->world < 0 || h->rank < -1 || h->size < 0)
        return -EPROTO;
    /* From 10 THz to one tick per millisecond: whatever else is no clock. */
    if (!isfinite(h->tick_ns) || h->tick_ns < 1e-4 || h->tick_ns > 1e6)
        return -EPROTO;
    if (h->thread_level < 0 || h->thread_level > 3)
        h->thread_level = 0;
    h->host[sizeof h->host - 1] = 0;
    h->mpi[sizeof h->mpi - 1] = 0;
    h->program[sizeof h->program - 1] = 0;
    return 0;
}

static void map_extent(struct record_reader *reader, int number)
{
    const struct record_extent *extent = &reader->header.extents[number];
    reader->tried |= 1u << number;
    int dir = extent->spilled ? reader->spill : reader->dir;
    char suffix[16];
    size_t bytes = 0;
    snprintf(suffix, sizeof suffix, ".%d", number);
    int fd = dir < 0 ? -ENOENT : open_file(dir, reader->name, suffix, O_RDONLY, &bytes);
    size_t chunks = bytes / RECORD_CHUNK;
    if (chunks < extent->chunks || extent->chunks > SEGMENT_CHUNKS_MAX - reader->chunks)
        reader->damaged = true;
    if (chunks > extent->chunks)
        chunks = extent->chunks;
    if (chunks > SEGMENT_CHUNKS_MAX - reader->chunks)
        chunks = SEGMENT_CHUNKS_MAX - reader->chunks;
    if (fd >= 0 && chunks) {
        if (map_file(fd, chunks * RECORD_CHUNK, &reader->extents[number]))
            reader->damaged = true;
        else
            reader->chunks += (uint32_t)chunks;
    }
    if (fd >= 0)
        close(fd);
}

static const struct record_header *live_header(const struct record_reader *reader)
{
    return (const void *)reader->live.start;
}

bool segment_grown(const struct record_reader *reader)
{
    for (int i = 0; i < RECORD_EXTENTS; i++)
        if (!(reader->tried >> i & 1) && segment_load32(&live_header(reader)->extents[i].chunks))
            return true;
    return false;
}

void segment_grow(struct record_reader *reader)
{
    for (int i = 0; i < RECORD_EXTENTS; i++) {
        const struct record_extent *live = &live_header(reader)->extents[i];
        struct record_extent *copy = &reader->header.extents[i];
        if (reader->tried >> i & 1)
            continue;
        copy->chunks = segment_load32(&live->chunks);
        copy->spilled = segment_load32(&live->spilled);
        if (copy->chunks)
            map_extent(reader, i);
    }
}

int record_refresh(struct record_reader *reader)
{
    struct record_header copy;
    guard_enter(reader);
    segment_copy(&copy, reader->live.start, sizeof copy);
    guard_leave();
    int err = check_header(&copy);
    if (err)
        return err;
    reader->header = copy;
    for (int i = 0; i < RECORD_EXTENTS; i++)
        if (reader->header.extents[i].chunks && !(reader->tried >> i & 1))
            map_extent(reader, i);
    return 0;
}

int record_open(int dir, int spill, const char *name, struct record_reader **reader)
{
    size_t bytes = 0;
    *reader = NULL;
    if (!name_is_plain(name))
        return -EINVAL;
    int fd = open_file(dir, name, PLACE_HEADER_SUFFIX, O_RDONLY, &bytes);
    if (fd == -ENOENT && spill >= 0) /* shared memory had no room even for the header */
        fd = open_file(spill, name, PLACE_HEADER_SUFFIX, O_RDONLY, &bytes);
    if (fd < 0)
        return fd;
    struct record_reader *r = xcalloc(1, sizeof *r);
    r->dir = dir;
    r->spill = spill;
    memcpy(r->name, name, strlen(name) + 1); /* name_is_plain: it fits */
    int err = 0;
    if (bytes < sizeof r->header)
        err = bytes ? -EPROTO : -EAGAIN;
    if (!err)
        err = map_file(fd, sizeof r->header, &r->live);
    close(fd);
    if (!err)
        err = record_refresh(r);
    if (err) {
        record_close(r);
        return err;
    }
    *reader = r;
    return 0;
}

static void unmap(const struct segment_map *map)
{
    if (map->start)
        munmap((void *)(uintptr_t)map->start, map->bytes);
}

void record_close(struct record_reader *reader)
{
    if (!reader)
        return;
    unmap(&reader->live);
    for (int i = 0; i < RECORD_EXTENTS; i++)
        unmap(&reader->extents[i]);
    free(reader->floors);
    free(reader);
}

const struct record_header *record_header(const struct record_reader *reader)
{
    return &reader->header;
}

uint64_t record_bytes(const struct record_reader *reader)
{
    size_t pages = (reader->live.bytes + RECORD_CHUNK - 1) / RECORD_CHUNK;
    return (pages + reader->chunks) * RECORD_CHUNK;
}

bool record_damaged(const struct record_reader *reader)
{
    return reader->damaged;
}

uint64_t record_now(const struct record_reader *reader)
{
    struct timespec ts;
#if defined(__x86_64__)
    if (reader->header.clock == RECORD_CLOCK_TSC)
        return __rdtsc();
#endif
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int record_control(int dir, const char *name, struct record_control **control)
{
    struct record_reader *checked;
    size_t bytes = 0;
    *control = NULL;
    int err = record_open(dir, -1, name, &checked);
    if (err)
        return err;
    record_close(checked);
    int fd = open_file(dir, name, PLACE_HEADER_SUFFIX, O_RDWR, &bytes);
    if (fd < 0)
        return fd;
    err = bytes < sizeof(struct record_header) ? -EPROTO : 0;
    char *page = MAP_FAILED;
    if (!err)
        page = mmap(NULL, RECORD_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!err && page == MAP_FAILED)
        err = -errno;
    close(fd);
    if (err)
        return err;
    *control = (struct record_control *)(void *)(page + offsetof(struct record_header, control));
    return 0;
}

void record_control_close(struct record_control *control)
{
    if (control)
        munmap((void *)((uintptr_t)control & ~(uintptr_t)(RECORD_CHUNK - 1)), RECORD_CHUNK);
}
