/* SPDX-License-Identifier: MIT */
#include "tree/inserted.h"

#include "base/alloc.h"
#include "graph/unit.h"
#include "record/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 256 << 20 };

/* A file of ours; NULL: none, or not to be read. */
static char *contents(int dir, const char *name, size_t *length)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_size > BYTES_MAX) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *text = xcalloc((size_t)st.st_size + 1, 1);
    *length = 0;
    for (ssize_t n = 1; n > 0 && *length<(size_t)st.st_size; *length += n> 0 ? (size_t)n : 0)
        n = read(fd, text + *length, (size_t)st.st_size - *length);
    close(fd);
    return text;
}

static int decode(struct run *run, const char *text, size_t length)
{
    while (length) {
        struct unit unit;
        size_t used;
        int err = unit_decode(text, length, &unit, &used);
        if (err)
            return err == -ENODATA ? 0 : err;
        *VEC_PUSH(run->units, run->unit_count, run->unit_room) = unit;
        text += used;
        length -= used;
    }
    return 0;
}

void inserted_read(struct run *run, int dir)
{
    int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = own >= 0 ? fdopendir(own) : NULL;
    if (!list && own >= 0)
        close(own);
    for (struct dirent *e; list && (e = readdir(list));) {
        size_t length;
        if (strncmp(e->d_name, PLACE_GRAPH_PREFIX, strlen(PLACE_GRAPH_PREFIX)) != 0)
            continue;
        char *text = contents(dir, e->d_name, &length);
        if (!text || decode(run, text, length) < 0)
            run_warn(run,
                     "the program graph of inserted probes cannot be read (%s): what they "
                     "counted is left out",
                     e->d_name);
        free(text);
    }
    if (list)
        closedir(list);
}
