/* SPDX-License-Identifier: MIT */
/* What a loaded file gives to others and takes from them, by name. */
#ifndef LOUPE_BINARY_DYNAMIC_H
#define LOUPE_BINARY_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

/* `address` is the file's own, without the place it is loaded at. For imports it is that of the
 * slot which holds the address of what is called `name`. */
typedef void dynamic_visit(void *data, const char *name, uint64_t address);

/* Slots through which functions are called (of the PLT, and those that compilers call through
 * without one); -errno: it cannot be read. */
int dynamic_imports(const char *path, dynamic_visit *visit, void *data);
/* Slots of the file's own functions whose code is chosen when it is loaded (ifunc): `resolver` is
 * the address of the code that chooses, `slot` that of what it has chosen. */
typedef void dynamic_visit_choice(void *data, uint64_t resolver, uint64_t slot);
int dynamic_choices(const char *path, dynamic_visit_choice *visit, void *data);
/* Functions and data that it defines for others. */
int dynamic_exports(const char *path, dynamic_visit *visit, void *data);
/* All that it defines, if it is not stripped. */
int dynamic_definitions(const char *path, dynamic_visit *visit, void *data);

#endif
