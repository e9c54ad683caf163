/* SPDX-License-Identifier: MIT */
/* The bytes of an ELF file by address. Everything in it may be wrong: it is checked on the way. */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MOST = 64, LOADS_MOST = 64 };

static bool contains(uint64_t start, uint64_t end, uint64_t address, size_t room)
{
    return address >= start && address < end && end - address >= room;
}

const uint8_t *file_bytes(const struct code_file *file, uint64_t address, size_t room)
{
    for (size_t i = 0; i < file->load_count; i++) {
        const struct code_load *load = &file->loads[i];
        if (contains(load->start, load->end, address, room))
            return load->bytes + (address - load->start);
    }
    return NULL;
}

struct code_text *file_text(const struct code_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->text_count; i++)
        if (contains(file->texts[i].start, file->texts[i].end, address, 1))
            return &file->texts[i];
    return NULL;
}

uint8_t *file_map(const struct code_file *file, uint64_t address)
{
    struct code_text *text = file_text(file, address);
    return text ? text->map + (address - text->start) : NULL;
}

static void add_load(struct code_file *file, Elf *elf, const GElf_Phdr *header)
{
    if (!header->p_filesz || file->load_count >= LOADS_MOST ||
        header->p_vaddr + header->p_filesz < header->p_vaddr)
        return;
    Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_BYTE);
    if (!data || !data->d_buf || data->d_size < header->p_filesz)
        return;
    *VEC_PUSH(file->loads, file->load_count, file->load_room) = (struct code_load){
        .start = header->p_vaddr, .end = header->p_vaddr + header->p_filesz, .bytes = data->d_buf};
}

/* Sections that overlap are of a damaged file: the first has the bytes. */
static void add_text(struct code_file *file, uint64_t start, uint64_t size, bool stubs,
                     uint64_t stub_bytes)
{
    const uint8_t *bytes = size ? file_bytes(file, start, size) : NULL;
    if (!bytes || file->text_count >= TEXTS_MOST)
        return;
    for (size_t i = 0; i < file->text_count; i++)
        if (start < file->texts[i].end && start + size > file->texts[i].start)
            return;
    bool sound = stub_bytes == 8 || stub_bytes == 16;
    *VEC_PUSH(file->texts, file->text_count, file->text_room) =
        (struct code_text){.start = start,
                           .end = start + size,
                           .bytes = bytes,
                           .map = xcalloc(size, 1),
                           .stubs = stubs,
                           .stub_bytes = sound ? (uint32_t)stub_bytes : 16};
}

static void add_sections(struct code_file *file, Elf *elf)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(elf, &names))
        return;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
            !(header.sh_flags & SHF_EXECINSTR) || !(header.sh_flags & SHF_ALLOC))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        add_text(file, header.sh_addr, header.sh_size, name && !strncmp(name, ".plt", 4),
                 header.sh_entsize);
    }
}

static int compare_sizes(const void *pa, const void *pb)
{
    const struct code_text *a = pa, *b = pb;
    uint64_t size_a = a->end - a->start, size_b = b->end - b->start;
    return size_a > size_b ? -1 : size_a < size_b;
}

static int add_segments(struct code_file *file, Elf *elf)
{
    size_t count;
    GElf_Phdr header;
    if (elf_getphdrnum(elf, &count))
        return -ENOEXEC;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD)
            add_load(file, elf, &header);
    add_sections(file, elf);
    for (size_t i = 0; i < count && !file->text_count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD && header.p_flags & PF_X)
            add_text(file, header.p_vaddr, header.p_filesz, false, 0);
    if (!file->text_count)
        return -ENOEXEC;
    qsort(file->texts, file->text_count, sizeof *file->texts, compare_sizes);
    return 0;
}

int file_load(struct code_file *file, const char *path, const char *debug_dir)
{
    GElf_Ehdr header;
    elf_version(EV_CURRENT);
    int error = module_open(&file->module, path, NULL, debug_dir);
    Elf *elf = file->module.binary.elf;
    if (error || !elf || !gelf_getehdr(elf, &header))
        return -ENOEXEC;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        return -ENOTSUP;
    if (header.e_ident[EI_DATA] != ELFDATA2LSB ||
        (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return -ENOEXEC;
    file->fixed = header.e_type == ET_EXEC;
    return add_segments(file, elf);
}

void body_free(struct code_body *body)
{
    free(body->points);
    free(body->loops);
    free(body->ranges);
    free(body->insns);
}

void file_free(struct code_file *file)
{
    for (size_t i = 0; i < file->part_count; i++) {
        free(file->parts[i].aliases);
        if (file->bodies)
            body_free(&file->bodies[i]);
    }
    for (size_t i = 0; i < file->text_count; i++)
        free(file->texts[i].map);
    for (size_t i = 0; i < file->made_count; i++)
        free(file->made[i]);
    free(file->made);
    free(file->parts);
    free(file->bodies);
    free(file->cold);
    free(file->never_returns);
    free(file->calls);
    free(file->jumps);
    free(file->frames);
    free(file->slots.names);
    free(file->stubs.names);
    free(file->texts);
    free(file->loads);
    module_close(&file->module);
}

const struct code_name *names_find(const struct code_names *names, uint64_t address)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (names->names[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < names->count && names->names[low].address == address ? &names->names[low] : NULL;
}

/* A call from code that was not understood: what it holds in registers is not known. */
static void sweep_one(struct code_file *file, const struct insn *i)
{
    if (i->kind == INSN_CALL || i->kind == INSN_JUMP || i->kind == INSN_BRANCH) {
        uint8_t *map = file_map(file, i->target);
        uint32_t part = parts_find(file, i->target);
        if (map)
            *map |= MAP_TARGET | MAP_FOREIGN;
        if (part != PART_NONE)
            *VEC_PUSH(file->calls, file->call_count, file->call_room) =
                (struct code_call){.caller = PART_NONE, .callee = part, .held = LIVE_SCRATCH};
    } else if (i->flags & INSN_ADDRESS) {
        uint8_t *map = file_map(file, i->target);
        if (map)
            *map |= MAP_POINTED;
    }
}

void file_sweep(struct code_file *file)
{
    for (size_t t = 0; t < file->text_count; t++) {
        const struct code_text *text = &file->texts[t];
        size_t size = text->end - text->start;
        for (size_t at = 0; at < size && !text->stubs;) {
            struct insn i;
            uint8_t first = text->bytes[at];
            if (text->map[at] & (MAP_START | MAP_INSIDE) || first == 0x90 || first == 0xcc) {
                at++;
                continue;
            }
            bool sound = insn_decode(text->bytes + at, size - at, text->start + at, &i);
            if (sound)
                sweep_one(file, &i);
            at += sound ? i.length : 1;
        }
    }
}
