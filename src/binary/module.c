/* SPDX-License-Identifier: MIT */
#include "binary/module.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "binary/sections.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_close(struct module_file *file)
{
    if (!file->elf)
        return;
    elf_end(file->elf);
    close(file->fd);
    *file = (struct module_file){0};
}

/* Read rather than mapped: a file that is truncated under us gives an error then, not SIGBUS. */
static bool file_open(struct module_file *file, const char *path)
{
    struct stat st;
    *file = (struct module_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    Elf *elf = fstat(fd, &st) || !S_ISREG(st.st_mode) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    if (!elf || elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        close(fd);
        return false;
    }
    *file = (struct module_file){.fd = fd, .elf = elf};
    return true;
}

/* In hexadecimal; NULL: it has none. */
static char *build_id_of(Elf *elf)
{
    const void *bytes;
    ssize_t count = dwelf_elf_gnu_build_id(elf, &bytes);
    struct strbuf hex = {0};
    if (count <= 0)
        return NULL;
    for (ssize_t i = 0; i < count; i++)
        strbuf_printf(&hex, "%02x", ((const unsigned char *)bytes)[i]);
    return strbuf_take(&hex);
}

/* Whether the file may be the one with this build-id: only two different ones say no. */
static bool may_be(const struct module_file *file, const char *build_id)
{
    char *is = build_id ? build_id_of(file->elf) : NULL;
    bool same = !is || !strcasecmp(is, build_id);
    free(is);
    return same;
}

/* Where the debug file with this build-id would be; NULL: nowhere. */
static char *build_id_place(const char *build_id, const char *debug_dir)
{
    /* It becomes part of a path, so nothing but digits. */
    if (!build_id || strlen(build_id) < 3 ||
        strspn(build_id, "0123456789abcdefABCDEF") != strlen(build_id))
        return NULL;
    return xasprintf("%s/.build-id/%.2s/%s.debug", debug_dir, build_id, build_id + 2);
}

static bool open_by_build_id(struct module_file *file, const char *build_id, const char *debug_dir)
{
    char *path = build_id_place(build_id, debug_dir);
    bool opened = path && file_open(file, path);
    free(path);
    if (opened && !may_be(file, build_id)) {
        file_close(file);
        opened = false;
    }
    return opened;
}

static uint32_t crc_step(uint32_t crc, unsigned char byte)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t bits = i;
            for (int j = 0; j < 8; j++)
                bits = bits >> 1 ^ (bits & 1 ? 0xedb88320u : 0);
            table[i] = bits;
        }
    return crc >> 8 ^ table[(crc ^ byte) & 0xff];
}

/* The checksum that .gnu_debuglink has of the debug file. */
static bool has_crc(int fd, uint32_t wanted)
{
    unsigned char buffer[65536];
    uint32_t crc = ~0u;
    ssize_t got;
    for (off_t at = 0; (got = pread(fd, buffer, sizeof buffer, at)) > 0; at += got)
        for (ssize_t i = 0; i < got; i++)
            crc = crc_step(crc, buffer[i]);
    return got == 0 && ~crc == wanted;
}

enum { LINK_PLACES = 3 };

/* Where the file that .gnu_debuglink names may be, to be freed; false: it names none. */
static bool link_places(Elf *binary, const char *path, const char *debug_dir,
                        char *places[LINK_PLACES], GElf_Word *crc)
{
    const char *link = dwelf_elf_gnu_debuglink(binary, crc);
    char *real = link && *link && !strchr(link, '/') ? realpath(path, NULL) : NULL;
    if (real) {
        const char *dir = dirname(real);
        places[0] = xasprintf("%s/%s", dir, link);
        places[1] = xasprintf("%s/.debug/%s", dir, link);
        places[2] = xasprintf("%s%s/%s", debug_dir, dir, link);
    }
    free(real);
    return real != NULL;
}

static bool open_by_debuglink(struct module_file *file, Elf *binary, const char *path,
                              const char *debug_dir)
{
    char *places[LINK_PLACES];
    GElf_Word crc;
    bool opened = false;
    if (!link_places(binary, path, debug_dir, places, &crc))
        return false;
    for (int i = 0; i < LINK_PLACES; i++) {
        if (!opened && file_open(file, places[i])) {
            opened = has_crc(file->fd, crc);
            if (!opened)
                file_close(file);
        }
        free(places[i]);
    }
    return opened;
}

static void add_stamp(struct module_stamp *stamp, const char *path)
{
    struct stat st;
    if (!path || stat(path, &st))
        return;
    stamp->bytes += (uint64_t)st.st_size;
    stamp->time =
        stamp->time * 31 + (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
}

struct module_stamp module_debug_stamp(Elf *elf, const char *path, const char *debug_dir)
{
    struct module_stamp stamp = {0};
    char *places[LINK_PLACES], *build_id = build_id_of(elf);
    char *place = build_id_place(build_id, debug_dir);
    GElf_Word crc;
    add_stamp(&stamp, place);
    if (link_places(elf, path, debug_dir, places, &crc))
        for (int i = 0; i < LINK_PLACES; i++) {
            add_stamp(&stamp, places[i]);
            free(places[i]);
        }
    free(place);
    free(build_id);
    return stamp;
}

static bool has_debug_info(Elf *elf)
{
    GElf_Shdr header;
    return section_named(elf, ".debug_info", &header) ||
           section_named(elf, ".zdebug_info", &header);
}

static void find_dwarf(struct module *module, const char *path, const char *debug_dir)
{
    Elf *elf = module->binary.elf;
    if (elf && !has_debug_info(elf)) {
        char *build_id = build_id_of(elf);
        if (!open_by_build_id(&module->debug, build_id, debug_dir))
            open_by_debuglink(&module->debug, elf, path, debug_dir);
        free(build_id);
    }
    elf = module->debug.elf ? module->debug.elf : elf;
    if (has_debug_info(elf))
        module->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

int module_open(struct module *module, const char *path, const char *build_id,
                const char *debug_dir)
{
    *module = (struct module){0};
    if (file_open(&module->binary, path) && !may_be(&module->binary, build_id))
        file_close(&module->binary);
    if (!module->binary.elf && !open_by_build_id(&module->debug, build_id, debug_dir))
        return -ENOENT;
    find_dwarf(module, path, debug_dir);
    return 0;
}

void module_close(struct module *module)
{
    dwarf_end(module->dwarf);
    file_close(&module->debug);
    file_close(&module->binary);
    module->dwarf = NULL;
}

bool module_has_symbols(const struct module *module)
{
    GElf_Shdr header;
    return section_typed(module->binary.elf, NULL, SHT_SYMTAB, &header) ||
           section_typed(module->debug.elf, NULL, SHT_SYMTAB, &header) ||
           section_named(module->binary.elf, ".gnu_debugdata", &header);
}
