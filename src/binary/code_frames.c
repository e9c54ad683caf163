/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame and .gcc_except_table: where procedures begin and end even without symbols, how deep
 * the stack is at an address, and the landing pads that only the unwinder jumps to.
 */
#include "base/alloc.h"
#include "binary/code_inner.h"
#include "binary/sections.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    uint64_t address; /* of `at` */
    bool bad;
};

static void skip(struct cursor *c, uint64_t bytes)
{
    if ((uint64_t)(c->end - c->at) < bytes) {
        c->bad = true;
        c->at = c->end;
        return;
    }
    c->at += bytes;
    c->address += bytes;
}

/* At most eight. */
static uint64_t take(struct cursor *c, size_t bytes)
{
    uint64_t value = 0;
    const uint8_t *at = c->at;
    skip(c, bytes);
    if (!c->bad)
        memcpy(&value, at, bytes);
    return value;
}

static uint64_t take_uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = take(c, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80) || c->bad)
            return value;
    }
}

static int64_t take_sleb(struct cursor *c)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(c, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !c->bad);
    if (byte & 0x40 && shift < 64)
        value |= ~0ull << shift;
    return (int64_t)value;
}

static uint64_t take_pointer(struct cursor *c, uint8_t encoding)
{
    uint64_t base = (encoding & 0x70) == DW_EH_PE_pcrel ? c->address : 0, value;
    if (encoding == DW_EH_PE_omit)
        return 0;
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: value = take(c, 8); break;
    case DW_EH_PE_udata4: value = take(c, 4); break;
    case DW_EH_PE_sdata4: value = (uint64_t)(int64_t)(int32_t)take(c, 4); break;
    case DW_EH_PE_udata2: value = take(c, 2); break;
    case DW_EH_PE_sdata2: value = (uint64_t)(int64_t)(int16_t)take(c, 2); break;
    case DW_EH_PE_uleb128: value = take_uleb(c); break;
    case DW_EH_PE_sleb128: value = (uint64_t)take_sleb(c); break;
    default: c->bad = true; return 0;
    }
    return value ? value + base : 0;
}

struct cie {
    uint8_t pointer, lsda, code_align;
    int8_t data_align;
    bool augmented, signal;
    const uint8_t *initial, *initial_end;
};

static bool read_cie(struct cursor c, struct cie *cie)
{
    *cie = (struct cie){.pointer = DW_EH_PE_absptr, .lsda = DW_EH_PE_omit};
    uint8_t version = (uint8_t)take(&c, 1);
    const char *letters = (const char *)c.at;
    while (!c.bad && take(&c, 1))
        ;
    if (c.bad || (version != 1 && version != 3))
        return false;
    cie->code_align = (uint8_t)take_uleb(&c);
    cie->data_align = (int8_t)take_sleb(&c);
    if (version == 1)
        take(&c, 1);
    else
        take_uleb(&c);
    cie->augmented = *letters == 'z';
    uint64_t size = cie->augmented ? take_uleb(&c) : 0;
    const uint8_t *begin = c.at;
    for (; *letters && !c.bad; letters++)
        switch (*letters) {
        case 'R': cie->pointer = (uint8_t)take(&c, 1); break;
        case 'L': cie->lsda = (uint8_t)take(&c, 1); break;
        case 'P': take_pointer(&c, (uint8_t)take(&c, 1)); break;
        case 'S': cie->signal = true; break;
        default: break;
        }
    if (c.bad || size > (uint64_t)(c.end - begin))
        return false;
    cie->initial = cie->augmented ? begin + size : c.at;
    cie->initial_end = c.end;
    return true;
}

/* The frame address as register and offset while the program is executed. */
struct cfa {
    uint64_t reg;
    int64_t offset;
    bool known;
};
enum { REMEMBERED_MOST = 16, RSP = 7 };

/* Operands of instructions that say nothing of the frame address. */
static void skip_operands(struct cursor *c, uint8_t op)
{
    switch (op) {
    case DW_CFA_offset_extended:
    case DW_CFA_register:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_val_offset:
        take_uleb(c);
        take_uleb(c);
        break;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_GNU_args_size: take_uleb(c); break;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        take_uleb(c);
        skip(c, take_uleb(c));
        break;
    case DW_CFA_nop: break;
    default: c->bad = true;
    }
}

/* Until the instruction that moves on past `address`. */
static bool run(struct cursor c, const struct code_frame *f, uint64_t address, struct cfa *cfa)
{
    struct cfa kept[REMEMBERED_MOST];
    size_t depth = 0;
    uint64_t at = f->start;
    while (c.at < c.end && !c.bad) {
        uint8_t op = (uint8_t)take(&c, 1);
        uint64_t advance = 0;
        switch (op & 0xc0) {
        case DW_CFA_advance_loc: advance = op & 0x3f; break;
        case DW_CFA_offset: take_uleb(&c); continue;
        case DW_CFA_restore: continue;
        default: break;
        }
        switch (op) {
        case DW_CFA_advance_loc1: advance = take(&c, 1); break;
        case DW_CFA_advance_loc2: advance = take(&c, 2); break;
        case DW_CFA_advance_loc4: advance = take(&c, 4); break;
        case DW_CFA_def_cfa:
            cfa->reg = take_uleb(&c);
            cfa->offset = (int64_t)take_uleb(&c);
            break;
        case DW_CFA_def_cfa_register: cfa->reg = take_uleb(&c); break;
        case DW_CFA_def_cfa_offset: cfa->offset = (int64_t)take_uleb(&c); break;
        case DW_CFA_def_cfa_expression:
            skip(&c, take_uleb(&c));
            cfa->known = false;
            break;
        case DW_CFA_remember_state:
            if (depth == REMEMBERED_MOST)
                return false;
            kept[depth++] = *cfa;
            break;
        case DW_CFA_restore_state:
            if (!depth)
                return false;
            *cfa = kept[--depth];
            break;
        default:
            if ((op & 0xc0) != DW_CFA_advance_loc)
                skip_operands(&c, op);
        }
        if (op == DW_CFA_def_cfa)
            cfa->known = true;
        at += advance * f->code_align;
        if (at > address)
            return true;
    }
    return !c.bad;
}

int frame_is_empty(const struct code_frame *f, uint64_t address)
{
    struct cfa cfa = {.known = true};
    if (!f || !run((struct cursor){.at = f->initial, .end = f->initial_end}, f, UINT64_MAX, &cfa) ||
        !run((struct cursor){.at = f->program, .end = f->program_end}, f, address, &cfa) ||
        !cfa.known)
        return -1;
    return cfa.reg == RSP && cfa.offset == 8;
}

static void read_fde(struct code_file *file, struct cursor c, const struct cie *cie)
{
    struct code_frame f = {.code_align = cie->code_align,
                           .data_align = cie->data_align,
                           .signal = cie->signal,
                           .initial = cie->initial,
                           .initial_end = cie->initial_end};
    f.start = take_pointer(&c, cie->pointer);
    f.end = f.start + take_pointer(&c, cie->pointer & 0x0f);
    if (cie->augmented) {
        uint64_t size = take_uleb(&c);
        const uint8_t *begin = c.at;
        if (size > (uint64_t)(c.end - begin))
            return;
        f.lsda = take_pointer(&c, cie->lsda);
        c.at = begin + size;
    }
    f.program = c.at;
    f.program_end = c.end;
    if (c.bad || f.end <= f.start || !file_text(file, f.start) || !file_map(file, f.end - 1))
        return;
    f.continues = frame_is_empty(&f, f.start) == 0;
    *VEC_PUSH(file->frames, file->frame_count, file->frame_room) = f;
}

static void read_section(struct code_file *file, const uint8_t *bytes, size_t size,
                         uint64_t address)
{
    struct cie cie = {0};
    const uint8_t *cie_at = NULL;
    for (size_t at = 0; size - at >= 8;) {
        struct cursor c = {.at = bytes + at, .end = bytes + size, .address = address + at};
        uint64_t length = take(&c, 4);
        if (length == 0xffffffff)
            length = take(&c, 8);
        if (!length || length > (uint64_t)(c.end - c.at) || length < 4)
            return;
        c.end = c.at + length;
        at = (size_t)(c.end - bytes);
        const uint8_t *here = c.at;
        uint64_t id = take(&c, 4);
        if (!id || id > (uint64_t)(here - bytes))
            continue;
        if (cie_at != here - id) {
            struct cursor d = {.at = here - id, .end = bytes + size};
            uint64_t bytes_there = take(&d, 4);
            if (bytes_there < 8 || bytes_there > (uint64_t)(d.end - d.at) || take(&d, 4))
                continue;
            d.end = d.at - 4 + bytes_there;
            cie_at = read_cie(d, &cie) ? here - id : NULL;
        }
        if (cie_at)
            read_fde(file, c, &cie);
    }
}

static int compare(const void *pa, const void *pb)
{
    const struct code_frame *a = pa, *b = pb;
    return a->start < b->start ? -1 : a->start > b->start;
}

void frames_load(struct code_file *file)
{
    GElf_Shdr header;
    const uint8_t *bytes = section_named(file->module.binary.elf, ".eh_frame", &header)
                               ? file_bytes(file, header.sh_addr, header.sh_size)
                               : NULL;
    if (bytes)
        read_section(file, bytes, header.sh_size, header.sh_addr);
    if (file->frame_count)
        qsort(file->frames, file->frame_count, sizeof *file->frames, compare);
}

const struct code_frame *frames_find(const struct code_file *file, uint64_t address)
{
    size_t low = 0, high = file->frame_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (file->frames[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < file->frames[low - 1].end ? &file->frames[low - 1] : NULL;
}

bool frame_pads(const struct code_file *file, const struct code_frame *f,
                void (*take_pad)(void *data, const struct flow_pad *pad), void *data)
{
    if (!f || !f->lsda)
        return true;
    struct cursor c = {.address = f->lsda};
    for (size_t i = 0; i < file->load_count; i++)
        if (f->lsda >= file->loads[i].start && f->lsda < file->loads[i].end) {
            c.at = file->loads[i].bytes + (f->lsda - file->loads[i].start);
            c.end = file->loads[i].bytes + (file->loads[i].end - file->loads[i].start);
        }
    if (!c.at)
        return false;
    uint8_t encoding = (uint8_t)take(&c, 1);
    uint64_t base = encoding == DW_EH_PE_omit ? f->start : take_pointer(&c, encoding);
    if ((uint8_t)take(&c, 1) != DW_EH_PE_omit)
        take_uleb(&c);
    encoding = (uint8_t)take(&c, 1);
    uint64_t size = take_uleb(&c);
    if (c.bad || size > (uint64_t)(c.end - c.at))
        return false;
    c.end = c.at + size;
    while (c.at < c.end && !c.bad) {
        uint64_t start = f->start + take_pointer(&c, encoding);
        uint64_t length = take_pointer(&c, encoding);
        uint64_t landing = take_pointer(&c, encoding);
        take_uleb(&c);
        struct flow_pad pad = {.start = start, .end = start + length, .address = base + landing};
        if (landing && !c.bad)
            take_pad(data, &pad);
    }
    return !c.bad;
}
