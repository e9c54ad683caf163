/* SPDX-License-Identifier: MIT */
/* Which ranges of code there are, and what they are called: by symbols of the file, of its debug
 * file and of the small symbol table in .gnu_debugdata, and by unwind tables where these are
 * silent. */
#include "base/alloc.h"
#include "binary/code_inner.h"
#include "binary/sections.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found {
    uint64_t start, size;
    const char *name;
    int weight;
    bool indirect;
};
struct list {
    struct found *found;
    size_t count, room;
};

static void add(struct code_file *file, struct list *list, const GElf_Sym *s, uint64_t value,
                const char *name)
{
    static const int weights[] = {[STB_LOCAL] = 1, [STB_GLOBAL] = 3, [STB_WEAK] = 2};
    unsigned type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
    const struct code_text *text = file_text(file, value);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF || !name ||
        !*name || !text || text->stubs)
        return;
    if (strchr(name, '@')) { /* a version belongs to it */
        char *bare = xstrdup(name);
        *strchr(bare, '@') = 0;
        *VEC_PUSH(file->made, file->made_count, file->made_room) = bare;
        name = bare;
    }
    *VEC_PUSH(list->found, list->count, list->room) =
        (struct found){.start = value,
                       .size = s->st_size > text->end - value ? text->end - value : s->st_size,
                       .name = name,
                       .weight = bind < 3 ? weights[bind] : 0,
                       .indirect = type == STT_GNU_IFUNC};
}

static void load_symbols(struct code_file *file, struct list *list, Elf *elf, GElf_Word type)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = section_typed(elf, section, type, &header))) {
        GElf_Sym symbol;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
        for (size_t i = 0; data && entry && i < data->d_size / entry; i++)
            if (gelf_getsym(data, (int)i, &symbol))
                add(file, list, &symbol, symbol.st_value,
                    elf_strptr(elf, header.sh_link, symbol.st_name));
    }
}

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
        (void)found;
    return -1;
}

/* libdwfl unpacks .gnu_debugdata. */
static void load_small(struct code_file *file, struct list *list, const char *path)
{
    static const Dwfl_Callbacks callbacks = {.find_debuginfo = no_debug_file,
                                             .section_address = dwfl_offline_section_address};
    GElf_Shdr header;
    Dwfl *dwfl = section_named(file->module.binary.elf, ".gnu_debugdata", &header)
                     ? dwfl_begin(&callbacks)
                     : NULL;
    Dwfl_Module *module = dwfl ? dwfl_report_offline(dwfl, "", path, -1) : NULL;
    GElf_Addr bias = 0;
    if (module && dwfl_report_end(dwfl, NULL, NULL) == 0 && dwfl_module_getelf(module, &bias)) {
        int count = dwfl_module_getsymtab(module);
        for (int i = 0; i < count; i++) {
            GElf_Sym symbol;
            GElf_Addr address;
            const char *name =
                dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
            if (!name || symbol.st_shndx == SHN_UNDEF)
                continue;
            char *kept = xstrdup(name);
            *VEC_PUSH(file->made, file->made_count, file->made_room) = kept;
            add(file, list, &symbol, address - bias, kept);
        }
    }
    if (dwfl)
        dwfl_end(dwfl);
}

static size_t underscores(const char *name)
{
    return strspn(name, "_");
}

/* Of several names the one that people use: write rather than __write, MPI_Send than PMPI_Send. */
static int compare(const void *pa, const void *pb)
{
    const struct found *a = pa, *b = pb;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    size_t ua = underscores(a->name), ub = underscores(b->name);
    if (ua != ub)
        return ua < ub ? -1 : 1;
    size_t la = strlen(a->name), lb = strlen(b->name);
    if (la != lb)
        return la < lb ? -1 : 1;
    if (a->weight != b->weight)
        return b->weight - a->weight;
    return strcmp(a->name, b->name);
}

static void add_part(struct code_file *file, const struct found *found, size_t count)
{
    struct code_part *part = VEC_PUSH(file->parts, file->part_count, file->part_room);
    *part = (struct code_part){
        .start = found->start, .name = found->name, .owner = PART_NONE, .end = found->start};
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        if (found[i].start + found[i].size > part->end)
            part->end = found[i].start + found[i].size;
        part->indirect_function |= found[i].indirect;
        others += i && strcmp(found[i].name, found[i - 1].name) != 0;
    }
    if (others)
        part->aliases = xcalloc(others + 1, sizeof *part->aliases);
    for (size_t i = 1, k = 0; i < count; i++)
        if (strcmp(found[i].name, found[i - 1].name) != 0)
            part->aliases[k++] = found[i].name;
    const char *cold = found->name ? strstr(found->name, ".cold") : NULL;
    part->cold = cold && cold > found->name;
}

static int compare_parts(const void *pa, const void *pb)
{
    const struct code_part *a = pa, *b = pb;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Unwind tables know of procedures that no symbol names. */
static void add_frames(struct code_file *file)
{
    size_t named = file->part_count, at = 0;
    for (size_t i = 0; i < file->frame_count; i++) {
        const struct code_frame *f = &file->frames[i];
        const struct code_text *text = file_text(file, f->start);
        while (at < named && file->parts[at].end <= f->start &&
               (at + 1 >= named || file->parts[at + 1].start <= f->start))
            at++;
        bool known = at < named && file->parts[at].start <= f->start &&
                     (f->start < file->parts[at].end || f->start == file->parts[at].start);
        if (known || !text || text->stubs || (i && f->start == f[-1].start))
            continue;
        *VEC_PUSH(file->parts, file->part_count, file->part_room) = (struct code_part){
            .start = f->start, .end = f->end, .owner = PART_NONE, .cold = f->continues};
    }
}

static void finish(struct code_file *file)
{
    for (size_t i = 0; i < file->part_count; i++) {
        struct code_part *part = &file->parts[i];
        const struct code_frame *frame = frames_find(file, part->start);
        const struct code_text *text = file_text(file, part->start);
        uint64_t next = i + 1 < file->part_count ? part[1].start : UINT64_MAX;
        if (part->end == part->start && frame && frame->start == part->start)
            part->end = frame->end;
        if (part->end == part->start)
            part->end = next;
        if (part->end > next)
            part->end = next;
        if (part->end > text->end)
            part->end = text->end;
        part->signal = frame && frame->signal;
        if (!part->name) {
            char *name = xasprintf("sub_%lx", (unsigned long)part->start);
            *VEC_PUSH(file->made, file->made_count, file->made_room) = name;
            part->name = name;
            part->nameless = true;
        }
    }
}

void parts_load(struct code_file *file)
{
    struct list list = {0};
    char path[64];
    load_symbols(file, &list, file->module.binary.elf, SHT_SYMTAB);
    load_symbols(file, &list, file->module.debug.elf, SHT_SYMTAB);
    load_symbols(file, &list, file->module.binary.elf, SHT_DYNSYM);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->module.binary.fd);
    load_small(file, &list, path);
    if (list.count)
        qsort(list.found, list.count, sizeof *list.found, compare);
    for (size_t i = 0, n; i < list.count; i += n) {
        for (n = 1; i + n < list.count && list.found[i + n].start == list.found[i].start; n++)
            ;
        add_part(file, &list.found[i], n);
    }
    free(list.found);
    add_frames(file);
    if (file->part_count)
        qsort(file->parts, file->part_count, sizeof *file->parts, compare_parts);
    finish(file);
}

uint32_t parts_find(const struct code_file *file, uint64_t address)
{
    size_t low = 0, high = file->part_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (file->parts[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < file->parts[low - 1].end ? (uint32_t)(low - 1) : PART_NONE;
}

bool name_never_returns(const char *name)
{
    static const char *const names[] = {"_Exit",
                                        "_Unwind_Resume",
                                        "_ZSt9terminatev",
                                        "__assert",
                                        "__assert_fail",
                                        "__assert_perror_fail",
                                        "__chk_fail",
                                        "__cxa_bad_cast",
                                        "__cxa_bad_typeid",
                                        "__cxa_call_terminate",
                                        "__cxa_call_unexpected",
                                        "__cxa_deleted_virtual",
                                        "__cxa_pure_virtual",
                                        "__cxa_rethrow",
                                        "__cxa_throw",
                                        "__cxa_throw_bad_array_new_length",
                                        "__fortify_fail",
                                        "__libc_fatal",
                                        "__libc_start_main",
                                        "__longjmp",
                                        "__longjmp_chk",
                                        "__stack_chk_fail",
                                        "__stack_chk_fail_local",
                                        "_exit",
                                        "_gfortran_error_stop_string",
                                        "_gfortran_os_error",
                                        "_gfortran_os_error_at",
                                        "_gfortran_runtime_error",
                                        "_gfortran_runtime_error_at",
                                        "_gfortran_stop_numeric",
                                        "_gfortran_stop_string",
                                        "_longjmp",
                                        "abort",
                                        "exit",
                                        "longjmp",
                                        "pthread_exit",
                                        "quick_exit",
                                        "siglongjmp",
                                        "thrd_exit"};
    if (!name)
        return false;
    size_t low = 0, high = sizeof names / sizeof *names;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(names[middle], name);
        if (!order)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* std::__throw_bad_alloc() and its like */
    return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_");
}
