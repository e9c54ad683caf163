/* SPDX-License-Identifier: MIT */
#include "binary/dynamic.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

struct walk {
    Elf *elf;
    dynamic_visit *visit;
    dynamic_visit_choice *visit_choice;
    void *data;
};

typedef void walk_section(const struct walk *w, Elf_Scn *section, const GElf_Shdr *header);

static void visit_imports(const struct walk *w, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Shdr table;
    GElf_Rela r;
    GElf_Sym symbol;
    Elf_Scn *link = elf_getscn(w->elf, header->sh_link);
    Elf_Data *data = elf_getdata(section, NULL);
    if (header->sh_type != SHT_RELA || !(header->sh_flags & SHF_ALLOC) || !data || !link ||
        !gelf_getshdr(link, &table) || table.sh_type != SHT_DYNSYM)
        return;
    Elf_Data *symbols = elf_getdata(link, NULL);
    size_t entry = gelf_fsize(w->elf, ELF_T_RELA, 1, EV_CURRENT);
    for (size_t i = 0; symbols && entry && i < data->d_size / entry; i++) {
        if (!gelf_getrela(data, (int)i, &r) || (GELF_R_TYPE(r.r_info) != R_X86_64_JUMP_SLOT &&
                                                GELF_R_TYPE(r.r_info) != R_X86_64_GLOB_DAT))
            continue;
        const char *name = gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &symbol)
                               ? elf_strptr(w->elf, table.sh_link, symbol.st_name)
                               : NULL;
        if (name && *name)
            w->visit(w->data, name, r.r_offset);
    }
}

static void visit_choices(const struct walk *w, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Rela r;
    bool loaded = header->sh_type == SHT_RELA && header->sh_flags & SHF_ALLOC;
    Elf_Data *data = loaded ? elf_getdata(section, NULL) : NULL;
    size_t entry = gelf_fsize(w->elf, ELF_T_RELA, 1, EV_CURRENT);
    for (size_t i = 0; data && entry && i < data->d_size / entry; i++)
        if (gelf_getrela(data, (int)i, &r) && GELF_R_TYPE(r.r_info) == R_X86_64_IRELATIVE)
            w->visit_choice(w->data, (uint64_t)r.r_addend, r.r_offset);
}

static void visit_table(const struct walk *w, Elf_Scn *section, const GElf_Shdr *header,
                        uint32_t type)
{
    GElf_Sym symbol;
    Elf_Data *data = header->sh_type == type ? elf_getdata(section, NULL) : NULL;
    size_t entry = gelf_fsize(w->elf, ELF_T_SYM, 1, EV_CURRENT);
    for (size_t i = 0; data && entry && i < data->d_size / entry; i++) {
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
            (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
             GELF_ST_TYPE(symbol.st_info) != STT_OBJECT &&
             GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE))
            continue;
        const char *name = elf_strptr(w->elf, header->sh_link, symbol.st_name);
        if (name && *name)
            w->visit(w->data, name, symbol.st_value);
    }
}

static void visit_exports(const struct walk *w, Elf_Scn *section, const GElf_Shdr *header)
{
    visit_table(w, section, header, SHT_DYNSYM);
}

static void visit_definitions(const struct walk *w, Elf_Scn *section, const GElf_Shdr *header)
{
    visit_table(w, section, header, SHT_SYMTAB);
}

static int walk(const char *path, walk_section *each, struct walk w)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    w.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    int err = w.elf && elf_kind(w.elf) == ELF_K_ELF ? 0 : -ENOEXEC;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while (!err && (section = elf_nextscn(w.elf, section)))
        if (gelf_getshdr(section, &header))
            each(&w, section, &header);
    elf_end(w.elf);
    close(fd);
    return err;
}

int dynamic_imports(const char *path, dynamic_visit *visit, void *data)
{
    return walk(path, visit_imports, (struct walk){.visit = visit, .data = data});
}

int dynamic_choices(const char *path, dynamic_visit_choice *visit, void *data)
{
    return walk(path, visit_choices, (struct walk){.visit_choice = visit, .data = data});
}

int dynamic_exports(const char *path, dynamic_visit *visit, void *data)
{
    return walk(path, visit_exports, (struct walk){.visit = visit, .data = data});
}

int dynamic_definitions(const char *path, dynamic_visit *visit, void *data)
{
    return walk(path, visit_definitions, (struct walk){.visit = visit, .data = data});
}
