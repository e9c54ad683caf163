/* SPDX-License-Identifier: MIT */
/* One instruction: what it reads and writes, and where it leads. */
#include "binary/code_inner.h"

#include <Zydis/Zydis.h>
#include <string.h>

#define ARITHMETIC                                                                                 \
    (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |                   \
     ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

static const ZydisDecoder *decoder(void)
{
    static ZydisDecoder d;
    static bool made;
    if (!made)
        ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    made = true;
    return &d;
}

static uint32_t find_bit(ZydisRegister reg, bool *whole)
{
    *whole = false;
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR64:
    case ZYDIS_REGCLASS_GPR32: *whole = true; break;
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR8: break;
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
    case ZYDIS_REGCLASS_TMM:
    case ZYDIS_REGCLASS_MASK: return CODE_VECTORS;
    default: return 0;
    }
    ZydisRegister large = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    ZyanI8 id = ZydisRegisterGetId(large);
    return id >= 0 && id < 16 ? 1u << id : 0;
}

/* The bit of a register; 0: none that counts (segments, instruction pointer, flags). Asked for
 * every operand, so it is found out once. */
static uint32_t bit_of(ZydisRegister reg, bool *whole)
{
    static struct {
        uint32_t bit;
        bool known, whole;
    } bits[ZYDIS_REGISTER_MAX_VALUE + 1];
    if ((unsigned)reg > ZYDIS_REGISTER_MAX_VALUE) {
        *whole = false;
        return 0;
    }
    if (!bits[reg].known) {
        bits[reg].bit = find_bit(reg, &bits[reg].whole);
        bits[reg].known = true;
    }
    *whole = bits[reg].whole;
    return bits[reg].bit;
}

static void add_register(struct insn *i, ZydisRegister reg, ZyanU8 actions)
{
    bool whole;
    uint32_t bit = bit_of(reg, &whole);
    if (actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        i->reads |= bit;
    if (actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        i->writes |= bit;
    if (whole && actions & ZYDIS_OPERAND_ACTION_WRITE)
        i->kills |= bit;
}

static void add_operand(struct insn *i, const ZydisDecodedOperand *o)
{
    bool whole;
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        add_register(i, o->reg.value, o->actions);
    } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        i->reads |= bit_of(o->mem.base, &whole) | bit_of(o->mem.index, &whole);
        if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP) {
            i->flags |= INSN_RELATIVE;
            i->target = i->address + i->length + (uint64_t)o->mem.disp.value;
        } else if (o->mem.base == ZYDIS_REGISTER_NONE && o->mem.index == ZYDIS_REGISTER_NONE &&
                   o->mem.disp.has_displacement &&
                   (o->mem.segment == ZYDIS_REGISTER_DS || o->mem.segment == ZYDIS_REGISTER_NONE)) {
            i->target = (uint64_t)o->mem.disp.value;
        }
    }
}

/* An instruction that shifts by a register or repeats a number of times may leave the flags. */
static void add_flags(struct insn *i, const ZydisDecodedInstruction *d,
                      const ZydisDecodedOperand *operands)
{
    const ZydisAccessedFlags *f = d->cpu_flags;
    if (!f)
        return;
    uint32_t set = f->modified | f->set_0 | f->set_1 | f->undefined;
    if (f->tested & ARITHMETIC)
        i->reads |= CODE_FLAGS;
    if (!(set & ARITHMETIC))
        return;
    i->writes |= CODE_FLAGS;
    bool perhaps =
        d->meta.category == ZYDIS_CATEGORY_ROTATE ||
        d->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
    if (d->meta.category == ZYDIS_CATEGORY_SHIFT && d->operand_count_visible > 1)
        perhaps |= operands[d->operand_count_visible - 1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if ((set & ARITHMETIC) == ARITHMETIC && !perhaps)
        i->kills |= CODE_FLAGS;
}

/* "xor eax, eax" reads nothing. */
static void clear_idiom(struct insn *i, const ZydisDecodedInstruction *d,
                        const ZydisDecodedOperand *o)
{
    bool whole;
    if ((d->mnemonic == ZYDIS_MNEMONIC_XOR || d->mnemonic == ZYDIS_MNEMONIC_SUB) &&
        o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        o[0].reg.value == o[1].reg.value) {
        uint32_t bit = bit_of(o[0].reg.value, &whole);
        if (whole) {
            i->reads &= ~bit;
            i->kills |= bit;
        }
    }
}

static void set_branch(struct insn *i, const ZydisDecodedInstruction *d,
                       const ZydisDecodedOperand *o, enum insn_kind direct, enum insn_kind indirect)
{
    if (d->operand_count_visible && o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        o[0].imm.is_relative) {
        i->kind = (uint8_t)direct;
        i->flags |= INSN_RELATIVE;
        i->target = i->address + i->length + (uint64_t)o[0].imm.value.s;
        return;
    }
    i->kind = (uint8_t)indirect;
    if (!d->operand_count_visible)
        return;
    if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && i->target)
        i->flags |= INSN_SLOT;
    if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && o[0].mem.base == ZYDIS_REGISTER_RAX &&
        o[0].mem.index == ZYDIS_REGISTER_NONE && !o[0].mem.disp.value)
        i->flags |= INSN_KEEPS;
}

static void set_kind(struct insn *i, const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o)
{
    switch (d->meta.category) {
    case ZYDIS_CATEGORY_UNCOND_BR: set_branch(i, d, o, INSN_JUMP, INSN_JUMP_INDIRECT); break;
    case ZYDIS_CATEGORY_COND_BR: set_branch(i, d, o, INSN_BRANCH, INSN_STOP); break;
    case ZYDIS_CATEGORY_CALL: set_branch(i, d, o, INSN_CALL, INSN_CALL_INDIRECT); break;
    case ZYDIS_CATEGORY_RET: i->kind = INSN_RETURN; break;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP: i->kind = INSN_NOP; break;
    default: break;
    }
    switch (d->mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3: i->kind = INSN_STOP; break;
    /* these reach no further than 127 bytes, or name an address that they come back to */
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_XBEGIN: i->flags |= INSN_FIXED; break;
    case ZYDIS_MNEMONIC_SYSCALL:
        i->reads |= 0x07c5u;
        i->writes |= 0x0803u;
        i->kills |= 0x0803u;
        break;
    case ZYDIS_MNEMONIC_LEA:
        if (i->flags & INSN_RELATIVE) {
            bool whole;
            uint32_t bit = bit_of(o[0].reg.value, &whole);
            i->flags |= INSN_ADDRESS;
            i->reg = bit ? (uint8_t)__builtin_ctz(bit) : 0;
        }
        break;
    default: break;
    }
    if (d->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
        i->kind = INSN_BRANCH;
}

bool insn_decode(const uint8_t *bytes, size_t room, uint64_t address, struct insn *i)
{
    ZydisDecoderContext context;
    ZydisDecodedInstruction d;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    memset(i, 0, sizeof *i);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder(), &context, bytes, room, &d)) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(decoder(), &context, &d, o, d.operand_count)))
        return false;
    i->address = address;
    i->length = d.length;
    for (ZyanU8 k = 0; k < d.operand_count; k++)
        add_operand(i, &o[k]);
    add_flags(i, &d, o);
    if (d.operand_count_visible == 2)
        clear_idiom(i, &d, o);
    set_kind(i, &d, o);
    return true;
}

bool code_decode(const uint8_t *bytes, size_t room, uint64_t address, struct code_instruction *out)
{
    struct insn i;
    if (!insn_decode(bytes, room, address, &i))
        return false;
    *out = (struct code_instruction){
        .length = i.length,
        .relative = i.flags & INSN_RELATIVE,
        .branch = i.kind == INSN_JUMP || i.kind == INSN_BRANCH || i.kind == INSN_JUMP_INDIRECT,
        .call = i.kind == INSN_CALL || i.kind == INSN_CALL_INDIRECT,
        .returns = i.kind == INSN_RETURN,
        .conditional = i.kind == INSN_BRANCH,
        .target = i.target,
        .reads = i.reads,
        .writes = i.writes,
    };
    return true;
}
