/* SPDX-License-Identifier: MIT */
/* Code for points, executed: what is live stays as it was, counters and predicates are right. */
#include "lib/tap.h"
#include "unit/inject/x86_64/harness.h"

#include <inttypes.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20000, COUNTERS = 6, POOL = 64 };

static struct spec_expression expressions[256];
static size_t used;

static int64_t number(void)
{
    static const int64_t odd[] = {
        0, 1, -1, 2, INT64_MIN, INT64_MAX, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, 1000};
    uint64_t r = harness_random();
    return r & 1 ? odd[(r >> 8) % (sizeof odd / sizeof *odd)] : (int64_t)(r >> (r >> 1 & 63));
}

/* Any expression that can be at such a point. */
static struct spec_expression *expression(enum code_kind kind, unsigned depth)
{
    struct spec_expression *e = &expressions[used++];
    *e = (struct spec_expression){0};
    unsigned r = harness_random() >> 32;
    if (depth == 0 || r % 4 == 0) {
        e->term = (r >> 8) % 3;
        if (e->term == SPEC_ARGUMENT && kind == CODE_EXIT)
            e->term = SPEC_RETURNED;
        e->variable = (r >> 12) % COUNTERS;
        e->value = e->term == SPEC_ARGUMENT ? 1 + (r >> 12) % 9 : number();
        return e;
    }
    e->term = SPEC_OPERATION;
    e->op = (r >> 8) % (SPEC_NEGATE + 1);
    e->a = expression(kind, depth - 1);
    e->b = expression(kind, depth - 1);
    return e;
}

static int64_t arguments[9], returned, counters[COUNTERS];

static int64_t divide(int64_t a, int64_t b, bool modulo)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return modulo ? 0 : (int64_t)(0 - (uint64_t)a);
    return modulo ? a % b : a / b;
}

static int64_t reference(const struct spec_expression *e)
{
    if (e->term == SPEC_CONSTANT)
        return e->value;
    if (e->term == SPEC_COUNTER)
        return counters[e->variable];
    if (e->term == SPEC_ARGUMENT)
        return arguments[e->value - 1];
    if (e->term == SPEC_RETURNED)
        return returned;
    int64_t a = reference(e->a);
    if (e->op == SPEC_NOT)
        return !a;
    if (e->op == SPEC_NEGATE)
        return (int64_t)(0 - (uint64_t)a);
    int64_t b = reference(e->b);
    switch (e->op) {
    case SPEC_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case SPEC_SUBTRACT: return (int64_t)((uint64_t)a - (uint64_t)b);
    case SPEC_MULTIPLY: return (int64_t)((uint64_t)a * (uint64_t)b);
    case SPEC_DIVIDE: return divide(a, b, false);
    case SPEC_MODULO: return divide(a, b, true);
    case SPEC_LESS: return a < b;
    case SPEC_LESS_EQUAL: return a <= b;
    case SPEC_GREATER: return a > b;
    case SPEC_GREATER_EQUAL: return a >= b;
    case SPEC_EQUAL: return a == b;
    case SPEC_NOT_EQUAL: return a != b;
    case SPEC_AND: return a && b;
    default: return a || b;
    }
}

static void perform(const struct spec_action *actions)
{
    for (const struct spec_action *a = actions; a; a = a->next) {
        uint64_t value = a->value ? (uint64_t)reference(a->value) : 0;
        uint64_t old = (uint64_t)counters[a->variable % COUNTERS];
        if (a->primitive == SPEC_IF && value)
            perform(a->body);
        else if (a->primitive == SPEC_SET_COUNTER)
            counters[a->variable] = (int64_t)value;
        else if (a->primitive == SPEC_ADD_COUNTER)
            counters[a->variable] = (int64_t)(old + value);
        else if (a->primitive == SPEC_SUBTRACT_COUNTER)
            counters[a->variable] = (int64_t)(old - value);
    }
}

static struct spec_action action_pool[POOL];

static struct spec_action *actions(enum code_kind kind, size_t *next, unsigned depth)
{
    struct spec_action *first = NULL, **link = &first;
    unsigned count = 1 + harness_random() % 3;
    for (unsigned i = 0; i < count && *next < POOL; i++) {
        struct spec_action *a = &action_pool[(*next)++];
        unsigned r = harness_random() >> 32;
        *a = (struct spec_action){.variable = r % COUNTERS};
        a->primitive = depth > 0 && r >> 8 & 1 ? SPEC_IF : (r >> 9) % 3;
        if (r >> 12 & 1 && a->primitive != SPEC_IF) /* timers beside, in variables behind */
            *a = (struct spec_action){.primitive = SPEC_START_TIMER + (r >> 13 & 1),
                                      .variable = COUNTERS};
        else if (used < 128)
            a->value = expression(kind, 3);
        else
            a->value = expression(kind, 0);
        if (a->primitive == SPEC_IF)
            a->body = actions(kind, next, depth - 1);
        *link = a;
        link = &a->next;
    }
    return first;
}

/* Things in the red zone before the point, which are read again behind it. */
static const uint8_t body[] = {0x48, 0x89, 0x7c, 0x24, 0xf8,        /* mov %rdi, -8(%rsp) */
                               0x48, 0x89, 0x74, 0x24, 0x80,        /* mov %rsi, -128(%rsp) */
                               0x0f, 0x1f, 0x44, 0x00, 0x00,        /* nopl: the window */
                               0x48, 0x8b, 0x7c, 0x24, 0xf8,        /* mov -8(%rsp), %rdi */
                               0x48, 0x8b, 0x74, 0x24, 0x80, 0xc3}; /* mov -128(%rsp), %rsi; ret */
enum { AT = 10 };

struct fixture {
    uint8_t *memory;
    struct emit_data *data;
    struct code_point point;
    struct emit_use use;
    struct emit_point p;
    struct emit_result result;
};

static int put(struct fixture *f, uint32_t live)
{
    memcpy(f->memory, body, sizeof body);
    f->point.live = live;
    f->point.address = f->point.window = (uint64_t)f->memory + AT;
    f->point.window_bytes = 5;
    f->p.point = &f->point;
    f->p.window = body + AT;
    f->p.uses = &f->use;
    f->p.use_count = 1;
    f->p.data = (uint64_t)f->data;
    int error = emit_point(&f->p, (uint64_t)f->memory + 4096, f->memory + 4096, HARNESS_ROOM - 4096,
                           &f->result);
    if (!error)
        memcpy(f->memory + AT, f->result.jump, 5);
    return error;
}

static bool same(const struct state *before, const struct state *after, uint32_t live)
{
    for (int r = 0; r < 16; r++) {
        if (r != 4 && live >> r & 1 && before->registers[r] != after->registers[r])
            return false;
    }
    return !(live & CODE_FLAGS) || ((before->flags ^ after->flags) & HARNESS_FLAGS) == 0;
}

/* Arguments from 7 are above the return address, in what harness_run pushed: its code and state. */
static void set_inputs(const struct state *s, const void *code)
{
    static const int order[] = {7, 6, 2, 1, 8, 9};
    for (int i = 0; i < 6; i++)
        arguments[i] = (int64_t)s->registers[order[i]];
    arguments[6] = (int64_t)code;
    arguments[7] = (int64_t)s;
    returned = (int64_t)s->registers[0];
}

static struct emit_block *block_of(struct fixture *f)
{
    return f->p.shared ? &f->data->blocks[EMIT_SHARED] : harness_block(f->data);
}

static void random_rounds(struct fixture *f, const char *what)
{
    unsigned wrong_values = 0, wrong_state = 0, refused = 0, done = 0;
    memset(counters, 0, sizeof counters);
    memset(f->data, 0, sizeof *f->data);
    for (int round = 0; round < ROUNDS; round++) {
        struct state before, after;
        size_t next = 0;
        used = 0;
        f->point.kind = harness_random() & 1 ? CODE_ENTRY : CODE_EXIT;
        f->use.actions = actions(f->point.kind, &next, 2);
        uint32_t live = (uint32_t)harness_random() & (CODE_FLAGS | 0xffff);
        if (harness_random() % 4 == 0)
            live = CODE_FLAGS | 0xffff;
        harness_fill(&before);
        after = before;
        /* rsi and rdi come back from the red zone */
        arguments[8] = 0;
        set_inputs(&before, f->memory);
        arguments[7] = (int64_t)&after;
        int error = put(f, live);
        if (error) {
            refused++;
            continue;
        }
        bool ninth = false;
        for (size_t i = 0; i < used; i++)
            ninth |= expressions[i].term == SPEC_ARGUMENT && expressions[i].value == 9;
        if (ninth)
            continue; /* arg9 is r15 as harness_run saved it: not ours to choose */
        harness_run(f->memory, &after);
        done++;
        perform(f->use.actions);
        const struct emit_block *block = block_of(f);
        for (int i = 0; i < COUNTERS; i++)
            wrong_values += !block || block->variables[i].counter.value != counters[i];
        wrong_values += block && (block->variables[COUNTERS].timer.version & 1);
        wrong_state += !same(&before, &after, live | 1 << 6 | 1 << 7);
    }
    ok(done > ROUNDS / 3 && refused < ROUNDS / 20, "%s: %u executed, %u too deep", what, done,
       refused);
    ok(wrong_values == 0, "%s: counters as the reference has them (%u are not)", what,
       wrong_values);
    ok(wrong_state == 0, "%s: what is live, flags and red zone stay (%u times not)", what,
       wrong_state);
}

int main(void)
{
    struct fixture f = {.memory = harness_memory(HARNESS_ROOM), .data = harness_data()};
    random_rounds(&f, "own block");
    ok(block_of(&f) && block_of(&f)->tid == (int32_t)syscall(SYS_gettid), "the tid is there");
    f.p.shared = true;
    random_rounds(&f, "shared block");
    f.p.shared = false;
    size_t bytes;
    uint8_t *common = f.memory + HARNESS_ROOM - 1024;
    int error = emit_common(&f.p, (uint64_t)common, common, 1024, &bytes);
    ok(error == 0, "common code: %zu bytes", bytes);
    f.p.common = (uint64_t)common;
    random_rounds(&f, "common code");
    /* every block taken: the last one is for all */
    memset(f.data, 0, sizeof *f.data);
    for (size_t i = 0; i < EMIT_SHARED; i++)
        f.data->blocks[i].thread = 1;
    static struct spec_expression one = {.term = SPEC_CONSTANT, .value = 1};
    struct spec_action add = {.primitive = SPEC_ADD_COUNTER, .value = &one};
    f.use.actions = &add;
    error = put(&f, 0xffff | CODE_FLAGS);
    ok(error == 0, "one counter, everything live: %zu bytes", f.result.bytes);
    struct state s;
    harness_fill(&s);
    harness_run(f.memory, &s);
    ok(f.data->blocks[EMIT_SHARED].variables[0].counter.value == 1, "no room: the shared block");
    error = emit_point(&f.p, (uint64_t)f.memory + 4096, f.memory + 4096, 20, &f.result);
    ok(error < 0 && f.result.bytes > 20 && f.result.why[0], "too little room: %s", f.result.why);
    return tap_done();
}
