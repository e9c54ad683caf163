/* SPDX-License-Identifier: MIT */
/* Artificial runs, as src/tree would fill them, and a resolver that knows their addresses. */
#ifndef LOUPE_TESTS_VIEW_FIXTURE_H
#define LOUPE_TESTS_VIEW_FIXTURE_H

#include "metric/run.h"

/* Straight from the segments: not yet structured. Free with run_free. */
struct run *fixture_raw(void); /* the 4 ranks of "stencil": regions, inlining, one line twice */

/* Structured, by name; NULL if there is no such run. */
struct run *fixture_run(const char *name);

/* Sets the fields of a value: all executions alike. */
void fixture_value(struct run *run, uint32_t node, uint32_t rank, uint64_t count, double each_s,
                   uint64_t bytes_each);
uint32_t fixture_statement(struct run *run, const char *name, const char *module, uint64_t offset);
struct run *fixture_new(const char *program, size_t ranks, double time_s);

/* Runs of programs that were built with `loupe cc`, as structure_run leaves them (probed.c). */
struct run *fixture_probed(const char *name);

#endif
