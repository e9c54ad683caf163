/* SPDX-License-Identifier: MIT */
/* Windows of many shapes, executed as they are and with probes: the same registers, flags and
 * return addresses, and as many counts as executions. */
#include "lib/tap.h"
#include "unit/inject/x86_64/harness.h"

#include <errno.h>

enum { CODE = 64, TRIES = 200, CALLEE = 48, DATA = 56 };

struct place {
    uint8_t kind, address, target, window, bytes;
    uint8_t relay, relay_bytes; /* of a short jump */
};

/* Code at 0; at CALLEE `mov (%rsp), %rax; ret`, which gives away its return address. `probe` is
 * executed `on` times out of each call, where that is always so; -1: depends on the registers. */
struct shape {
    const char *name;
    uint8_t code[CODE];
    struct place points[3];
    int always[3];
};

#define NEVER_KNOWN (-1)

static const struct shape shapes[] = {
    {"entry and exit in five bytes",
     {0x48, 0x8d, 0x47, 0x01, 0xc3},
     {{CODE_ENTRY, 0, 0, 0, 5, 0, 0}, {CODE_EXIT, 4, 0, 0, 5, 0, 0}},
     {1, 1}},
    {"endbr64, push, exit behind pop",
     {0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x89, 0xd8, 0x5b, 0xc3},
     {{CODE_ENTRY, 0, 0, 0, 5, 0, 0}, {CODE_EXIT, 12, 0, 8, 5, 0, 0}},
     {1, 1}},
    {"call", {0x50, 0xe8, CALLEE - 6, 0, 0, 0, 0x59, 0xc3}, {{CODE_CALL, 1, 0, 1, 5, 0, 0}}, {1}},
    {"call in the entry's window",
     {0x50, 0xe8, CALLEE - 6, 0, 0, 0, 0x59, 0xc3},
     {{CODE_ENTRY, 0, 0, 0, 6, 0, 0}, {CODE_CALL, 1, 0, 0, 6, 0, 0}},
     {1, 1}},
    {"call through memory near by",
     {0x50, 0xff, 0x15, DATA - 7, 0, 0, 0, 0x59, 0xc3},
     {{CODE_CALL, 1, 0, 1, 6, 0, 0}},
     {1}},
    {"call through a register",
     {0x48, 0x8d, 0x1d, CALLEE - 7, 0, 0, 0, 0x48, 0x89, 0xfe, 0xff, 0xd3, 0xc3},
     {{CODE_CALL, 10, 0, 7, 5, 0, 0}},
     {1}},
    {"call through the stack",
     {0x48, 0x8d, 0x1d, CALLEE - 7, 0, 0, 0, 0x53, 0xff, 0x54, 0x24, 0x00, 0x5b, 0xc3},
     {{CODE_CALL, 8, 0, 7, 5, 0, 0}},
     {1}},
    {"data near by",
     {0x8b, 0x05, DATA - 6, 0, 0, 0, 0x3b, 0x3d, DATA - 12, 0, 0, 0, 0xc3},
     {{CODE_ENTRY, 0, 0, 0, 6, 0, 0}, {CODE_EXIT, 12, 0, 6, 7, 0, 0}},
     {1, 1}},
    {"both edges of a branch", /* test; je 10; lea 1(%rdi); ret; 10: lea 2(%rdi); ret */
     {0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x01, 0xc3, 0x48, 0x8d, 0x47, 0x02, 0xc3},
     {{CODE_LOOP_NEXT, 3, 10, 0, 5, 0, 0},
      {CODE_LOOP_EXIT, 3, 5, 0, 5, 0, 0},
      {CODE_ENTRY, 0, 0, 0, 5, 0, 0}},
     {NEVER_KNOWN, NEVER_KNOWN, 1}},
    {"both edges of jrcxz",
     {0x48, 0x89, 0xf8, 0xe3, 0x05, 0x48, 0x8d, 0x47, 0x01, 0xc3, 0x48, 0x8d, 0x47, 0x02, 0xc3},
     {{CODE_LOOP_NEXT, 3, 10, 0, 5, 0, 0},
      {CODE_LOOP_EXIT, 3, 5, 0, 5, 0, 0},
      {CODE_ENTRY, 0, 0, 0, 5, 0, 0}},
     {NEVER_KNOWN, NEVER_KNOWN, 1}},
    {"loop around", /* mov $7, %ecx; 5: lea 1(%rdi,%rax), %rax; loop 5; ret */
     {0xb9, 7, 0, 0, 0, 0x48, 0x8d, 0x44, 0x07, 0x01, 0xe2, 0xf9, 0xc3},
     {{CODE_LOOP_NEXT, 10, 5, 5, 7, 0, 0},
      {CODE_LOOP_EXIT, 10, 12, 5, 7, 0, 0},
      {CODE_ENTRY, 0, 0, 0, 5, 0, 0}},
     {6, 1, 1}},
    {"tail call",
     {0x48, 0x89, 0xf8, 0xe9, CALLEE - 8, 0, 0, 0},
     {{CODE_EXIT, 3, 0, 3, 5, 0, 0}},
     {1}},
    {"exit by a branch, and the way on", /* test; je callee; lea; ret */
     {0x48, 0x85, 0xff, 0x0f, 0x84, CALLEE - 9, 0, 0, 0, 0x48, 0x8d, 0x47, 0x01, 0xc3},
     {{CODE_EXIT, 3, CALLEE, 3, 6, 0, 0}, {CODE_EXIT, 13, 0, 9, 5, 0, 0}},
     {NEVER_KNOWN, NEVER_KNOWN}},
    {"ways to a return that stands alone", /* lea; test; je 14; lea; 14: ret */
     {0x48, 0x8d, 0x47, 0x01, 0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x44, 0x37, 0x02, 0xc3},
     {{CODE_EXIT, 7, 14, 4, 5, 0, 0}, {CODE_EXIT, 9, 14, 9, 5, 0, 0}},
     {NEVER_KNOWN, NEVER_KNOWN}},
    {"the same by a jump", /* test; je 10; jmp 15; 10: lea; nop; 15: ret */
     {0x48, 0x85, 0xff, 0x74, 0x05, 0xe9, 5, 0, 0, 0, 0x48, 0x8d, 0x47, 0x02, 0x90, 0xc3},
     {{CODE_EXIT, 5, 15, 5, 5, 0, 0}, {CODE_EXIT, 14, 15, 10, 5, 0, 0}},
     {NEVER_KNOWN, NEVER_KNOWN}},
    {"short exit, relay among instructions", /* lea; lea; add; push; pop; ret */
     {0x48, 0x8d, 0x47, 0x01, 0x48, 0x8d, 0x54, 0x37, 0x02, 0x48, 0x01, 0xd0, 0x53, 0x5b, 0xc3},
     {{CODE_EXIT, 14, 0, 13, 2, 0, 12}},
     {1}},
    {"short exit, relay in padding behind it",
     {0x48, 0x89, 0xf8, 0x53, 0x5b, 0xc3, 0x0f, 0x1f, 0x44, 0x00, 0x00},
     {{CODE_EXIT, 5, 0, 4, 2, 6, 5}, {CODE_ENTRY, 0, 0, 0, 4, 11, 5}},
     {1, 1}},
    {"short call, data near by where the relay is",
     {0x48, 0x8d, 0x1d, CALLEE - 7, 0, 0, 0, 0x48, 0x89, 0xfe, 0xff, 0xd3, 0xc3},
     {{CODE_CALL, 10, 0, 10, 2, 0, 10}},
     {1}},
    {"both edges of a branch over one relay", /* lea; lea; add; test; je 22; ...; 22: ... */
     {0x48, 0x8d, 0x47, 0x01, 0x48, 0x8d, 0x54, 0x37, 0x02, 0x48, 0x01, 0xd0, 0x48, 0x85,
      0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x02, 0xc3, 0x48, 0x8d, 0x47, 0x03, 0xc3},
     {{CODE_LOOP_NEXT, 15, 22, 15, 2, 0, 12}, {CODE_LOOP_EXIT, 15, 17, 15, 2, 0, 12}},
     {NEVER_KNOWN, NEVER_KNOWN}},
    {"branch over the rest, no edge",
     {0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x01, 0xc3, 0x48, 0x8d, 0x47, 0x02, 0xc3},
     {{CODE_ENTRY, 0, 0, 0, 5, 0, 0}},
     {1}},
};

struct fixture {
    uint8_t *memory;
    struct emit_data *data;
    struct spec_expression one;
    struct spec_action add[3];
    struct emit_use uses[3];
    struct code_point points[3];
    struct emit_point p[3];
    size_t count;
};

static void lay_out(struct fixture *f, const struct shape *s)
{
    memcpy(f->memory, s->code, CODE);
    memcpy(f->memory + CALLEE, "\x48\x8b\x04\x24\xc3", 5);
    uint64_t callee = (uint64_t)f->memory + CALLEE;
    memcpy(f->memory + DATA, &callee, sizeof callee);
    f->one = (struct spec_expression){.term = SPEC_CONSTANT, .value = 1};
    f->count = 0;
    for (size_t i = 0; i < 3 && s->points[i].bytes; i++, f->count++) {
        const struct place *at = &s->points[i];
        f->add[i] = (struct spec_action){
            .primitive = SPEC_ADD_COUNTER, .variable = (uint32_t)i, .value = &f->one};
        f->uses[i] = (struct emit_use){.actions = &f->add[i]};
        f->points[i] = (struct code_point){.kind = at->kind,
                                           .way = at->relay_bytes ? CODE_SHORT : CODE_JUMP,
                                           .address = at->address,
                                           .target = at->target,
                                           .window = at->window,
                                           .window_bytes = at->bytes,
                                           .relay = at->relay,
                                           .relay_bytes = at->relay_bytes,
                                           .live = CODE_FLAGS | 0xffff};
        f->p[i] = (struct emit_point){.point = &f->points[i],
                                      .window = s->code + at->window,
                                      .relay = s->code + at->relay,
                                      .bias = (uint64_t)f->memory,
                                      .uses = &f->uses[i],
                                      .use_count = 1,
                                      .data = (uint64_t)f->data};
    }
}

static bool overlap(const struct code_point *a, const struct code_point *b)
{
    return a->window < b->window + b->window_bytes && b->window < a->window + a->window_bytes;
}

/* Those that overlap together, the others each for itself. */
static int insert(struct fixture *f)
{
    bool done[3] = {false};
    uint8_t *code = f->memory + 4096;
    for (size_t i = 0; i < f->count; i++) {
        struct emit_point group[3];
        struct emit_result result;
        size_t count = 0;
        for (size_t j = i; j < f->count; j++) {
            if (!done[j] && overlap(&f->points[i], &f->points[j])) {
                group[count++] = f->p[j];
                done[j] = true;
            }
        }
        if (count == 0)
            continue;
        int error = emit_points(group, count, (uint64_t)code, code, 2048, &result);
        if (error) {
            printf("# %s\n", result.why);
            return error;
        }
        memcpy((uint8_t *)result.window, result.jump, result.window_bytes);
        if (result.relay_bytes)
            memcpy((uint8_t *)result.relay, result.relay_jump, result.relay_bytes);
        code += result.bytes;
    }
    return 0;
}

static void try_shape(struct fixture *f, const struct shape *s)
{
    struct state before[TRIES], plain[TRIES];
    unsigned wrong = 0;
    lay_out(f, s);
    memset(f->data, 0, sizeof *f->data);
    for (int i = 0; i < TRIES; i++) {
        harness_fill(&before[i]);
        if (i & 1)
            before[i].registers[1] = before[i].registers[7] = i & 2; /* rcx, rdi */
        plain[i] = before[i];
        harness_run(f->memory, &plain[i]);
    }
    int error = insert(f);
    ok(error == 0, "%s: inserted", s->name);
    if (error)
        return;
    for (int i = 0; i < TRIES; i++) {
        harness_run(f->memory, &before[i]);
        before[i].registers[4] = plain[i].registers[4];
        before[i].flags &= HARNESS_FLAGS;
        plain[i].flags &= HARNESS_FLAGS;
        wrong += memcmp(&before[i], &plain[i], sizeof plain[i]) != 0;
    }
    ok(wrong == 0, "%s: the same registers and flags (%u times not)", s->name, wrong);
    const struct emit_block *block = harness_block(f->data);
    int64_t known = 0, depends = 0, edges = 0;
    for (size_t i = 0; i < f->count && block; i++) {
        int64_t value = block->variables[i].counter.value;
        if (s->always[i] >= 0)
            known += value != (int64_t)s->always[i] * TRIES;
        else
            depends += value, edges++;
    }
    ok(block && known == 0 && (edges == 0 || depends == TRIES), "%s: counted", s->name);
}

static void refusals(struct fixture *f)
{
    struct emit_result result;
    lay_out(f, &shapes[2]);
    f->uses[0].after = true;
    int error = emit_point(&f->p[0], 4096, f->memory + 4096, 2048, &result);
    ok(error == -ENOTSUP && result.why[0], "after a call: %s", result.why);
    f->uses[0].after = false;
    error = emit_point(&f->p[0], (uint64_t)f->memory + ((uint64_t)1 << 40), f->memory + 4096, 2048,
                       &result);
    ok(error == -ENOTSUP && result.why[0], "far away: %s", result.why);
    f->points[0].window_bytes = 4;
    error = emit_point(&f->p[0], 4096, f->memory + 4096, 2048, &result);
    ok(error == -EINVAL && result.why[0], "part of an instruction: %s", result.why);
    struct spec_expression returned = {.term = SPEC_RETURNED};
    lay_out(f, &shapes[0]);
    f->add[0].value = &returned;
    error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -ENOTSUP && result.why[0], "ret at an entry: %s", result.why);
    f->points[0].kind = CODE_LOOP_NEXT;
    f->points[0].target = 32;
    error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -ENOTSUP && result.why[0], "edge to elsewhere: %s", result.why);
    lay_out(f, &shapes[2]);
    f->points[0].way = CODE_NEVER;
    error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -EINVAL && result.why[0], "no room: %s", result.why);
}

static const struct shape *shape(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

/* Threads that stand among the instructions where the relay goes are moved: what remains to be
 * executed is the same. */
static void relay_moves(struct fixture *f)
{
    struct emit_result result;
    const struct shape *s = shape("short exit, relay among instructions");
    struct state state, moved;
    uint8_t *code = f->memory + 4096;
    unsigned offsets = 0, wrong = 0;
    lay_out(f, s);
    int error = emit_point(&f->p[0], (uint64_t)code, code, 2048, &result);
    ok(error == 0 && result.relay == (uint64_t)f->memory && result.relay_bytes == 12 &&
           result.relay_stands == 5,
       "relay: where it is");
    for (unsigned o = 1; o < 12 && error == 0; o++) {
        if (!result.relay_moved[o])
            continue;
        lay_out(f, s);
        harness_fill(&state);
        moved = state;
        harness_run(f->memory + o, &state);
        memcpy((uint8_t *)result.window, result.jump, result.window_bytes);
        if (result.relay_bytes)
            memcpy((uint8_t *)result.relay, result.relay_jump, result.relay_bytes);
        harness_run((void *)result.relay_moved[o], &moved); // NOLINT(performance-no-int-to-ptr)
        moved.registers[4] = state.registers[4];
        wrong += memcmp(state.registers, moved.registers, sizeof state.registers) != 0;
        offsets++;
    }
    ok(offsets == 2 && !wrong, "relay: threads among its instructions are moved (%u)", offsets);
}

static void relay_refusals(struct fixture *f)
{
    struct emit_result result;
    const struct shape *s = shape("short exit, relay among instructions");
    lay_out(f, s);
    f->points[0].relay_bytes = 11;
    int error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -EINVAL && result.why[0], "relay in part of an instruction: %s", result.why);
    lay_out(f, s);
    f->points[0].relay_bytes = 7;
    error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -EINVAL && result.why[0], "relay of seven bytes: %s", result.why);
    lay_out(f, s);
    f->points[0].relay = 1000;
    error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -EINVAL && result.why[0], "relay far away: %s", result.why);
    lay_out(f, &shapes[2]); /* push; call; pop; ret */
    f->points[0] = (struct code_point){.kind = CODE_EXIT,
                                       .way = CODE_SHORT,
                                       .address = 7,
                                       .window = 6,
                                       .window_bytes = 2,
                                       .relay_bytes = 12};
    f->p[0].window = shapes[2].code + 6;
    f->p[0].relay = shapes[2].code;
    error = emit_point(&f->p[0], (uint64_t)f->memory + 4096, f->memory + 4096, 2048, &result);
    ok(error == -ENOTSUP && result.why[0], "a call where the relay would be: %s", result.why);
}

/* Behind an instruction that is no call: it has been executed, and nothing of it is lost. */
static void after(struct fixture *f)
{
    struct emit_result result;
    struct state s, was;
    lay_out(f, &shapes[7]); /* mov x(%rip), %eax; cmp x(%rip), %edi; ret */
    memset(f->data, 0, sizeof *f->data);
    harness_fill(&s);
    was = s;
    harness_run(f->memory, &was);
    f->points[1].address = f->points[1].window = 6;
    f->points[1].window_bytes = 6;
    f->uses[1].after = true;
    uint8_t *code = f->memory + 4096;
    int error = emit_point(&f->p[1], (uint64_t)code, code, 2048, &result);
    ok(error == 0, "after an instruction: inserted");
    memcpy(f->memory + 6, result.jump, 6);
    harness_run(f->memory, &s);
    was.registers[4] = s.registers[4];
    ok(memcmp(s.registers, was.registers, sizeof s.registers) == 0 &&
           ((s.flags ^ was.flags) & HARNESS_FLAGS) == 0 &&
           harness_block(f->data)->variables[1].counter.value == 1,
       "after an instruction: its flags are there, and it is counted");
}

int main(void)
{
    struct fixture f = {.memory = harness_memory(HARNESS_ROOM), .data = harness_data()};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        try_shape(&f, &shapes[i]);
    after(&f);
    refusals(&f);
    relay_moves(&f);
    relay_refusals(&f);
    return tap_done();
}
