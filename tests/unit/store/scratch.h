/* SPDX-License-Identifier: MIT */
/* A directory of this test alone, under $TMPDIR. */
#ifndef LOUPE_TESTS_STORE_SCRATCH_H
#define LOUPE_TESTS_STORE_SCRATCH_H

#include "base/alloc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *scratch;

__attribute__((unused)) static void scratch_begin(void)
{
    const char *base = getenv("TMPDIR");
    scratch = xasprintf("%s/loupe-store-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(scratch)) {
        printf("Bail out! no scratch directory\n");
        exit(1);
    }
}

__attribute__((unused)) static char *scratch_path(const char *name)
{
    return xasprintf("%s/%s", scratch, name);
}

/* How many files a directory holds. */
__attribute__((unused)) static int scratch_files(const char *in)
{
    int files = 0;
    DIR *dir = opendir(in);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        files += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return files;
}

__attribute__((unused)) static void scratch_end(void)
{
    if (rmdir(scratch))
        printf("# left behind: %s\n", scratch);
    free(scratch);
}

#endif
