/* SPDX-License-Identifier: MIT */
/*
 * Where segments live, for both sides.
 *
 *   /dev/shm/loupe-UID/JOB/       directory of one job, mode 0700, owner checked
 *       job                       what the job is (tree/job.h), written by `loupe run` or `exec`
 *       NAME.hdr, NAME.0, ...     segments of its processes; NAME is random
 *       graph-HASH                static tables of procedures whose probes were inserted
 *   $TMPDIR/loupe-UID/JOB/        the same for extents that do not fit into shared memory
 *
 * The target is told by its environment, which `loupe exec` sets. LOUPE_SHM_DIR and TMPDIR replace
 * the roots (containers without /dev/shm, tests).
 */
#ifndef LOUPE_RECORD_PLACE_H
#define LOUPE_RECORD_PLACE_H

#include "record/export.h"

#include <stddef.h>

#define PLACE_ENV_SHM_ROOT "LOUPE_SHM_DIR"   /* instead of /dev/shm */
#define PLACE_ENV_JOB_DIR  "LOUPE_JOB_DIR"   /* absolute, for the target */
#define PLACE_ENV_SPILL    "LOUPE_SPILL_DIR" /* absolute, for the target; may be unset */
#define PLACE_ENV_ROOT_PID "LOUPE_ROOT_PID"  /* the process that `loupe exec` became */
#define PLACE_ENV_TOGETHER "LOUPE_TOGETHER"  /* the launcher starts nothing but watched ranks */
#define PLACE_ENV_OPTIONS  "LOUPE"           /* the option string of interface.md */
#define PLACE_ENV_DYNAMIC  "LOUPE_DYNAMIC"   /* socket to who inserts probes (record/dynamic.h) */

#define PLACE_HEADER_SUFFIX ".hdr"
#define PLACE_GRAPH_PREFIX  "graph-" /* static tables of probes that were inserted */

/* "/dev/shm/loupe-UID" or "$TMPDIR/loupe-UID" (TMPDIR default /tmp) into `path`; -errno. */
int place_shm_root(char *path, size_t room);
int place_spill_root(char *path, size_t room);
/* Makes a directory of ours (0700) or accepts an existing one, if it is a real directory, ours,
 * and closed to others. -errno: -EPERM when it is not safe to use, also because of its parent: one
 * that is not ours or root's, or that others may write to without the sticky bit. */
int place_make_dir(const char *path);
/* Opens such a directory with O_NOFOLLOW after the same checks; the descriptor or -errno. */
int place_open_dir(const char *path);
/* 16 random hexadecimal digits and a NUL. */
int place_random_name(char name[17]) EXPORT_AS(place_random_name);

#endif
