/* SPDX-License-Identifier: MIT */
/* Every instruction of real programs, moved and decoded again: the same operation on the same
 * operands, the same targets. */
#include "inject/arch/x86_64/move.h"
#include "lib/tap.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 400000 };

static ZydisDecoder decoder;

static bool decode(const uint8_t *bytes, size_t room, ZydisDecodedInstruction *z,
                   ZydisDecodedOperand *operands)
{
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, room, z, operands));
}

static bool same_operand(const ZydisDecodedOperand *x, const ZydisDecodedOperand *y, uint64_t x_end,
                         uint64_t y_end)
{
    if (x->type != y->type)
        return false;
    switch (x->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: return x->reg.value == y->reg.value;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        if (x->mem.base != y->mem.base || x->mem.index != y->mem.index ||
            x->mem.scale != y->mem.scale || x->mem.segment != y->mem.segment)
            return false;
        return x->mem.base == ZYDIS_REGISTER_RIP
                   ? x_end + (uint64_t)x->mem.disp.value == y_end + (uint64_t)y->mem.disp.value
                   : x->mem.disp.value == y->mem.disp.value;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return x->imm.is_relative ? x_end + x->imm.value.u == y_end + y->imm.value.u
                                  : x->imm.value.u == y->imm.value.u;
    default: return true;
    }
}

/* Of jrcxz and its kin only the last jump has the target. */
static bool same_branch(const struct assembly *a, const struct instruction *i)
{
    int32_t offset;
    memcpy(&offset, a->bytes + a->used - 4, sizeof offset);
    return a->bytes[a->used - 5] == 0xe9 && a->at + a->used + (uint64_t)offset == i->target;
}

static bool check(const struct instruction *i, uint64_t at)
{
    uint8_t code[64];
    struct assembly a = {.bytes = code, .room = sizeof code, .at = at};
    ZydisDecodedInstruction x, y;
    ZydisDecodedOperand x_operands[ZYDIS_MAX_OPERAND_COUNT], y_operands[ZYDIS_MAX_OPERAND_COUNT];
    if (i->call && instruction_callee(&a, i))
        return false;
    if (!i->call && instruction_move(&a, i))
        return false;
    if (i->nothing)
        return a.used == 0;
    if (i->direct && !i->jump && !i->call && i->condition == NO_CONDITION)
        return same_branch(&a, i);
    if (!decode(i->bytes, i->length, &x, x_operands) || !decode(code, a.used, &y, y_operands) ||
        y.length != a.used)
        return false;
    bool callee = i->call && y.mnemonic == ZYDIS_MNEMONIC_JMP;
    if (x.mnemonic != y.mnemonic && !callee)
        return false;
    if (callee && x_operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
        x_operands[0].mem.base == ZYDIS_REGISTER_RSP) {
        return y_operands[0].mem.base == ZYDIS_REGISTER_RSP &&
               y_operands[0].mem.disp.value == x_operands[0].mem.disp.value + 8;
    }
    for (unsigned n = 0; n < x.operand_count_visible; n++) {
        if (!same_operand(&x_operands[n], &y_operands[n], i->address + x.length, at + y.length))
            return false;
    }
    return true;
}

static void sweep(const uint8_t *bytes, size_t room, const char *name)
{
    unsigned long good = 0, wrong = 0, relative = 0;
    for (size_t offset = 0; offset < room && good + wrong < MOST;) {
        struct instruction i;
        uint64_t address = 0x555555000000 + offset;
        if (!instruction_decode(bytes + offset, room - offset, address, &i)) {
            offset++;
            continue;
        }
        uint64_t away = (offset * 2654435761u) & 0x3fffffff;
        bool xbegin = i.length >= 6 && i.bytes[0] == 0xc7 && i.bytes[1] == 0xf8;
        if (!xbegin) {
            bool right = check(&i, offset & 1 ? address + away : address - away);
            if (!right && wrong++ < 5)
                printf("# %s at %zx: %02x %02x %02x\n", name, offset, i.bytes[0], i.bytes[1],
                       i.bytes[2]);
            good += right;
        }
        relative += i.displacement || i.direct;
        offset += i.length;
    }
    ok(wrong == 0 && good > 10000 && relative > 1000,
       "%s: %lu instructions the same when moved, %lu of them relative; %lu not", name, good,
       relative, wrong);
}

static void file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        ok(1, "%s # SKIP not there", path);
        return;
    }
    const uint8_t *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (image == MAP_FAILED)
        return;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(image + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
            sweep(image + segments[i].p_offset, segments[i].p_filesz, path);
    }
    munmap((void *)image, (size_t)status.st_size);
}

int main(void)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    file("/lib/x86_64-linux-gnu/libc.so.6");
    file("/usr/bin/python3");
    file("/bin/bash");
    return tap_done();
}
