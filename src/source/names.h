/* SPDX-License-Identifier: MIT */
/* Names of procedures and files. All results are the caller's to free. */
#ifndef LOUPE_SOURCE_NAMES_H
#define LOUPE_SOURCE_NAMES_H

#include <clang-c/Index.h>
#include <stdbool.h>
#include <stdint.h>

char *name_take(CXString string);
/* An absolute path, "." and ".." resolved as text. */
char *name_absolute(const char *path);
/* As written, with what it is declared in: "Solver::run". */
char *name_qualified(CXCursor cursor);
/* The declaration with everything that belongs to it, without body: for attributes. */
char *name_declaration(CXCursor cursor);
/* The pattern, for what is made from a template; else the same. */
CXCursor name_pattern(CXCursor cursor);
bool name_in_template(CXCursor cursor);
bool name_internal(CXCursor cursor);
/* For the linker; "@ID" at the end of what is not visible outside. What a template describes has
 * one for all that is made from it. */
char *name_linkage(CXCursor cursor, uint64_t id);

#endif
