/* SPDX-License-Identifier: MIT */
/* Code for probes of the runtime, executed: cells are counted down, the slow paths are called when
 * they should be, with the stack where they expect it, and what is live stays as it was. */
#include "lib/tap.h"
#include "record/dynamic.h"
#include "unit/inject/x86_64/harness.h"

enum { ROUNDS = 20000, INDEX = 3, SITES = 40, GENERAL = 0xffef };

static __thread char **cells_table __attribute__((tls_model("local-exec")));
static __thread uintptr_t top __attribute__((tls_model("local-exec"))) = UINTPTR_MAX;
static int32_t cells[SITES];
static char *table[INDEX + 1];

/* What the slow paths saw. */
struct seen {
    uint64_t calls, stack, returns_to;
};
struct seen entered, left;

/* As the runtime's: all registers are kept, the flags are lost. The stack: where the procedure's
 * return address should be. */
#define STUB(name, seen)                                                                           \
    void name(void);                                                                               \
    __asm__(".text\n" #name ": push %rax\n"                                                        \
            "incq " #seen "(%rip)\n"                                                               \
            "mov 8(%rsp), %rax; mov %rax, " #seen "+16(%rip)\n"                                    \
            "lea 16+144(%rsp), %rax; mov %rax, " #seen "+8(%rip)\n"                                \
            "add $-1, %rax\n"                                                                      \
            "pop %rax; ret\n")
STUB(stub_enter, entered);
STUB(stub_leave, left);
_Static_assert(DYNAMIC_GAP == 144, "as the stubs have it");

/* The procedure: two windows of a nop of 5 bytes, and its end. */
static const uint8_t body[] = {0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x44, 0, 0, 0xc3};

static int32_t from_thread(const void *address)
{
    uintptr_t thread;
    __asm__("mov %%fs:0,%0" : "=r"(thread));
    return (int32_t)((uintptr_t)address - thread);
}

static bool emit(uint8_t *procedure, uint8_t *code, bool exit, const struct emit_record *record,
                 uint32_t live, size_t *bytes)
{
    struct code_point point = {.kind = exit ? CODE_EXIT : CODE_ENTRY,
                               .way = CODE_JUMP,
                               .window_bytes = exit ? 6 : 5,
                               .window = (uint64_t)(uintptr_t)procedure + (exit ? 5 : 0),
                               .live = live};
    point.address = point.window + (exit ? 5 : 0);
    struct emit_use use = {.record = record};
    struct emit_point p = {
        .point = &point, .window = body + (exit ? 5 : 0), .uses = &use, .use_count = 1};
    struct emit_result result;
    int err = emit_point(&p, (uint64_t)(uintptr_t)code, code, 4096, &result);
    if (err)
        printf("# %d: %s\n", err, result.why);
    else
        memcpy(procedure + (exit ? 5 : 0), result.jump, result.window_bytes);
    *bytes = result.bytes;
    return err == 0;
}

static bool kept(const struct state *before, const struct state *after, uint32_t live)
{
    for (int i = 0; i < 16; i++)
        if (i != 4 && live >> i & 1 && before->registers[i] != after->registers[i])
            return false;
    return !(live & CODE_FLAGS) || ((before->flags ^ after->flags) & HARNESS_FLAGS) == 0;
}

static uint64_t site_behind(uint64_t address)
{
    int32_t number;
    memcpy(&number, (const char *)(uintptr_t)address + 3, sizeof number);
    return (uint64_t)number / 4;
}

/* The return address is in harness_run. */
static bool add_ranges(struct emit_record *r, uint64_t random, uint32_t site)
{
    uint64_t here = (uint64_t)(uintptr_t)harness_run;
    bool inside = false;
    r->inside = (site + 1) % SITES;
    r->range_count = (uint32_t)(random % (EMIT_RANGES + 1));
    for (uint32_t i = 0; i < r->range_count; i++) {
        bool hit = random >> (8 + i) & 1;
        r->ranges[i] =
            hit ? (struct emit_range){here, 512} : (struct emit_range){here - 4096, 4096};
        inside |= hit;
    }
    return inside;
}

/* One procedure with random liveness, called with every state of its thread. */
static unsigned long round_of(uint8_t *memory)
{
    static const uint32_t lives[] = {0, GENERAL, CODE_FLAGS, GENERAL | CODE_FLAGS};
    struct dynamic_unit *unit = (struct dynamic_unit *)(memory + 16384);
    uint8_t *procedure = memory, *code = memory + 4096;
    uint64_t random = harness_random();
    uint32_t live[2];
    for (int i = 0; i < 2; i++)
        live[i] = random >> i & 1 ? lives[random >> (8 + 2 * i) & 3]
                                  : (uint32_t)(harness_random() & (GENERAL | CODE_FLAGS));
    uint32_t site = (uint32_t)(random >> 32) % SITES;
    struct emit_record record = {.unit = (uint64_t)(uintptr_t)unit,
                                 .site = site,
                                 .index = INDEX,
                                 .cells = from_thread(&cells_table),
                                 .top = from_thread(&top)};
    /* Where it is called from is one of the ranges, or not. */
    bool inside = add_ranges(&record, harness_random(), site);
    site = inside ? record.inside : site;
    size_t bytes, more;
    memcpy(procedure, body, sizeof body);
    unit->unit.enter = (void *)stub_enter;
    unit->unit.leave = (void *)stub_leave;
    if (!emit(procedure, code, false, &record, live[0], &bytes) ||
        !emit(procedure, code + 1024, true, &record, live[1], &more))
        return 1;
    unsigned long wrong = 0;
    int32_t start = (int32_t)(random >> 16 & 3) - 1;
    cells[site] = start;
    cells_table = random & 16 ? table : NULL;
    table[INDEX] = random & 32 ? (char *)cells : NULL;
    bool counts = cells_table && table[INDEX];
    for (int visit = 0; visit < 3; visit++) {
        struct state before, after;
        harness_fill(&before);
        after = before;
        entered = left = (struct seen){0};
        top = visit == 0 ? UINTPTR_MAX : 0;
        harness_run(procedure, &after);
        /* what is live at the entry only may be lost at the exit */
        wrong += !kept(&before, &after, live[0] & live[1]);
        int32_t want = counts ? start - visit - 1 : start;
        wrong += cells[site] != want;
        wrong += entered.calls != (counts && want < 0);
        wrong += entered.calls && site_behind(entered.returns_to) != site;
        wrong += left.calls != (visit > 0);
        /* both look where the procedure's return address stands, which is in the harness */
        wrong += left.calls && entered.calls && left.stack != entered.stack;
    }
    return wrong;
}

/* Which visits an exit ends: those that began where it stands or below. */
static void exits(uint8_t *memory)
{
    struct dynamic_unit *unit = (struct dynamic_unit *)(memory + 16384);
    struct emit_record record = {.unit = (uint64_t)(uintptr_t)unit,
                                 .index = INDEX,
                                 .cells = from_thread(&cells_table),
                                 .top = from_thread(&top)};
    size_t bytes = 0;
    struct state s;
    memcpy(memory, body, sizeof body);
    unit->unit.leave = (void *)stub_leave;
    cells_table = NULL;
    bool made = emit(memory, memory + 4096, true, &record, 0xffff, &bytes);
    ok(made && bytes > 0 && bytes < 100, "an exit of %zu bytes", bytes);
    uint64_t at = 0;
    const struct {
        int64_t above;
        bool called;
    } cases[] = {{0, true}, {0, true}, {-8, true}, {8, false}, {1 << 20, false}, {-4096, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        left = (struct seen){0};
        top = i == 0 ? 0 : at + (uint64_t)cases[i].above;
        harness_fill(&s);
        harness_run(memory, &s);
        at = i == 0 ? left.stack : at;
        ok(left.calls == cases[i].called, "a visit that began %lld bytes higher: %s",
           (long long)cases[i].above, cases[i].called ? "has ended" : "goes on");
    }
    top = UINTPTR_MAX;
    left = (struct seen){0};
    harness_run(memory, &s);
    ok(left.calls == 0, "no visit is open: nothing is called");
}

int main(void)
{
    uint8_t *memory = harness_memory(HARNESS_ROOM);
    unsigned long wrong = 0;
    for (int i = 0; i < ROUNDS; i++)
        wrong += round_of(memory);
    ok(wrong == 0, "%d procedures: counted down, slow paths called, what is live is kept; %lu not",
       ROUNDS, wrong);
    exits(memory);
    struct emit_record far = {.unit = 1, .index = INDEX};
    size_t bytes = 0;
    memcpy(memory, body, sizeof body);
    ok(!emit(memory, memory + 4096, false, &far, 0, &bytes), "a unit out of reach is refused");
    return tap_done();
}
