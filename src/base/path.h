/* SPDX-License-Identifier: MIT */
#ifndef LOUPE_BASE_PATH_H
#define LOUPE_BASE_PATH_H

/* A source file's path as a person would type it: without "./" and "x/..", relative to the
 * directory of compilation (NULL: unknown) when below it. To be freed. */
char *path_shown(const char *path, const char *directory);
/* The same path in full: below the directory unless it is absolute. To be freed. */
char *path_full(const char *path, const char *directory);
/* What stands behind the last slash; all of it without one. */
const char *path_base(const char *path);

#endif
