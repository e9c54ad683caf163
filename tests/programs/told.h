/* SPDX-License-Identifier: MIT */
/* Programs that files in a directory tell what to do, and that tell by files how far they are. */
#ifndef LOUPE_TESTS_TOLD_H
#define LOUPE_TESTS_TOLD_H

#include <stdio.h>
#include <unistd.h>

static const char *directory;

static int told(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void tell(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file)
        fclose(file);
}

#endif
