/* SPDX-License-Identifier: MIT */
#include "binary/symbols.h"

#include "base/alloc.h"
#include "binary/sections.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int weight_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL: return 3;
    case STB_WEAK: return 2;
    }
    return 1;
}

/* Of a symbol without a size no more is known than that its section ends. */
static uint64_t end_of(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr header;
    if (symbol->st_size)
        return symbol->st_value + symbol->st_size;
    return gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &header)
               ? header.sh_addr + header.sh_size
               : symbol->st_value;
}

static void load_section(struct symbols *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !header->sh_entsize)
        return;
    size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    for (size_t i = 0; entry && i < data->d_size / entry; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        int type = GELF_ST_TYPE(symbol.st_info);
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || !name ||
            !*name)
            continue;
        *VEC_PUSH(s->symbols, s->count, s->room) = (struct symbol){.low = symbol.st_value,
                                                                   .high = end_of(elf, &symbol),
                                                                   .weight = weight_of(&symbol),
                                                                   .name = name};
    }
}

static void load_type(struct symbols *s, Elf *elf, GElf_Word type)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = section_typed(elf, section, type, &header)))
        load_section(s, elf, section, &header);
}

static int compare(const void *pa, const void *pb)
{
    const struct symbol *a = pa, *b = pb;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->weight != b->weight)
        return b->weight - a->weight;
    return strcmp(a->name, b->name);
}

void symbols_load(struct symbols *s, const struct module *module)
{
    load_type(s, module->binary.elf, SHT_SYMTAB);
    if (!s->count)
        load_type(s, module->debug.elf, SHT_SYMTAB);
    if (!s->count)
        load_type(s, module->binary.elf, SHT_DYNSYM);
    if (s->count)
        qsort(s->symbols, s->count, sizeof *s->symbols, compare);
}

void symbols_free(struct symbols *s)
{
    free(s->symbols);
    *s = (struct symbols){0};
}

char *symbols_name(const struct symbols *s, uint64_t address)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->symbols[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct symbol *found = &s->symbols[low - 1];
    while (found > s->symbols && found[-1].low == found->low)
        found--;
    if (address >= found->high)
        return NULL;
    return symbols_readable(found->name);
}

/* The C++ runtime's own demangler, if this machine has one: C++ programs bring it along. */
static char *demangle(const char *name)
{
    static char *(*cxa_demangle)(const char *, char *, size_t *, int *);
    static int tried;
    if (!tried) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            library = dlopen("libc++abi.so.1", RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&cxa_demangle, &symbol, sizeof cxa_demangle);
        tried = 1;
    }
    int status = -1;
    return cxa_demangle ? cxa_demangle(name, NULL, NULL, &status) : NULL;
}

/* gfortran: "__module_MOD_name" and "name_"; a second underscore if the name has one itself. */
static char *fortran(char *name)
{
    char *module = !strncmp(name, "__", 2) ? strstr(name, "_MOD_") : NULL;
    size_t len = strlen(name);
    if (module && module[5])
        memmove(name, module + 5, strlen(module + 5) + 1);
    else if (strcmp(name, "MAIN__") != 0 && len > 1 && name[len - 1] == '_')
        name[len - 1] = 0;
    return name;
}

char *symbols_readable(const char *symbol)
{
    static const char *const parts[] = {".isra.", ".constprop.", ".part.",
                                        ".cold",  ".llvm.",      ".lto_priv."};
    char *name = xstrdup(symbol), *nice;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *part = strstr(name, parts[i]);
        if (part && part > name)
            *part = 0;
    }
    if (strncmp(name, "_Z", 2) != 0)
        return fortran(name);
    nice = demangle(name);
    if (!nice)
        return name;
    free(name);
    return nice;
}
