/* SPDX-License-Identifier: MIT */
#include "binary/sections.h"

#include <string.h>

Elf_Scn *section_named(Elf *elf, const char *wanted, GElf_Shdr *header)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS
                               ? elf_strptr(elf, names, header->sh_name)
                               : NULL;
        if (name && !strcmp(name, wanted))
            return section;
    }
    return NULL;
}

Elf_Scn *section_typed(Elf *elf, Elf_Scn *section, GElf_Word type, GElf_Shdr *header)
{
    while (elf && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return section;
    return NULL;
}
