/* SPDX-License-Identifier: MIT */
#include "binary/tables.h"

#include "base/alloc.h"
#include "binary/module.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 30 }; /* what a compressed section may claim to hold */

/* NULL: the file has none, or it is elsewhere. */
static Elf_Scn *find_section(Elf *elf)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name && !strcmp(name, UNIT_SECTION))
            return section;
    }
    return NULL;
}

static int contents(Elf_Scn *section, const char **text, size_t *length)
{
    GElf_Shdr header;
    GElf_Chdr compressed;
    if (!gelf_getshdr(section, &header))
        return -EPROTO;
    if (header.sh_flags & SHF_COMPRESSED &&
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
    Elf_Scn *section = find_section(module.binary.elf);
    if (!section)
        section = find_section(module.debug.elf);
    error = section ? contents(section, &text, &length) : -ENODATA;
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
