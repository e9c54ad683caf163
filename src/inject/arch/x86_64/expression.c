/* SPDX-License-Identifier: MIT */
/* Predicates and values: 64 bits, signed, wrapping. */
#include "inject/arch/x86_64/generate.h"

static const uint8_t argument_registers[] = {RDI, RSI, RDX, RCX, R8, R9};

static bool is_comparison(enum spec_operator op)
{
    return op >= SPEC_LESS && op <= SPEC_NOT_EQUAL;
}

static bool is_commutative(enum spec_operator op)
{
    return op == SPEC_ADD || op == SPEC_MULTIPLY || op == SPEC_EQUAL || op == SPEC_NOT_EQUAL;
}

static bool is_unary(enum spec_operator op)
{
    return op == SPEC_NOT || op == SPEC_NEGATE;
}

static bool is_division(enum spec_operator op)
{
    return op == SPEC_DIVIDE || op == SPEC_MODULO;
}

/* Can be an operand of an instruction as it is. */
static bool is_simple(const struct spec_expression *e)
{
    return e->term == SPEC_CONSTANT ? e->value == (int32_t)e->value : e->term != SPEC_OPERATION;
}

static unsigned depth(const struct spec_expression *e)
{
    if (e->term != SPEC_OPERATION)
        return 0;
    unsigned a = depth(e->a);
    if (is_unary(e->op))
        return a;
    unsigned b = depth(e->b);
    if (e->op == SPEC_AND || e->op == SPEC_OR)
        return a > b ? a : b;
    if (is_simple(e->b) && !is_division(e->op))
        return a;
    if (is_commutative(e->op) && b > a) {
        unsigned swap = a;
        a = b;
        b = swap;
    }
    return a > b + 1 ? a : b + 1;
}

static void reads(const struct spec_expression *e, enum code_kind kind,
                  struct expression_needs *needs)
{
    if (e->term == SPEC_ARGUMENT && e->value <= 6)
        needs->reads |= 1u << argument_registers[e->value - 1];
    else if (e->term == SPEC_RETURNED)
        needs->reads |= 1u << RAX;
    else if (e->term == SPEC_OPERATION) {
        needs->divides |= is_division(e->op);
        reads(e->a, kind, needs);
        if (!is_unary(e->op))
            reads(e->b, kind, needs);
    }
}

void expression_needs(const struct spec_expression *e, enum code_kind kind,
                      struct expression_needs *needs)
{
    unsigned registers = depth(e);
    if (registers > needs->registers)
        needs->registers = registers;
    reads(e, kind, needs);
}

const char *expression_refused(const struct spec_expression *e, enum code_kind kind)
{
    if (e->term == SPEC_ARGUMENT && (e->value < 1 || e->value > 64))
        return "arguments are arg1 to arg64";
    if (e->term == SPEC_ARGUMENT && kind != CODE_ENTRY && kind != CODE_CALL)
        return "arguments are known at entries and calls only";
    if (e->term == SPEC_RETURNED && kind != CODE_EXIT)
        return "the returned value is known at exits only";
    if (e->term != SPEC_OPERATION)
        return NULL;
    const char *why = expression_refused(e->a, kind);
    return why || is_unary(e->op) ? why : expression_refused(e->b, kind);
}

/* Where an operand is: a constant, a register, or memory. */
struct operand {
    enum { IN_CONSTANT, IN_REGISTER, IN_MEMORY } in;
    int32_t constant, offset;
    int reg;
};

static struct operand of_register(struct generate *g, int reg)
{
    if (g->piece.home[reg] >= 0)
        return (struct operand){.in = IN_REGISTER, .reg = g->piece.home[reg]};
    return (struct operand){
        .in = IN_MEMORY, .reg = RSP, .offset = g->piece.sp - g->piece.slot[reg]};
}

static struct operand simple(struct generate *g, const struct spec_expression *e)
{
    switch (e->term) {
    case SPEC_CONSTANT: return (struct operand){.in = IN_CONSTANT, .constant = (int32_t)e->value};
    case SPEC_COUNTER:
        return (struct operand){
            .in = IN_MEMORY, .reg = g->piece.block, .offset = generate_variable(g, e->variable)};
    case SPEC_RETURNED: return of_register(g, RAX);
    default: break;
    }
    if (e->value <= 6)
        return of_register(g, argument_registers[e->value - 1]);
    /* The return address is below them, once it has been pushed. */
    int above = g->piece.kind == CODE_ENTRY || g->piece.called ? 8 : 0;
    return (struct operand){
        .in = IN_MEMORY, .reg = RSP, .offset = g->piece.sp + above + 8 * (int32_t)(e->value - 7)};
}

static void load(struct generate *g, int to, struct operand from)
{
    if (from.in == IN_CONSTANT)
        asm_constant(&g->a, to, (uint64_t)(int64_t)from.constant);
    else if (from.in == IN_REGISTER)
        asm_move(&g->a, to, from.reg);
    else
        asm_load(&g->a, to, from.reg, from.offset);
}

static void alu(struct generate *g, int op, int to, struct operand from)
{
    if (from.in == IN_CONSTANT)
        asm_alu_constant(&g->a, op, to, from.constant);
    else if (from.in == IN_REGISTER)
        asm_alu(&g->a, op, to, from.reg);
    else
        asm_alu_load(&g->a, op, to, from.reg, from.offset);
}

static void multiply(struct generate *g, int to, struct operand from)
{
    if (from.in == IN_CONSTANT)
        asm_multiply_constant(&g->a, true, to, to, from.constant);
    else if (from.in == IN_REGISTER)
        asm_multiply(&g->a, to, from.reg);
    else
        asm_multiply_load(&g->a, to, from.reg, from.offset);
}

/* By 0 it gives 0; by -1 the processor would trap on the least number, so it is not asked. */
static void divide(struct generate *g, bool modulo, int to, int by)
{
    struct assembly *a = &g->a;
    struct label zero = {0}, negative = {0}, done = {0};
    asm_test(a, by, by);
    asm_jump_if(a, CC_E, &zero);
    asm_alu_constant(a, ALU_CMP, by, -1);
    asm_jump_if(a, CC_E, modulo ? &zero : &negative);
    asm_move(a, RAX, to);
    asm_divide(a, by);
    asm_move(a, to, modulo ? RDX : RAX);
    asm_jump(a, &done);
    asm_land(a, &negative);
    if (!modulo) {
        asm_negate(a, to);
        asm_jump(a, &done);
    }
    asm_land(a, &zero);
    asm_constant(a, to, 0);
    asm_land(a, &done);
}

static int condition(enum spec_operator op)
{
    switch (op) {
    case SPEC_LESS: return CC_L;
    case SPEC_LESS_EQUAL: return CC_LE;
    case SPEC_GREATER: return CC_G;
    case SPEC_GREATER_EQUAL: return CC_GE;
    case SPEC_EQUAL: return CC_E;
    default: return CC_NE;
    }
}

static void combine(struct generate *g, enum spec_operator op, int to, struct operand from)
{
    if (op == SPEC_ADD)
        alu(g, ALU_ADD, to, from);
    else if (op == SPEC_SUBTRACT)
        alu(g, ALU_SUB, to, from);
    else if (op == SPEC_MULTIPLY)
        multiply(g, to, from);
    else if (is_division(op))
        divide(g, op == SPEC_MODULO, to, from.reg);
    else
        alu(g, ALU_CMP, to, from);
}

/* Both operands, and what is done with them; a comparison leaves the flags. */
static void binary(struct generate *g, const struct spec_expression *e, int to)
{
    const struct spec_expression *a = e->a, *b = e->b;
    if (is_commutative(e->op) && depth(b) > depth(a)) {
        a = e->b;
        b = e->a;
    }
    generate_value(g, a, to);
    if (is_simple(b) && !is_division(e->op)) {
        combine(g, e->op, to, simple(g, b));
        return;
    }
    int other = generate_take(g);
    if (other < 0)
        return;
    generate_value(g, b, other);
    combine(g, e->op, to, (struct operand){.in = IN_REGISTER, .reg = other});
    generate_give(g, other);
}

static void truth(struct generate *g, const struct spec_expression *e, int to)
{
    struct label no = {0}, done = {0};
    generate_branch(g, e, false, &no, to);
    asm_constant(&g->a, to, 1);
    asm_jump(&g->a, &done);
    asm_land(&g->a, &no);
    asm_constant(&g->a, to, 0);
    asm_land(&g->a, &done);
}

void generate_value(struct generate *g, const struct spec_expression *e, int to)
{
    if (e->term == SPEC_CONSTANT) {
        asm_constant(&g->a, to, (uint64_t)e->value);
    } else if (e->term != SPEC_OPERATION) {
        load(g, to, simple(g, e));
    } else if (e->op == SPEC_NEGATE) {
        generate_value(g, e->a, to);
        asm_negate(&g->a, to);
    } else if (is_comparison(e->op)) {
        binary(g, e, to);
        asm_truth(&g->a, condition(e->op), to);
    } else if (e->op == SPEC_AND || e->op == SPEC_OR || e->op == SPEC_NOT) {
        truth(g, e, to);
    } else {
        binary(g, e, to);
    }
}

/* A counter or argument against a constant needs no register of ours. */
static void compare(struct generate *g, const struct spec_expression *e, int scratch)
{
    if (e->a->term != SPEC_OPERATION && e->a->term != SPEC_CONSTANT &&
        e->b->term == SPEC_CONSTANT && is_simple(e->b)) {
        struct operand a = simple(g, e->a);
        if (a.in == IN_REGISTER)
            asm_alu_constant(&g->a, ALU_CMP, a.reg, (int32_t)e->b->value);
        else
            asm_alu_memory(&g->a, ALU_CMP, false, true, a.reg, a.offset, (int32_t)e->b->value);
    } else {
        binary(g, e, scratch);
    }
}

void generate_branch(struct generate *g, const struct spec_expression *e, bool sense,
                     struct label *label, int scratch)
{
    if (e->term == SPEC_OPERATION && e->op == SPEC_NOT) {
        generate_branch(g, e->a, !sense, label, scratch);
    } else if (e->term == SPEC_OPERATION && (e->op == SPEC_AND || e->op == SPEC_OR)) {
        /* `and` is decided by a first operand that is false, `or` by one that is true. */
        bool decides = e->op == SPEC_OR;
        struct label over = {0};
        generate_branch(g, e->a, decides, sense == decides ? label : &over, scratch);
        generate_branch(g, e->b, sense, label, scratch);
        asm_land(&g->a, &over);
    } else if (e->term == SPEC_OPERATION && is_comparison(e->op)) {
        compare(g, e, scratch);
        asm_jump_if(&g->a, condition(e->op) ^ !sense, label);
    } else {
        generate_value(g, e, scratch);
        asm_test(&g->a, scratch, scratch);
        asm_jump_if(&g->a, sense ? CC_NE : CC_E, label);
    }
}
