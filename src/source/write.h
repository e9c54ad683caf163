/* SPDX-License-Identifier: MIT */
#ifndef LOUPE_SOURCE_WRITE_H
#define LOUPE_SOURCE_WRITE_H

#include <stddef.h>

/* Makes the directories that are missing; 0 or -errno. */
int write_file(const char *path, const char *text, size_t length);

#endif
