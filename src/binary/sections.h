/* SPDX-License-Identifier: MIT */
/* Sections of an ELF file by name and by type. */
#ifndef LOUPE_BINARY_SECTIONS_H
#define LOUPE_BINARY_SECTIONS_H

#include <gelf.h>

/* The first section of this name that has bytes in the file, with its header; NULL: none, or no
 * file. */
Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *header);
/* The next of this type (SHT_...) behind `before` (NULL: the first); NULL: no more, or no file. */
Elf_Scn *section_typed(Elf *elf, Elf_Scn *before, GElf_Word type, GElf_Shdr *header);

#endif
