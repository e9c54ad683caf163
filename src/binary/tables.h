/* SPDX-License-Identifier: MIT */
/* The static tables that `loupe cc` has put into a binary. */
#ifndef LOUPE_BINARY_TABLES_H
#define LOUPE_BINARY_TABLES_H

#include "graph/unit.h"

#include <stddef.h>

struct tables {
    struct unit *units;
    size_t count, room;
};

/*
 * Reads UNIT_SECTION of an ELF file; where that was stripped off, of its separate debug file, which
 * is searched as for addresses (binary/resolve.h), under `debug_dir` (NULL: /usr/lib/debug).
 * `build_id` (hexadecimal) must match if both have one; NULL: any. -errno of opening it; -ENOEXEC:
 * not an ELF file; -ENOENT also: another file than the one with this build-id; -ENODATA: has no
 * tables; -EPROTO: they are damaged; -ENOTSUP: of another format. Free it in either case.
 */
int tables_read(struct tables *tables, const char *path, const char *build_id,
                const char *debug_dir);
void tables_free(struct tables *tables);

#endif
