/* SPDX-License-Identifier: MIT */
/*
 * Are all ranks of this node under Loupe? What is collective must not be begun otherwise: the
 * others would never come. A rank that is has said so in its segment before it called MPI_Init, and
 * MPI_Init returns when all have called it: so all count the same now.
 */
#include "mpi/company.h"

#include "record/layout.h"
#include "record/place.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel gives them; the C library's functions would allocate. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static bool has_begun(int dir, const char *name)
{
    struct record_header h;
    size_t len = strlen(name), end = strlen(PLACE_HEADER_SUFFIX);
    if (len < end || strcmp(name + len - end, PLACE_HEADER_SUFFIX))
        return false;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool read_it = pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h;
    close(fd);
    return read_it && h.magic == RECORD_MAGIC && h.version == RECORD_VERSION &&
           h.mpi_phase >= RECORD_MPI_INITIALIZING;
}

static int count_in(const char *path)
{
    char buffer[4096] __attribute__((aligned(8)));
    int count = 0;
    int dir = path && *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (dir < 0)
        return 0;
    for (long got; (got = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < got;) {
            const struct entry *e = (const struct entry *)(buffer + at);
            count += has_begun(dir, e->name);
            at += e->bytes;
        }
    close(dir);
    return count;
}

/* What launchers tell. */
static int ranks_here(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!text)
        text = getenv("MPI_LOCALNRANKS");
    return text ? atoi(text) : 0;
}

bool company_complete(void)
{
    const char *dir = getenv(PLACE_ENV_JOB_DIR);
    int here = ranks_here();
    return dir && count_in(dir) + count_in(getenv(PLACE_ENV_SPILL)) >= here;
}
