/* SPDX-License-Identifier: MIT */
/* Also linked into the user's process: no allocation, nothing but libc, old symbols only. */
#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Who the kernel says owns a file whose owner has no name in this user namespace: in a rootless
 * container that is the root of the machine. */
#define OVERFLOW_UID 65534

static int root_under(const char *parent, char *path, size_t room)
{
    int len = snprintf(path, room, "%s/loupe-%u", parent, (unsigned)geteuid());
    return len < 0 || (size_t)len >= room ? -ENAMETOOLONG : 0;
}

int place_shm_root(char *path, size_t room)
{
    const char *parent = secure_getenv(PLACE_ENV_SHM_ROOT);
    if (!parent || !*parent)
        parent = "/dev/shm";
    return *parent == '/' ? root_under(parent, path, room) : -EINVAL;
}

int place_spill_root(char *path, size_t room)
{
    const char *parent = secure_getenv("TMPDIR");
    if (!parent || *parent != '/')
        parent = "/tmp";
    return root_under(parent, path, room);
}

/*
 * Whoever may rename entries of the parent can put another directory in place of ours between two
 * uses: that is its owner, and without the sticky bit everyone who may write to it.
 */
static int check_parent(int parent)
{
    struct stat st;
    if (fstat(parent, &st))
        return -errno;
    if (st.st_uid != geteuid() && st.st_uid != 0 && st.st_uid != OVERFLOW_UID)
        return -EPERM;
    return (st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX) ? -EPERM : 0;
}

/* Opens the directory that contains `path`; *base is the last component. */
static int open_parent(const char *path, const char **base)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (!slash || !slash[1] || !strcmp(slash, "/.") || !strcmp(slash, "/.."))
        return -EINVAL;
    if (len >= sizeof parent)
        return -ENAMETOOLONG;
    memcpy(parent, path, len);
    parent[len] = 0;
    *base = slash + 1;
    int fd = open(len ? parent : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = check_parent(fd);
    if (err) {
        close(fd);
        return err;
    }
    return fd;
}

/* The checks are made on what was opened, never on a name that can change its meaning. */
static int open_ours(int parent, const char *base)
{
    struct stat st;
    int fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP || errno == ENOTDIR || errno == EACCES ? -EPERM : -errno;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO))))
        err = -EPERM;
    if (err) {
        close(fd);
        return err;
    }
    return fd;
}

int place_open_dir(const char *path)
{
    const char *base;
    int parent = open_parent(path, &base);
    if (parent < 0)
        return parent;
    int fd = open_ours(parent, base);
    close(parent);
    return fd;
}

int place_make_dir(const char *path)
{
    const char *base;
    int parent = open_parent(path, &base);
    if (parent < 0)
        return parent;
    int made = !mkdirat(parent, base, 0700);
    int err = made || errno == EEXIST ? 0 : -errno;
    /* The user's umask may take away even the owner's bits. Nobody else can have put another one
     * in its place: the parent was checked. */
    if (made && fchmodat(parent, base, 0700, 0))
        err = -errno;
    int fd = err ? err : open_ours(parent, base);
    close(parent);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

int place_random_name(char name[17])
{
    uint64_t random;
    long got;
    /* Not the libc's function: it is younger than the libc of programs we are loaded into. */
    do
        got = syscall(SYS_getrandom, &random, sizeof random, 0);
    while (got < 0 && errno == EINTR);
    if (got != (long)sizeof random)
        return got < 0 ? -errno : -EIO;
    for (int i = 0; i < 16; i++)
        name[i] = "0123456789abcdef"[random >> (4 * i) & 15];
    name[16] = 0;
    return 0;
}
