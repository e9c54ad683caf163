/* SPDX-License-Identifier: MIT */
#include "binary/tables.h"

#include "base/alloc.h"
#include "binary/module.h"
#include "binary/sections.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 30 }; /* what a compressed section may claim to hold */

static int contents(Elf_Scn *section, const GElf_Shdr *header, const char **text, size_t *length)
{
    GElf_Chdr compressed;
    if (header->sh_flags & SHF_COMPRESSED &&
        (!gelf_getchdr(section, &compressed) || compressed.ch_size > BYTES_MAX ||
         elf_compress(section, 0, 0) < 0))
        return -EPROTO;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || (data->d_size && !data->d_buf))
        return -EPROTO;
    *text = data->d_buf;
    *length = data->d_size;
    return 0;
}

static int decode(struct tables *tables, const char *text, size_t length)
{
    while (length) {
        struct unit unit;
        size_t used;
        int error = unit_decode(text, length, &unit, &used);
        if (error)
            return error == -ENODATA ? 0 : error;
        *VEC_PUSH(tables->units, tables->count, tables->room) = unit;
        text += used;
        length -= used;
    }
    return 0;
}

/* Why a file could not be opened as a binary: module_open does not tell. */
static int why(const char *path, const char *build_id)
{
    struct stat st;
    char magic[SELFMAG];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int error = fstat(fd, &st) ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : 0;
    bool elf = !error && S_ISREG(st.st_mode) && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
               !memcmp(magic, ELFMAG, SELFMAG);
    close(fd);
    return error ? error : elf && build_id ? -ENOENT : -ENOEXEC;
}

int tables_read(struct tables *tables, const char *path, const char *build_id,
                const char *debug_dir)
{
    struct module module;
    const char *text = NULL;
    size_t length = 0;
    *tables = (struct tables){0};
    elf_version(EV_CURRENT);
    int error = module_open(&module, path, build_id, debug_dir ? debug_dir : "/usr/lib/debug");
    if (error)
        return why(path, build_id);
    GElf_Shdr header;
    Elf_Scn *section = section_named(module.binary.elf, UNIT_SECTION, &header);
    if (!section)
        section = section_named(module.debug.elf, UNIT_SECTION, &header);
    error = section ? contents(section, &header, &text, &length) : -ENODATA;
    if (!error)
        error = decode(tables, text, length);
    if (!error && !tables->count)
        error = -ENODATA;
    if (error)
        tables_free(tables);
    module_close(&module);
    return error;
}

void tables_free(struct tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        unit_free(&tables->units[i]);
    free(tables->units);
    *tables = (struct tables){0};
}
