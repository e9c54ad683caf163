/* SPDX-License-Identifier: MIT */
/* The run file: one SQLite database per run; docs/run-file.md has the schema. */
#ifndef LOUPE_STORE_STORE_H
#define LOUPE_STORE_STORE_H

#include "metric/run.h"

#define STORE_FORMAT         5
#define STORE_FORMAT_OLDEST  3 /* that is still read: 3 has no critical path, 4 no `outside` */
#define STORE_FORMAT_PATHS   4 /* the first with a critical path, */
#define STORE_FORMAT_OUTSIDE 5 /* and that says what of MPI lies outside the ranks' time */

/* Called now and then while a large file is written; done and total in rows. */
typedef void store_progress(void *data, uint64_t done, uint64_t total);

/*
 * Writes `run` to a new file, complete or not at all (written beside it and linked into place).
 * -EEXIST if the file is there and `overwrite` is false; -ENOSPC, -EACCES, ... . progress may be
 * NULL.
 */
int store_write(const struct run *run, const char *path, bool overwrite, store_progress *progress,
                void *data);

/* Reads a run file. -ENOENT, -EACCES; -EPROTO: not a run file, damaged or truncated; -ENOTSUP: of
 * another format version, *format then tells which (format may be NULL). */
int store_read(const char *path, struct run **run, int *format);

#endif
