/* SPDX-License-Identifier: MIT */
/* The program graph of a binary, as `loupe graph` prints it. */
#ifndef LOUPE_VIEW_PROGRAM_H
#define LOUPE_VIEW_PROGRAM_H

#include "base/strbuf.h"
#include "graph/program.h"

/* A tree for each file, and the static tables in their classic form:
 *   T_pl, T_pcom  [procedure loop], [procedure communication]
 *   T_pc          [procedure call called procedure]
 *   T_ll, T_lcom, T_lc   the same for what stands in a loop
 * each named by its line, with the file where there are several.
 * `glob` (NULL: all): procedures with such a name, and what stands in them. What has no line is
 * named instead. `from`: "source" or "machine code", of which nobody expects that it has probes.
 * Returns how many procedures there were. */
size_t view_program_text(const struct program *program, const char *glob, const char *from,
                         struct strbuf *out);
size_t view_program_json(const struct program *program, const char *glob, const char *binary,
                         const char *from, struct strbuf *out);

#endif
