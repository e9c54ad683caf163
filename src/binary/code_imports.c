/* SPDX-License-Identifier: MIT */
/* What the file takes from others: slots of the GOT by their relocations, stubs of the PLT by the
 * slot that they jump through; and words of data that point into code. */
#include "base/alloc.h"
#include "binary/code_inner.h"
#include "binary/sections.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *pa, const void *pb)
{
    const struct code_name *a = pa, *b = pb;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return !a->name - !b->name;
}

static void add_name(struct code_names *names, uint64_t address, const char *name, uint64_t value)
{
    *VEC_PUSH(names->names, names->count, names->room) =
        (struct code_name){.address = address, .value = value, .name = name};
}

static void mark_pointed(struct code_file *file, uint64_t address)
{
    uint8_t *map = file_map(file, address);
    if (map)
        *map |= MAP_POINTED;
}

static void load_relocation(struct code_file *file, Elf *elf, Elf_Data *symbols,
                            const GElf_Shdr *table, const GElf_Rela *r)
{
    GElf_Sym symbol;
    const char *name = NULL;
    switch (GELF_R_TYPE(r->r_info)) {
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_64:
        if (symbols && gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &symbol))
            name = elf_strptr(elf, table->sh_link, symbol.st_name);
        if (name && *name)
            add_name(&file->slots, r->r_offset, name, 0);
        break;
    case R_X86_64_RELATIVE:
        mark_pointed(file, (uint64_t)r->r_addend);
        if (file_map(file, (uint64_t)r->r_addend))
            add_name(&file->slots, r->r_offset, NULL, (uint64_t)r->r_addend);
        break;
    case R_X86_64_IRELATIVE: /* what it leads to is known by who chooses it */
        add_name(&file->slots, r->r_offset, NULL, (uint64_t)r->r_addend);
        break;
    default: break;
    }
}

static void load_relocations(struct code_file *file, Elf *elf, Elf_Scn *section,
                             const GElf_Shdr *header)
{
    GElf_Shdr table = {0};
    GElf_Rela relocation;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data)
        return;
    Elf_Scn *link = elf_getscn(elf, header->sh_link);
    Elf_Data *symbols = link && gelf_getshdr(link, &table) && table.sh_type == SHT_DYNSYM
                            ? elf_getdata(link, NULL)
                            : NULL;
    size_t entry = gelf_fsize(elf, ELF_T_RELA, 1, EV_CURRENT);
    for (size_t i = 0; entry && i < data->d_size / entry; i++)
        if (gelf_getrela(data, (int)i, &relocation))
            load_relocation(file, elf, symbols, &table, &relocation);
}

/* A stub is one entry of its section, with a jump through a slot somewhere in it. */
static void load_stubs(struct code_file *file, const struct code_text *text)
{
    size_t size = text->end - text->start;
    for (size_t at = 0; at < size;) {
        struct insn i;
        if (!insn_decode(text->bytes + at, size - at, text->start + at, &i)) {
            at++;
            continue;
        }
        const struct code_name *slot = i.kind == INSN_JUMP_INDIRECT && i.flags & INSN_SLOT
                                           ? names_find(&file->slots, i.target)
                                           : NULL;
        if (slot)
            add_name(&file->stubs, text->start + at / text->stub_bytes * text->stub_bytes,
                     slot->name, slot->value);
        at += i.length;
    }
}

void imports_load(struct code_file *file)
{
    Elf *elf = file->module.binary.elf;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = section_typed(elf, section, SHT_RELA, &header)))
        if (header.sh_flags & SHF_ALLOC)
            load_relocations(file, elf, section, &header);
    if (file->slots.count)
        qsort(file->slots.names, file->slots.count, sizeof *file->slots.names, compare);
    for (size_t i = 0; i < file->text_count; i++)
        if (file->texts[i].stubs)
            load_stubs(file, &file->texts[i]);
    if (file->stubs.count)
        qsort(file->stubs.names, file->stubs.count, sizeof *file->stubs.names, compare);
}

/* Without relocations any word that looks like an address of code may be one. */
void pointers_mark(struct code_file *file)
{
    for (size_t i = 0; i < file->load_count && file->fixed; i++) {
        const struct code_load *load = &file->loads[i];
        uint64_t first = (load->start + 7) & ~7ull;
        for (uint64_t at = first; at < load->end && load->end - at >= 8; at += 8) {
            uint64_t word;
            memcpy(&word, load->bytes + (at - load->start), sizeof word);
            mark_pointed(file, word);
        }
    }
}
