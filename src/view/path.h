/* SPDX-License-Identifier: MIT */
/* The critical path, said in words and as JSON. */
#ifndef LOUPE_VIEW_PATH_H
#define LOUPE_VIEW_PATH_H

#include "base/json.h"
#include "base/strbuf.h"
#include "metric/run.h"

/* "solve() (solver.c:120)", "MPI_Send (ring.c:19)"; owned by the caller. */
char *path_item_name(const struct run *run, const struct run_path_item *item);
/* Which part of the run the path has to do with: all of it, or since it was switched on. */
double path_span(const struct run *run);
/* "11.0 s of 12.3 s; speeding up solve() (solver.c:120) shortens this run by at most 14.0%" */
void path_sentence(const struct run *run, struct strbuf *out);
/* The member "critical_path"; nothing where there is none. */
void path_json(struct json *json, const struct run *run);

/* Who carried how much of it, by the strip; most first. */
struct path_carrier {
    int32_t rank;
    unsigned parts;
    char letter; /* that stands for it in the strip */
};
/* Returns their number; *parts: of the strip in use. */
size_t path_carriers(const struct run_path *path, struct path_carrier carriers[RECORD_PATH_STRIP],
                     size_t *parts);

#endif
