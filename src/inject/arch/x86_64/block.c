/* SPDX-License-Identifier: MIT */
/* The block of the thread that executes the code, found by its thread pointer. */
#include "inject/arch/x86_64/generate.h"

#include <errno.h>

/* The golden ratio's multiplier spreads pointers that are stacks or pages apart over all blocks;
 * the upper bits of the product are the hash. */
enum { HASH_SHIFT = 22, BLOCK_BYTES = sizeof(struct emit_block) };
#define HASH_MULTIPLIER ((int32_t)0x9e3779b1)
_Static_assert(EMIT_BLOCKS == 1 << (32 - HASH_SHIFT), "the hash has as many bits as blocks need");

uint64_t block_address(const struct emit_point *p, size_t block)
{
    return p->data + offsetof(struct emit_data, blocks) + block * BLOCK_BYTES;
}

void generate_block(struct generate *g)
{
    struct assembly *a = &g->a;
    int block = generate_take(g), thread = generate_take(g), data = generate_take(g);
    if (data < 0)
        return;
    g->piece.block = block;
    if (g->common->shared) {
        g->piece.locked = true;
        asm_constant(a, block, block_address(g->common, EMIT_SHARED));
    } else {
        asm_thread_pointer(a, thread);
        asm_multiply_constant(a, false, block, thread, HASH_MULTIPLIER);
        asm_shift_right(a, false, block, HASH_SHIFT);
        asm_multiply_constant(a, true, block, block, BLOCK_BYTES);
        asm_constant(a, data, block_address(g->common, 0));
        asm_alu(a, ALU_ADD, block, data);
        asm_alu_load(a, ALU_CMP, thread, block, offsetof(struct emit_block, thread));
        struct aside *aside = generate_aside(g, ROUTINE_BLOCK, CC_NE, block);
        if (aside) {
            aside->spare = data;
            aside->back = asm_here(a);
        }
    }
    generate_give(g, thread);
    generate_give(g, data);
}

struct aside *generate_aside(struct generate *g, enum routine routine, int cc, int into)
{
    if (g->aside_count == ASIDES) {
        generate_fail(g, -ENOTSUP, "too many actions at one point");
        return NULL;
    }
    struct aside *aside = &g->asides[g->aside_count++];
    *aside = (struct aside){.into = into, .sp = g->piece.sp, .routine = routine};
    asm_jump_if(&g->a, cc, &aside->from);
    return aside;
}

static uint64_t routine_address(const struct emit_point *p, enum routine routine)
{
    return p->common + 8 * (uint64_t)routine;
}

void generate_routine(struct generate *g, enum routine routine, int into)
{
    struct assembly *a = &g->a;
    int red_zone = g->piece.sp == 0 ? 128 : 0;
    asm_lea(a, RSP, RSP, -8 - red_zone);
    if (g->common->common) {
        asm_call_known(a, routine_address(g->common, routine));
    } else {
        asm_call(a, &g->routines[routine]);
        g->called[routine] = true;
    }
    asm_pop(a, into);
    if (red_zone)
        asm_lea(a, RSP, RSP, red_zone);
}

void generate_asides(struct generate *g)
{
    struct assembly *a = &g->a;
    size_t piece = 0;
    for (size_t i = 0; i < g->aside_count; i++) {
        struct aside *aside = &g->asides[i];
        asm_land(a, &aside->from);
        g->piece.sp = aside->sp;
        generate_routine(g, aside->routine, aside->into);
        /* Every piece has looked for its block once, and in their order. */
        if (aside->routine == ROUTINE_BLOCK) {
            asm_constant(a, aside->spare, block_address(g->common, EMIT_SHARED));
            asm_alu(a, ALU_CMP, aside->into, aside->spare);
            asm_jump_if(a, CC_E, &g->pieces[piece++].shared);
        }
        asm_goto(a, aside->back);
    }
    g->aside_count = 0;
}

static const uint8_t block_saves[] = {RAX, RCX, RDX, RSI, RDI, R8, R11};

/* Claims a block, or finds the one that is further on from where the hash leads. The thread's own
 * signal handlers may come in between: what they have claimed is found. */
static void block_search(struct generate *g, struct label *found)
{
    struct assembly *a = &g->a;
    struct label inside = {0}, next = {0}, mine = {0};
    asm_thread_pointer(a, RDI);
    asm_multiply_constant(a, false, RSI, RDI, HASH_MULTIPLIER);
    asm_shift_right(a, false, RSI, HASH_SHIFT);
    asm_constant(a, R8, block_address(g->common, 0));
    asm_constant(a, RCX, EMIT_PROBES);
    uint64_t again = asm_here(a);
    asm_alu_constant(a, ALU_CMP, RSI, EMIT_SHARED);
    asm_jump_if(a, CC_B, &inside);
    asm_constant(a, RSI, 0);
    asm_land(a, &inside);
    asm_multiply_constant(a, true, RDX, RSI, BLOCK_BYTES);
    asm_alu(a, ALU_ADD, RDX, R8);
    asm_load(a, RAX, RDX, offsetof(struct emit_block, thread));
    asm_alu(a, ALU_CMP, RAX, RDI);
    asm_jump_if(a, CC_E, found);
    asm_test(a, RAX, RAX);
    asm_jump_if(a, CC_NE, &next);
    asm_compare_exchange(a, true, RDX, offsetof(struct emit_block, thread), RDI);
    asm_jump_if(a, CC_E, &mine);
    asm_alu(a, ALU_CMP, RAX, RDI);
    asm_jump_if(a, CC_E, found);
    asm_land(a, &next);
    asm_alu_constant(a, ALU_ADD, RSI, 1);
    asm_alu_constant(a, ALU_SUB, RCX, 1);
    asm_goto_if(a, CC_NE, again);
    asm_constant(a, RDX, block_address(g->common, EMIT_SHARED));
    asm_jump(a, found);
    asm_land(a, &mine);
    if (!g->common->no_system_calls) {
        enum { GETTID = 186 };
        asm_constant(a, RAX, GETTID);
        asm_system_call(a);
        asm_store_32(a, RDX, offsetof(struct emit_block, tid), RAX);
    }
}

static void routine_block(struct generate *g)
{
    struct assembly *a = &g->a;
    struct label found = {0};
    int saved = sizeof block_saves;
    for (int i = 0; i < saved; i++)
        asm_push(a, block_saves[i]);
    block_search(g, &found);
    asm_land(a, &found);
    asm_store(a, RSP, 8 * saved + 8, RDX);
    for (int i = saved - 1; i >= 0; i--)
        asm_pop(a, block_saves[i]);
    asm_byte(a, 0xc3);
}

static const uint8_t clock_saves[] = {RAX, RCX, RSI, RDI, R11};

static void cpu_time(struct generate *g, uint64_t clock)
{
    enum { CLOCK_GETTIME = 228, NS = 1000000000 };
    struct assembly *a = &g->a;
    int saved = sizeof clock_saves;
    for (int i = 0; i < saved; i++)
        asm_push(a, clock_saves[i]);
    asm_constant(a, RAX, 0); /* an answer even if it fails */
    asm_push(a, RAX);
    asm_push(a, RAX);
    asm_constant(a, RAX, CLOCK_GETTIME);
    asm_constant(a, RDI, clock);
    asm_move(a, RSI, RSP);
    asm_system_call(a);
    asm_pop(a, RAX);
    asm_multiply_constant(a, true, RAX, RAX, NS);
    asm_pop(a, RCX);
    asm_alu(a, ALU_ADD, RAX, RCX);
    asm_store(a, RSP, 8 * saved + 8, RAX);
    for (int i = saved - 1; i >= 0; i--)
        asm_pop(a, clock_saves[i]);
    asm_byte(a, 0xc3);
}

enum { PROCESS_CPU_TIME = 2, THREAD_CPU_TIME = 3 };

static void routine_clock(struct generate *g)
{
    cpu_time(g, THREAD_CPU_TIME);
}

static void routine_clock_all(struct generate *g)
{
    cpu_time(g, PROCESS_CPU_TIME);
}

static void (*const routines[ROUTINES])(struct generate *g) = {
    [ROUTINE_BLOCK] = routine_block,
    [ROUTINE_CLOCK] = routine_clock,
    [ROUTINE_CLOCK_ALL] = routine_clock_all};

void generate_routines(struct generate *g)
{
    for (int i = 0; i < ROUTINES; i++) {
        if (!g->called[i])
            continue;
        asm_land(&g->a, &g->routines[i]);
        routines[i](g);
    }
}

int emit_common(const struct emit_point *p, uint64_t at, uint8_t *code, size_t room, size_t *bytes)
{
    struct generate g = {.a = {.bytes = code, .room = room, .at = at}, .common = p};
    for (int i = 0; i < ROUTINES; i++) { /* where routine_address expects them */
        asm_jump(&g.a, &g.routines[i]);
        asm_bytes(&g.a, "\xcc\xcc\xcc", 3);
        g.called[i] = true;
    }
    generate_routines(&g);
    *bytes = g.a.used;
    return g.a.used <= room ? 0 : -ENOSPC;
}
