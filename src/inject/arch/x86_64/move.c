/* SPDX-License-Identifier: MIT */
#include "inject/arch/x86_64/move.h"

#include <Zydis/Zydis.h>
#include <string.h>

static void operand_target(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands,
                           struct instruction *i)
{
    for (unsigned n = 0; n < z->operand_count_visible; n++) {
        const ZydisDecodedOperand *o = &operands[n];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP) {
            i->displacement = z->raw.disp.offset;
            i->target = i->address + z->length + (uint64_t)o->mem.disp.value;
        } else if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
            i->direct = true;
            i->target = i->address + z->length + (uint64_t)o->imm.value.s;
        }
    }
}

bool instruction_decode(const uint8_t *bytes, size_t room, uint64_t address, struct instruction *i)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, room, &z, operands)))
        return false;
    *i = (struct instruction){.address = address, .length = z.length, .condition = NO_CONDITION};
    memcpy(i->bytes, bytes, z.length);
    i->modrm = z.raw.modrm.offset;
    operand_target(&z, operands, i);
    i->call = z.meta.category == ZYDIS_CATEGORY_CALL;
    i->jump = z.mnemonic == ZYDIS_MNEMONIC_JMP;
    i->leaves = i->jump || z.meta.category == ZYDIS_CATEGORY_RET ||
                z.mnemonic == ZYDIS_MNEMONIC_UD2 || z.mnemonic == ZYDIS_MNEMONIC_HLT;
    i->nothing = z.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
    i->lea = z.mnemonic == ZYDIS_MNEMONIC_LEA;
    if (i->direct && z.meta.category == ZYDIS_CATEGORY_COND_BR &&
        (z.opcode_map == ZYDIS_OPCODE_MAP_0F || (z.opcode & 0xf0) == 0x70))
        i->condition = z.opcode & 0xf;
    return true;
}

/* lea can load the address itself. Others would need a register for it; code is put within reach of
 * all data of its module, so that this does not happen. */
static const char *far_operand(struct assembly *a, const struct instruction *i)
{
    uint8_t prefix = i->modrm >= 2 ? i->bytes[i->modrm - 2] : 0;
    if (!i->lea || i->modrm != 2 || (prefix & 0xf8) != 0x48)
        return "its data are out of reach from where it would be moved to";
    asm_constant(a, (i->bytes[i->modrm] >> 3 & 7) | (prefix & 4 ? 8 : 0), i->target);
    return NULL;
}

static const char *with_operand(struct assembly *a, const struct instruction *i)
{
    int64_t distance = (int64_t)(i->target - (asm_here(a) + i->length));
    if (distance != (int32_t)distance)
        return far_operand(a, i);
    asm_bytes(a, i->bytes, i->displacement);
    asm_32(a, (uint32_t)distance);
    asm_bytes(a, i->bytes + i->displacement + 4, i->length - i->displacement - 4u);
    return NULL;
}

bool instruction_branch(struct assembly *a, const struct instruction *i, struct label *taken)
{
    if (!i->direct || i->call || i->jump)
        return false;
    if (i->condition != NO_CONDITION) {
        asm_jump_if(a, i->condition, taken);
        return true;
    }
    uint8_t opcode = i->bytes[i->length - 2];
    if (opcode < 0xe0 || opcode > 0xe3) /* loopne, loope, loop, jrcxz; not xbegin */
        return false;
    asm_bytes(a, i->bytes, i->length - 1u); /* reaches 127 bytes only: to a jump behind the next */
    asm_bytes(a, "\x02\xeb\x05", 3);
    asm_jump(a, taken);
    return true;
}

const char *instruction_move(struct assembly *a, const struct instruction *i)
{
    if (i->nothing)
        return NULL;
    if (i->displacement)
        return with_operand(a, i);
    if (!i->direct) {
        asm_bytes(a, i->bytes, i->length);
        return NULL;
    }
    if (i->jump) {
        asm_goto(a, i->target);
        return NULL;
    }
    if (i->condition != NO_CONDITION) {
        asm_goto_if(a, i->condition, i->target);
        return NULL;
    }
    struct label taken = {0}, over = {0};
    if (!instruction_branch(a, i, &taken))
        return "this branch cannot be moved";
    asm_jump(a, &over);
    asm_land(a, &taken);
    asm_goto(a, i->target);
    asm_land(a, &over);
    return NULL;
}

void move_push_return(struct assembly *a, uint64_t address)
{
    asm_byte(a, 0x68); /* sign-extended to 64 bits */
    asm_32(a, (uint32_t)address);
    if ((uint64_t)(int64_t)(int32_t)address != address)
        asm_store_constant_32(a, RSP, 4, (int32_t)(address >> 32));
}

/* `call *x(%rsp)` reads above what the call has pushed meanwhile. */
static void through_stack(struct assembly *a, const struct instruction *i)
{
    uint8_t modrm = i->bytes[i->modrm];
    int32_t offset = 0;
    if (modrm >> 6 == 1)
        offset = (i->bytes[i->modrm + 2] ^ 0x80) - 0x80; /* sign-extended */
    else if (modrm >> 6 == 2)
        memcpy(&offset, i->bytes + i->modrm + 2, sizeof offset);
    asm_bytes(a, i->bytes, i->modrm);
    asm_byte(a, 0x80 | 4 << 3 | 4);
    asm_byte(a, i->bytes[i->modrm + 1]);
    asm_32(a, (uint32_t)(offset + 8));
}

const char *instruction_callee(struct assembly *a, const struct instruction *i)
{
    if (i->direct) {
        asm_goto(a, i->target);
        return NULL;
    }
    struct instruction jump = *i;
    uint8_t modrm = i->bytes[i->modrm];
    if (i->modrm == 0 || i->bytes[i->modrm - 1] != 0xff || (modrm >> 3 & 7) != 2)
        return "this kind of call cannot be moved";
    jump.bytes[i->modrm] = (modrm & ~0x38) | 4 << 3;
    jump.jump = jump.leaves = true;
    jump.call = false;
    bool indexed = modrm >> 6 != 3 && (modrm & 7) == 4; /* has a SIB byte */
    uint8_t rex = i->modrm >= 2 ? i->bytes[i->modrm - 2] : 0;
    bool extended = (rex & 0xf0) == 0x40 && (rex & 1);
    if (indexed && !extended && (i->bytes[i->modrm + 1] & 7) == RSP) {
        through_stack(a, i);
        return NULL;
    }
    if (modrm >> 6 == 3 && (modrm & 7) == RSP && !extended)
        return "a call through the stack pointer";
    return instruction_move(a, &jump);
}
