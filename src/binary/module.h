/* SPDX-License-Identifier: MIT */
/* An executable or shared library and, if it can be found, the file with its debug information. */
#ifndef LOUPE_BINARY_MODULE_H
#define LOUPE_BINARY_MODULE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct module_file {
    int fd;
    Elf *elf; /* NULL: not there */
};

struct module {
    struct module_file binary; /* elf NULL: gone, only its debug file is there */
    struct module_file debug;  /* elf NULL: no separate one */
    Dwarf *dwarf;              /* of either; NULL: no debug information */
};

/* `build_id` (hexadecimal) may be NULL: then any file will do. Separate debug files are searched
 * under `debug_dir`. -ENOENT: neither this binary nor its debug file is there. Close it in either
 * case. */
int module_open(struct module *module, const char *path, const char *build_id,
                const char *debug_dir);
void module_close(struct module *module);
/* Some symbol table has more than what it exports; else it is stripped, and the rest has no names.
 */
bool module_has_symbols(const struct module *module);

/* What changes when a debug file comes, goes or is replaced: size and time of whatever is in the
 * places where one is searched for; both 0: nothing is. Opens no file. */
struct module_stamp {
    uint64_t bytes, time;
};
struct module_stamp module_debug_stamp(Elf *elf, const char *path, const char *debug_dir);

#endif
