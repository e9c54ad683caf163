/* SPDX-License-Identifier: MIT */
#ifndef LOUPE_BINARY_PATH_H
#define LOUPE_BINARY_PATH_H

/* A source file's path as a person would type it: without "./" and "x/..", relative to the
 * directory of compilation (NULL: unknown) when below it. To be freed. */
char *path_shown(const char *path, const char *directory);

#endif
