/* SPDX-License-Identifier: MIT */
/*
 * Jump tables. The instructions before an indirect jump are evaluated with what is known of the
 * registers: addresses, and words loaded from a table by some index. A comparison before bounds
 * the index. Whatever comes out is believed only if all entries lead into the procedure.
 */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_MOST = 64, ENTRIES_MOST = 4096, JOINTS_MOST = 4 };

enum value_kind { V_UNKNOWN, V_ADDRESS, V_ENTRY4, V_ENTRY8, V_TARGET };
struct value {
    uint8_t kind;
    uint8_t base_reg; /* V_ENTRY4: register with the table's address if that is not known */
    bool base_known;
    uint64_t table, base; /* base: what entries are added to */
};

struct evaluation {
    struct value regs[16];
    uint64_t bound; /* number of entries; 0: not known */
    uint64_t compared;
    bool compares;
};

static bool decode(const struct flow *flow, uint64_t address, ZydisDecodedInstruction *d,
                   ZydisDecodedOperand *o)
{
    static ZydisDecoder decoder;
    static bool made;
    struct code_text *text = file_text(flow->file, address);
    if (!made)
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    made = true;
    return text && ZYAN_SUCCESS(ZydisDecoderDecodeFull(
                       &decoder, text->bytes + (address - text->start), text->end - address, d, o));
}

/* 0 to 15; 16: none. */
static unsigned number_of(ZydisRegister reg)
{
    ZydisRegister large = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (ZydisRegisterGetClass(large) != ZYDIS_REGCLASS_GPR64)
        return 16;
    return (unsigned)ZydisRegisterGetId(large) & 15;
}

/* A load from memory whose address holds a known one and an index. */
static struct value load(const struct evaluation *e, uint64_t next, const ZydisDecodedOperand *m,
                         unsigned bytes)
{
    struct value v = {0};
    unsigned base = number_of(m->mem.base), index = number_of(m->mem.index);
    uint64_t offset = (uint64_t)m->mem.disp.value;
    if (bytes != 4 && bytes != 8)
        return v;
    v.kind = bytes == 4 ? V_ENTRY4 : V_ENTRY8;
    v.base_known = true;
    if (m->mem.base == ZYDIS_REGISTER_RIP)
        v.table = next + offset;
    else if (base < 16 && e->regs[base].kind == V_ADDRESS)
        v.table = e->regs[base].table + offset;
    else if (index < 16 && m->mem.scale == 1 && e->regs[index].kind == V_ADDRESS)
        v.table = e->regs[index].table + offset;
    else if (base == 16 && index < 16 && m->mem.scale == bytes)
        v.table = offset;
    else if (base < 16 && index < 16 && m->mem.scale == bytes && !offset)
        v.base_known = false, v.base_reg = (uint8_t)base;
    else
        v.kind = V_UNKNOWN;
    return v;
}

static struct value sum(const struct value *a, const struct value *b, unsigned reg_b)
{
    struct value v = {0};
    if (a->kind == V_ENTRY4 && b->kind == V_ADDRESS) {
        v = *a;
        v.kind = V_TARGET;
        v.base = b->table;
        if (!v.base_known) /* the index's own base was lost: it is the same as a rule */
            v.table = b->table, v.base_known = true;
    } else if (a->kind == V_ENTRY4 && !a->base_known && a->base_reg == reg_b) {
        v = *a;
        v.kind = V_TARGET;
    }
    return v;
}

static void evaluate_plain(struct evaluation *e, uint64_t next, const ZydisDecodedInstruction *d,
                           const ZydisDecodedOperand *o)
{
    struct value v = {0};
    unsigned to = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(o[0].reg.value) : 16;
    unsigned from = d->operand_count > 1 && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER
                        ? number_of(o[1].reg.value)
                        : 16;
    switch (d->mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
        if (o[1].mem.base == ZYDIS_REGISTER_RIP)
            v = (struct value){.kind = V_ADDRESS, .table = next + (uint64_t)o[1].mem.disp.value};
        break;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVSXD:
        if (from < 16)
            v = e->regs[from];
        else if (o[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
            v = load(e, next, &o[1], o[1].size / 8);
        else if (o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
            v = (struct value){.kind = V_ADDRESS, .table = o[1].imm.value.u};
        break;
    case ZYDIS_MNEMONIC_ADD:
        if (to < 16 && from < 16) {
            v = sum(&e->regs[to], &e->regs[from], from);
            if (v.kind == V_UNKNOWN)
                v = sum(&e->regs[from], &e->regs[to], to);
        } else if (to < 16 && o[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                   e->regs[to].kind == V_ADDRESS) {
            struct value entry = load(e, next, &o[1], o[1].size / 8);
            entry.kind = entry.kind == V_ENTRY8 ? V_UNKNOWN : entry.kind;
            v = sum(&entry, &e->regs[to], to);
        }
        break;
    case ZYDIS_MNEMONIC_CDQE: return; /* of a word that is sign-extended anyhow */
    default: break;
    }
    for (ZyanU8 k = 0; k < d->operand_count; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && number_of(o[k].reg.value) < 16)
            e->regs[number_of(o[k].reg.value)] = (struct value){0};
    if (to < 16 && o[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        e->regs[to] = v;
}

static void evaluate(struct evaluation *e, uint64_t next, bool taken,
                     const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o)
{
    switch (d->mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_SUB:
        e->compares = o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
        e->compared = o[1].imm.value.u;
        if (d->mnemonic == ZYDIS_MNEMONIC_CMP)
            return;
        break;
    case ZYDIS_MNEMONIC_AND:
        if (o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[1].imm.value.u < ENTRIES_MOST)
            e->bound = o[1].imm.value.u + 1;
        break;
    case ZYDIS_MNEMONIC_JNBE:
    case ZYDIS_MNEMONIC_JBE:
        if (e->compares && taken == (d->mnemonic == ZYDIS_MNEMONIC_JBE))
            e->bound = e->compared + 1;
        return;
    case ZYDIS_MNEMONIC_JNB:
    case ZYDIS_MNEMONIC_JB:
        if (e->compares && taken == (d->mnemonic == ZYDIS_MNEMONIC_JB))
            e->bound = e->compared;
        return;
    case ZYDIS_MNEMONIC_CALL:
        for (unsigned r = 0; r < 16; r++)
            if (LIVE_SCRATCH >> r & 1)
                e->regs[r] = (struct value){0};
        return;
    default: break;
    }
    evaluate_plain(e, next, d, o);
}

/* The instruction that stands before, or the one jump that leads here. */
static uint64_t step_back(const struct flow *flow, uint64_t address, int *joints)
{
    const struct insn *found = NULL;
    struct code_text *text = file_text(flow->file, address);
    for (uint64_t k = 1; k < 16 && k <= address - text->start; k++)
        if (text->map[address - k - text->start] & MAP_START) {
            struct insn i;
            if (insn_decode(text->bytes + (address - k - text->start), k, address - k, &i) &&
                i.length == k && flow_own(flow, address - k) && i.kind != INSN_JUMP &&
                i.kind != INSN_RETURN && i.kind != INSN_STOP && i.kind != INSN_JUMP_INDIRECT)
                return address - k;
            break;
        }
    for (size_t i = 0; i < flow->insn_count && *joints; i++)
        if ((flow->insns[i].kind == INSN_JUMP || flow->insns[i].kind == INSN_BRANCH) &&
            flow->insns[i].target == address) {
            if (found)
                return 0;
            found = &flow->insns[i];
        }
    --*joints;
    return found ? found->address : 0;
}

static void evaluate_before(const struct flow *flow, uint64_t jump, struct evaluation *e)
{
    uint64_t chain[CHAIN_MOST];
    int joints = JOINTS_MOST;
    size_t count = 0;
    for (uint64_t at = jump; count < CHAIN_MOST && (at = step_back(flow, at, &joints));)
        chain[count++] = at;
    while (count--) {
        ZydisDecodedInstruction d;
        ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
        if (!decode(flow, chain[count], &d, o))
            continue;
        uint64_t next = chain[count] + d.length;
        evaluate(e, next, (count ? chain[count - 1] : jump) != next, &d, o);
    }
}

/* Does another table, or anything else that code refers to, begin here? */
static bool referred(const struct flow *flow, uint64_t address)
{
    for (size_t i = 0; i < flow->insn_count; i++)
        if (flow->insns[i].flags & INSN_RELATIVE && flow->insns[i].target == address)
            return true;
    return false;
}

static uint64_t entry(const struct flow *flow, const struct value *v, uint64_t k, bool *there)
{
    unsigned size = v->kind == V_ENTRY8 ? 8 : 4;
    const uint8_t *bytes = file_bytes(flow->file, v->table + k * size, size);
    uint64_t target = 0;
    *there = bytes != NULL;
    if (!bytes)
        return 0;
    if (size == 8) {
        memcpy(&target, bytes, 8);
        const struct code_name *slot = names_find(&flow->file->slots, v->table + k * size);
        return slot && slot->value ? slot->value : target;
    }
    int32_t offset;
    memcpy(&offset, bytes, 4);
    return v->base + (uint64_t)(int64_t)offset;
}

/* Own code, or the beginning of a cold part of some procedure. */
static bool plausible(const struct flow *flow, uint64_t target)
{
    if (flow_own(flow, target)) {
        const uint8_t *map = file_map(flow->file, target);
        return map && !(*map & MAP_INSIDE);
    }
    uint32_t part = parts_find(flow->file, target);
    return part != PART_NONE && flow->file->parts[part].cold &&
           flow->file->parts[part].owner == PART_NONE;
}

/* How many entries are good; with a bound, all of them or 0. */
static uint64_t measure(struct flow *flow, const struct value *v, uint64_t bound)
{
    unsigned size = v->kind == V_ENTRY8 ? 8 : 4;
    uint64_t k = 0;
    if (!bound && flow->measured_table == v->table) /* interpreters have many jumps by one */
        return flow->measured;
    for (; k < (bound ? bound : ENTRIES_MOST); k++) {
        bool there;
        uint64_t target = entry(flow, v, k, &there);
        if (!there || !plausible(flow, target))
            break;
        if (!bound && k && referred(flow, v->table + k * size))
            break;
    }
    if (!bound) {
        flow->measured_table = v->table;
        flow->measured = k;
    }
    return bound && k < bound ? 0 : k;
}

static void take(struct flow *flow, uint64_t jump, const struct value *v, uint64_t count,
                 bool bounded)
{
    struct flow_table *table = VEC_PUSH(flow->tables, flow->table_count, flow->table_room);
    table->jump = jump;
    for (uint64_t k = 0; k < count + 64; k++) {
        bool there;
        uint64_t target = entry(flow, v, k, &there);
        if (k >= count && (!bounded || !there || !flow_own(flow, target)))
            break;
        uint8_t *map = file_map(flow->file, target);
        if (!map)
            continue;
        *map |= MAP_POINTED; /* beyond the bound too: it costs little to keep clear of those */
        if (k >= count)
            continue;
        uint32_t part = parts_find(flow->file, target);
        struct code_part *p = &flow->file->parts[part];
        if (!flow_own(flow, target) && p->cold && p->owner == PART_NONE) {
            p->owner = flow->part;
            *VEC_PUSH(flow->parts, flow->part_count, flow->part_room) = part;
        }
        if (target == flow->file->parts[flow->part].start)
            flow->loops_back = true;
        *VEC_PUSH(table->targets, table->count, table->room) = target;
        *map |= MAP_LEADER;
        if (!(*map & MAP_START))
            *VEC_PUSH(flow->todo, flow->todo_count, flow->todo_room) = target;
    }
}

/* The table's address was put into a register far away, or kept on the stack: any that the
 * procedure mentions, if one and only one of them fits. */
static bool guess(struct flow *flow, struct value *v, uint64_t bound, bool any_register)
{
    uint64_t found = 0;
    for (size_t i = 0; i < flow->insn_count; i++) {
        const struct insn *insn = &flow->insns[i];
        if (!(insn->flags & INSN_ADDRESS) || (!any_register && insn->reg != v->base_reg) ||
            insn->target == found || file_map(flow->file, insn->target))
            continue;
        struct value candidate = *v;
        candidate.table = candidate.base = insn->target;
        if (measure(flow, &candidate, bound) < 2)
            continue;
        if (found)
            return false;
        found = insn->target;
    }
    v->table = v->base = found;
    v->base_known = true;
    return found != 0;
}

bool switch_follow(struct flow *flow, uint64_t jump, bool last_try)
{
    struct evaluation e = {0};
    struct value v = {0};
    ZydisDecodedInstruction d;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    if (!decode(flow, jump, &d, o))
        return false;
    evaluate_before(flow, jump, &e);
    if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
        v = load(&e, jump + d.length, &o[0], 8);
    else if (number_of(o[0].reg.value) < 16)
        v = e.regs[number_of(o[0].reg.value)];
    if (v.kind != V_TARGET && v.kind != V_ENTRY8)
        return false;
    uint64_t bound = e.bound <= ENTRIES_MOST ? e.bound : 0;
    if (!v.base_known) {
        if (!last_try || (!guess(flow, &v, bound, false) && !guess(flow, &v, bound, true)))
            return false;
        flow->doubtful = true;
    }
    uint64_t count = measure(flow, &v, bound);
    if (!count && bound && last_try) { /* it was another comparison */
        bound = 0;
        count = measure(flow, &v, 0);
    }
    if (!count || (!bound && !last_try))
        return false;
    if (!bound) {
        flow->doubtful = true;
        if (count < 2)
            return false;
    }
    take(flow, jump, &v, count, bound != 0);
    return true;
}
