/* SPDX-License-Identifier: MIT */
#include "inject/arch/x86_64/assembly.h"

#include <string.h>

uint64_t asm_here(const struct assembly *a)
{
    return a->at + a->used;
}

void asm_byte(struct assembly *a, uint8_t byte)
{
    if (a->used < a->room)
        a->bytes[a->used] = byte;
    a->used++;
}

void asm_bytes(struct assembly *a, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        asm_byte(a, ((const uint8_t *)bytes)[i]);
}

void asm_32(struct assembly *a, uint32_t value)
{
    asm_bytes(a, &value, sizeof value);
}

void asm_64(struct assembly *a, uint64_t value)
{
    asm_bytes(a, &value, sizeof value);
}

static bool is_byte(int64_t value)
{
    return value == (int8_t)value;
}

static void rex(struct assembly *a, bool wide, int reg, int base, bool always)
{
    uint8_t prefix = 0x40 | (wide ? 8 : 0) | (reg >= 8 ? 4 : 0) | (base >= 8 ? 1 : 0);
    if (prefix != 0x40 || always)
        asm_byte(a, prefix);
}

static void modrm_register(struct assembly *a, int reg, int rm)
{
    asm_byte(a, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static void modrm_memory(struct assembly *a, int reg, int base, int32_t offset)
{
    bool small = is_byte(offset);
    asm_byte(a, (small ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == RSP)
        asm_byte(a, 0x24);
    if (small)
        asm_byte(a, (uint8_t)offset);
    else
        asm_32(a, (uint32_t)offset);
}

/* [REX] opcode modrm, with a register or memory as the second operand. */
static void with_register(struct assembly *a, bool wide, uint8_t opcode, int reg, int rm)
{
    rex(a, wide, reg, rm, false);
    asm_byte(a, opcode);
    modrm_register(a, reg, rm);
}

static void with_memory(struct assembly *a, bool wide, uint8_t opcode, int reg, int base,
                        int32_t offset)
{
    rex(a, wide, reg, base, false);
    asm_byte(a, opcode);
    modrm_memory(a, reg, base, offset);
}

void asm_move(struct assembly *a, int to, int from)
{
    if (to != from)
        with_register(a, true, 0x8b, to, from);
}

void asm_constant(struct assembly *a, int to, uint64_t value)
{
    if (value <= UINT32_MAX) {
        rex(a, false, 0, to, false);
        asm_byte(a, 0xb8 | (to & 7));
        asm_32(a, (uint32_t)value);
    } else if ((int64_t)value == (int32_t)value) {
        with_register(a, true, 0xc7, 0, to);
        asm_32(a, (uint32_t)value);
    } else {
        rex(a, true, 0, to, false);
        asm_byte(a, 0xb8 | (to & 7));
        asm_64(a, value);
    }
}

void asm_load(struct assembly *a, int to, int base, int32_t offset)
{
    with_memory(a, true, 0x8b, to, base, offset);
}

void asm_store(struct assembly *a, int base, int32_t offset, int from)
{
    with_memory(a, true, 0x89, from, base, offset);
}

void asm_store_32(struct assembly *a, int base, int32_t offset, int from)
{
    with_memory(a, false, 0x89, from, base, offset);
}

void asm_store_constant(struct assembly *a, int base, int32_t offset, int32_t value)
{
    with_memory(a, true, 0xc7, 0, base, offset);
    asm_32(a, (uint32_t)value);
}

void asm_store_constant_32(struct assembly *a, int base, int32_t offset, int32_t value)
{
    with_memory(a, false, 0xc7, 0, base, offset);
    asm_32(a, (uint32_t)value);
}

void asm_lea(struct assembly *a, int to, int base, int32_t offset)
{
    with_memory(a, true, 0x8d, to, base, offset);
}

static void with_thread(struct assembly *a, uint8_t opcode, int reg, int32_t offset)
{
    asm_byte(a, 0x64);
    rex(a, true, reg, 0, false);
    asm_byte(a, opcode);
    asm_byte(a, 0x04 | (reg & 7) << 3);
    asm_byte(a, 0x25);
    asm_32(a, (uint32_t)offset);
}

void asm_thread_pointer(struct assembly *a, int to)
{
    with_thread(a, 0x8b, to, 0);
}

void asm_load_thread(struct assembly *a, int to, int32_t offset)
{
    with_thread(a, 0x8b, to, offset);
}

void asm_compare_thread(struct assembly *a, int32_t offset, int with)
{
    with_thread(a, 0x39, with, offset);
}

void asm_alu(struct assembly *a, int op, int to, int from)
{
    with_register(a, true, op, to, from);
}

static void immediate(struct assembly *a, int32_t value)
{
    if (is_byte(value))
        asm_byte(a, (uint8_t)value);
    else
        asm_32(a, (uint32_t)value);
}

void asm_alu_constant(struct assembly *a, int op, int to, int32_t value)
{
    with_register(a, true, is_byte(value) ? 0x83 : 0x81, op >> 3, to);
    immediate(a, value);
}

void asm_alu_load(struct assembly *a, int op, int to, int base, int32_t offset)
{
    with_memory(a, true, op, to, base, offset);
}

void asm_alu_store(struct assembly *a, int op, bool lock, int base, int32_t offset, int from)
{
    if (lock)
        asm_byte(a, 0xf0);
    with_memory(a, true, op - 2, from, base, offset);
}

void asm_alu_memory(struct assembly *a, int op, bool lock, bool wide, int base, int32_t offset,
                    int32_t value)
{
    if (lock)
        asm_byte(a, 0xf0);
    with_memory(a, wide, is_byte(value) ? 0x83 : 0x81, op >> 3, base, offset);
    immediate(a, value);
}

void asm_multiply(struct assembly *a, int to, int from)
{
    rex(a, true, to, from, false);
    asm_byte(a, 0x0f);
    asm_byte(a, 0xaf);
    modrm_register(a, to, from);
}

void asm_multiply_load(struct assembly *a, int to, int base, int32_t offset)
{
    rex(a, true, to, base, false);
    asm_byte(a, 0x0f);
    asm_byte(a, 0xaf);
    modrm_memory(a, to, base, offset);
}

void asm_multiply_constant(struct assembly *a, bool wide, int to, int from, int32_t value)
{
    with_register(a, wide, is_byte(value) ? 0x6b : 0x69, to, from);
    immediate(a, value);
}

void asm_shift_right(struct assembly *a, bool wide, int to, uint8_t bits)
{
    with_register(a, wide, 0xc1, 5, to);
    asm_byte(a, bits);
}

void asm_shift_left(struct assembly *a, int to, uint8_t bits)
{
    with_register(a, true, 0xc1, 4, to);
    asm_byte(a, bits);
}

void asm_negate(struct assembly *a, int to)
{
    with_register(a, true, 0xf7, 3, to);
}

void asm_test(struct assembly *a, int one, int other)
{
    with_register(a, true, 0x85, one, other);
}

void asm_divide(struct assembly *a, int by)
{
    asm_byte(a, 0x48); /* cqo */
    asm_byte(a, 0x99);
    with_register(a, true, 0xf7, 7, by);
}

void asm_multiply_wide(struct assembly *a, int by)
{
    with_register(a, true, 0xf7, 4, by);
}

void asm_truth(struct assembly *a, int cc, int to)
{
    rex(a, false, 0, to, true); /* sil and dil, not dh and bh */
    asm_byte(a, 0x0f);
    asm_byte(a, 0x90 | cc);
    modrm_register(a, 0, to);
    rex(a, false, to, to, true);
    asm_byte(a, 0x0f);
    asm_byte(a, 0xb6);
    modrm_register(a, to, to);
}

void asm_compare_exchange(struct assembly *a, bool wide, int base, int32_t offset, int from)
{
    asm_byte(a, 0xf0);
    rex(a, wide, from, base, false);
    asm_byte(a, 0x0f);
    asm_byte(a, 0xb1);
    modrm_memory(a, from, base, offset);
}

void asm_push(struct assembly *a, int from)
{
    rex(a, false, 0, from, false);
    asm_byte(a, 0x50 | (from & 7));
}

void asm_pop(struct assembly *a, int to)
{
    rex(a, false, 0, to, false);
    asm_byte(a, 0x58 | (to & 7));
}

void asm_time(struct assembly *a)
{
    asm_byte(a, 0x0f);
    asm_byte(a, 0x31);
    asm_shift_left(a, RDX, 32);
    asm_alu(a, ALU_OR, RAX, RDX);
}

void asm_system_call(struct assembly *a)
{
    asm_byte(a, 0x0f);
    asm_byte(a, 0x05);
}

/* pushf and popf take 3.6 ns; these are four of the cheapest instructions. The direction flag and
 * the system's are never touched, so only these six have to come back. */
void asm_save_flags(struct assembly *a)
{
    asm_bytes(a, "\x0f\x90\xc0" /* seto %al */ "\x9f" /* lahf */, 4);
}

void asm_restore_flags(struct assembly *a)
{
    asm_bytes(a, "\x04\x7f" /* add $127, %al: overflows if it is 1 */ "\x9e" /* sahf */, 3);
}

static bool reaches(const struct assembly *a, size_t length, uint64_t target, int32_t *offset)
{
    int64_t distance = (int64_t)(target - (asm_here(a) + length));
    *offset = (int32_t)distance;
    return distance == (int32_t)distance;
}

void asm_goto(struct assembly *a, uint64_t target)
{
    int32_t offset;
    if (reaches(a, 5, target, &offset)) {
        asm_byte(a, 0xe9);
        asm_32(a, (uint32_t)offset);
    } else {
        asm_bytes(a, "\xff\x25\0\0\0\0", 6); /* through the eight bytes behind it */
        asm_64(a, target);
    }
}

void asm_goto_if(struct assembly *a, int cc, uint64_t target)
{
    int32_t offset;
    if (reaches(a, 6, target, &offset)) {
        asm_byte(a, 0x0f);
        asm_byte(a, 0x80 | cc);
        asm_32(a, (uint32_t)offset);
    } else {
        struct label over = {0};
        asm_jump_if(a, cc ^ 1, &over);
        asm_goto(a, target);
        asm_land(a, &over);
    }
}

static void chain(struct assembly *a, struct label *to)
{
    uint32_t before = to->last;
    to->last = (uint32_t)a->used;
    asm_32(a, before);
}

void asm_jump(struct assembly *a, struct label *to)
{
    asm_byte(a, 0xe9);
    chain(a, to);
}

void asm_jump_if(struct assembly *a, int cc, struct label *to)
{
    asm_byte(a, 0x0f);
    asm_byte(a, 0x80 | cc);
    chain(a, to);
}

void asm_call(struct assembly *a, struct label *to)
{
    asm_byte(a, 0xe8);
    chain(a, to);
}

void asm_subtract_later(struct assembly *a, int from, struct label *what)
{
    rex(a, true, from, 0, false);
    asm_byte(a, ALU_SUB);
    asm_byte(a, 0x05 | (from & 7) << 3);
    chain(a, what);
}

void asm_call_known(struct assembly *a, uint64_t target)
{
    int32_t offset;
    if (!reaches(a, 5, target, &offset))
        a->too_far = true;
    asm_byte(a, 0xe8);
    asm_32(a, (uint32_t)offset);
}

void asm_call_through(struct assembly *a, uint64_t pointer)
{
    int32_t offset;
    if (!reaches(a, 6, pointer, &offset))
        a->too_far = true;
    asm_byte(a, 0xff);
    asm_byte(a, 0x15);
    asm_32(a, (uint32_t)offset);
}

/* nopl number(%rax) */
void asm_number(struct assembly *a, int32_t number)
{
    asm_bytes(a, "\x0f\x1f\x80", 3);
    asm_32(a, (uint32_t)number);
}

void asm_push_flags(struct assembly *a)
{
    asm_byte(a, 0x9c);
}

void asm_pop_flags(struct assembly *a)
{
    asm_byte(a, 0x9d);
}

/* Offset 0 ends a chain: no displacement stands there, an opcode precedes each. */
void asm_land(struct assembly *a, struct label *label)
{
    uint32_t use = label->last;
    while (use != 0 && use + 4 <= a->room && use + 4 <= a->used) {
        uint32_t before;
        uint32_t distance = (uint32_t)(a->used - (use + 4));
        memcpy(&before, a->bytes + use, sizeof before);
        memcpy(a->bytes + use, &distance, sizeof distance);
        use = before;
    }
    label->last = 0;
}
