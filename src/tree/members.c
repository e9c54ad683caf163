/* SPDX-License-Identifier: MIT */
#include "tree/members.h"

#include "base/alloc.h"
#include "record/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add(struct members *members, const char *name)
{
    struct record_reader *reader;
    int err = record_open(members->dir, members->spill, name, &reader);
    if (!err) {
        const struct record_header *h = record_header(reader);
        enum process_life life = process_life(h->pid, h->pid_started, h->pid_namespace);
        /* It may have ended properly between the look at its header and the look for it. */
        if (life == PROCESS_DEAD)
            err = record_refresh(reader);
        if (!err)
            *VEC_PUSH(members->list, members->count, members->room) =
                (struct member){.reader = reader, .life = life, .world = h->world};
        else
            record_close(reader);
    }
    /* Not written yet: it has counted nothing either. Gone: it was removed meanwhile. */
    if (err && err != -EAGAIN && err != -ENOENT) {
        struct unreadable *u =
            VEC_PUSH(members->unreadable, members->unreadable_count, members->unreadable_room);
        u->name = xstrdup(name);
        u->err = err;
    }
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int compare(const void *pa, const void *pb)
{
    const struct member *ma = pa, *mb = pb;
    const struct record_header *a = record_header(ma->reader), *b = record_header(mb->reader);
    bool a_mpi = a->mpi_phase != RECORD_MPI_NONE, b_mpi = b->mpi_phase != RECORD_MPI_NONE;
    COMPARE(b_mpi, a_mpi);
    COMPARE(ma->world, mb->world);
    /* Those that do not know their rank yet come last: -1 as unsigned. */
    COMPARE((uint32_t)a->rank, (uint32_t)b->rank);
    COMPARE(a->started, b->started);
    COMPARE(a->nonce, b->nonce);
    return 0;
}

static int by_process(const void *pa, const void *pb)
{
    const struct member *const *ma = pa, *const *mb = pb;
    const struct record_header *a = record_header((*ma)->reader);
    const struct record_header *b = record_header((*mb)->reader);
    COMPARE(a->pid, b->pid);
    COMPARE(a->pid_started, b->pid_started);
    COMPARE(a->pid_namespace, b->pid_namespace);
    COMPARE(a->started, b->started);
    return 0;
}

static void mark_replaced(struct members *members)
{
    struct member **sorted = xcalloc(members->count, sizeof *sorted);
    for (size_t i = 0; i < members->count; i++)
        sorted[i] = &members->list[i];
    if (members->count)
        qsort(sorted, members->count, sizeof(struct member *), by_process);
    for (size_t i = 0; i + 1 < members->count; i++) {
        const struct record_header *a = record_header(sorted[i]->reader);
        const struct record_header *b = record_header(sorted[i + 1]->reader);
        sorted[i]->replaced = a->pid == b->pid && a->pid_started == b->pid_started &&
                              a->pid_namespace == b->pid_namespace;
    }
    free(sorted);
}

/* Every segment has its header in one of the job's two directories. */
static int add_all(struct members *members, int where)
{
    int copy = fcntl(where, F_DUPFD_CLOEXEC, 3);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        int err = -errno;
        if (copy >= 0)
            close(copy);
        return err;
    }
    rewinddir(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = strlen(e->d_name), suffix = strlen(PLACE_HEADER_SUFFIX);
        char name[NAME_MAX + 1];
        if (*e->d_name == '.' || len <= suffix ||
            strcmp(e->d_name + len - suffix, PLACE_HEADER_SUFFIX))
            continue;
        memcpy(name, e->d_name, len - suffix);
        name[len - suffix] = 0;
        add(members, name);
    }
    closedir(dir);
    return 0;
}

/* LOUPE_SHM_DIR and TMPDIR may be one place. */
static bool same_dir(int a, int b)
{
    struct stat sa, sb;
    return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

int members_open(const struct job *job, struct members *members)
{
    *members = (struct members){.spill = -1};
    members->dir = place_open_dir(job->dir);
    if (members->dir < 0)
        return members->dir;
    if (job->spill_dir)
        members->spill = place_open_dir(job->spill_dir);
    int err = add_all(members, members->dir);
    if (!err && members->spill >= 0 && !same_dir(members->dir, members->spill))
        err = add_all(members, members->spill);
    if (!err && !members->count && !members->unreadable_count)
        err = -ENOENT;
    if (err) {
        members_close(members);
        return err;
    }
    if (members->count)
        qsort(members->list, members->count, sizeof *members->list, compare);
    members_find_worlds(members);
    if (members->count)
        qsort(members->list, members->count, sizeof *members->list, compare);
    mark_replaced(members);
    return 0;
}

void members_close(struct members *members)
{
    for (size_t i = 0; i < members->count; i++)
        record_close(members->list[i].reader);
    free(members->list);
    for (size_t i = 0; i < members->unreadable_count; i++)
        free(members->unreadable[i].name);
    free(members->unreadable);
    if (members->dir >= 0)
        close(members->dir);
    if (members->spill >= 0)
        close(members->spill);
    *members = (struct members){.dir = -1, .spill = -1};
}
