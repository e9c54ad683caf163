/* SPDX-License-Identifier: MIT */
#include "store/publish.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int publish_begin(const char *path, bool overwrite, char **temporary)
{
    struct stat there;
    if (!*path)
        return -ENOENT;
    /* Only to say so early; what counts is the check in publish_end. */
    if (!overwrite && !lstat(path, &there))
        return -EEXIST;
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -EIO;
        char *name = xasprintf("%s.tmp-%016" PRIx64, path, random);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0) {
            close(fd);
            *temporary = name;
            return 0;
        }
        int error = errno;
        free(name);
        if (error != EEXIST)
            return -error;
    }
    return -EEXIST;
}

void publish_cancel(char *temporary)
{
    if (temporary)
        unlink(temporary);
    free(temporary);
}

static int flush(const char *name, int flags)
{
    int fd = open(name, flags | O_CLOEXEC), error = 0;
    if (fd < 0)
        return -errno;
    if (fsync(fd))
        error = -errno;
    if (close(fd) && !error)
        error = -errno;
    return error;
}

/* Moves without replacing. File systems differ in what they can do: the rename that refuses, then
 * a hard link, and last a name taken with O_EXCL that the rename may then replace. */
static int move_new(const char *from, const char *to)
{
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (!link(from, to))
        return unlink(from) ? -errno : 0;
    if (errno == EEXIST)
        return -EEXIST;
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    close(fd);
    if (!rename(from, to))
        return 0;
    int error = -errno;
    unlink(to);
    return error;
}

int publish_end(const char *path, bool overwrite, char *temporary)
{
    int error = flush(temporary, O_RDONLY);
    if (!error && overwrite)
        error = rename(temporary, path) ? -errno : 0;
    else if (!error)
        error = move_new(temporary, path);
    if (error) {
        publish_cancel(temporary);
        return error;
    }
    /* The file is in place: a directory that cannot be flushed is no reason to say otherwise. */
    char *copy = xstrdup(path);
    flush(dirname(copy), O_RDONLY | O_DIRECTORY);
    free(copy);
    free(temporary);
    return 0;
}
