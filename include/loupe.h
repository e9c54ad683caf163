/* SPDX-License-Identifier: MIT */
/*
 * Regions: parts of a program that it names itself. Under `loupe run` or `loupe exec` a region
 * appears in the report with its count, its time and the time of what is called in it; otherwise
 * the calls do nothing, and cost a call through a pointer.
 *
 *     #include <loupe.h>
 *
 *     loupe_begin("assemble");
 *     ...
 *     loupe_end("assemble");
 *
 * Build with `pkg-config --cflags --libs loupe`. In Fortran: `use loupe`, then
 * `call loupe_begin('assemble')`; blanks at the end of a name do not count.
 *
 * Regions belong to the thread that begins them and nest: end the inner one first. The same name
 * is the same region, wherever it stands. A name longer than 123 bytes is cut there. Both
 * functions may be called from any thread at any time, before MPI_Init and after MPI_Finalize too,
 * but not from signal handlers.
 */
#ifndef LOUPE_H
#define LOUPE_H

#ifdef __cplusplus
extern "C" {
#endif

void loupe_begin(const char *name);
void loupe_end(const char *name);

#ifdef __cplusplus
}
#endif

#endif
