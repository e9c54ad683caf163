/* SPDX-License-Identifier: MIT */
#include "cli/install.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *install_self(void)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return NULL;
    path[len] = 0;
    return xstrdup(path);
}

/* A readable file, as an absolute path without "..": a space or colon would split LD_PRELOAD. */
static char *usable(const char *dir, const char *relative, const char *name)
{
    char *path = xasprintf("%s/%s/%s", dir, relative, name);
    char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
    free(path);
    return real;
}

/* In the first of the places, which are relative to the executable's directory. */
static char *find(const char *const *places, const char *name)
{
    char *self = install_self(), *found = NULL;
    if (!self)
        return NULL;
    *strrchr(self, '/') = 0;
    for (; *places && !found; places++)
        found = usable(self, *places, name);
    free(self);
    return found;
}

char *install_library(const char *name)
{
    /* Installed, installed on Debian, build directory. */
    static const char *const places[] = {"../lib/loupe",
                                         "../lib/x86_64-linux-gnu/loupe",
                                         "../lib64/loupe",
                                         ".",
                                         "../mpi",
                                         "../source",
                                         NULL};
    const char *forced = getenv(INSTALL_ENV_LIBDIR);
    return forced && *forced ? usable(forced, ".", name) : find(places, name);
}

char *install_instrument(void)
{
    const char *forced = getenv(INSTALL_ENV_INSTRUMENT);
    return forced && *forced ? realpath(forced, NULL) : install_library(INSTALL_INSTRUMENT);
}

char *install_header(const char *name)
{
    static const char *const places[] = {"../include", ".", NULL};
    return find(places, name);
}
