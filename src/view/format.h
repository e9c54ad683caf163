/* SPDX-License-Identifier: MIT */
/* Numbers and names as people read them. Each function returns `to`. */
#ifndef LOUPE_VIEW_FORMAT_H
#define LOUPE_VIEW_FORMAT_H

#include "metric/run.h"

#include <stddef.h>
#include <stdint.h>

#define FORMAT_ROOM 48

char *format_time(char to[FORMAT_ROOM], double seconds);        /* "1.23 s", "45.0 ms"; "-" */
char *format_count(char to[FORMAT_ROOM], uint64_t count);       /* "12.3k" */
char *format_number(char to[FORMAT_ROOM], uint64_t number);     /* "81,234" */
char *format_bytes(char to[FORMAT_ROOM], uint64_t bytes);       /* "3.1 MiB" */
char *format_bytes_short(char to[FORMAT_ROOM], uint64_t bytes); /* "3.1M", for the matrix */
char *format_percent(char to[FORMAT_ROOM], double share);       /* "12.3%"; "-" if not a number */
/* Three times in the unit of the greatest: "0.10/0.31/0.50 s". */
char *format_spread(char to[FORMAT_ROOM], double min, double avg, double max);
/* A peer as the statement's process sees it: "0->3", "0<-3"; "others" and "foreign" for those. */
char *format_pair(char to[FORMAT_ROOM], const struct run *run, const struct run_peer *peer);
char *format_rank(char to[FORMAT_ROOM], const struct run_rank *rank); /* "3", "w1:3" when spawned */
char *format_date(char to[FORMAT_ROOM], int64_t ns);                  /* "2026-01-31T12:00:00Z" */

/* The last part of a path; the end of it that fits `room` bytes, cut at a slash if it can be. */
const char *format_base(const char *path);
const char *format_tail(const char *path, size_t room);
/* "solver.c:88", or "binary+0x1f3c" where there is no line; owned by the caller. */
char *format_where(const struct graph_node *node);
/* "MPI_Send solver.c:88 in solve", "call P4 solver.c:14 in P3", "for loop solver.c:11 in P3",
 * "procedure P3 solver.c:8"; a region's own name. Owned by the caller. */
char *format_node(const struct graph_node *node);
/* Shorter names for a table that is too narrow, NULL where there is none; owned by the caller.
 * "CommBrick::setup" of "LAMMPS_NS::CommBrick::setup(int)"; "MPI_Send ..+0x2b0cab in run",
 * "MPI_Send liblammp..+0x2b0cab". */
char *format_procedure_brief(const char *name);
char *format_node_brief(const struct graph_node *node);

#endif
