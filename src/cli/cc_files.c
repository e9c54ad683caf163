/* SPDX-License-Identifier: MIT */
/* Names and files for loupe cc. */
#include "cli/cc.h"

#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cc_directory_of(const char *path)
{
    return cc_text("%.*s", (int)(path_base(path) - path), path);
}

const char *cc_absolute(const char *name)
{
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd))
        cwd[0] = 0;
    char *full = path_full(name, cwd);
    const char *path = cc_text("%s", *full ? full : "/");
    free(full);
    return path;
}

char *cc_read(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        text = malloc((size_t)st.st_size + 1);
    size_t have = 0;
    for (ssize_t len = 1; text && len > 0 && have < (size_t)st.st_size; have += (size_t)len)
        if ((len = read(fd, text + have, (size_t)st.st_size - have)) < 0)
            len = 0;
    if (text) {
        text[have] = 0;
        *size = have;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

bool cc_write(const char *path, const char *text, size_t len)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    bool good = fwrite(text, 1, len, file) == len;
    return (fclose(file) == 0) && good;
}

void cc_make_directories(const char *path)
{
    char *copy = strdup(path);
    for (char *slash = copy; slash && (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = 0;
        mkdir(copy, 0700);
    }
    free(copy);
}
