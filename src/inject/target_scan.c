/* SPDX-License-Identifier: MIT */
/*
 * Where stopped threads are, and where they will come back to. A program counter inside a window
 * that is about to change is moved; so is one that a signal frame on a stack has saved. Any word on
 * a stack that leads into code given back keeps it from being used again.
 */
#include "inject/target_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

enum { CHUNK_WORDS = 8192, STACK_LIMIT = 64 << 20, FRAMES = 8, MOVES = 256 };
/* Word 24 of a signal frame has cs, gs, fs and ss; rsp, rip and the flags stand before it. */
enum { CONTEXT_SEGMENTS = 24, USER_CS = 0x33, USER_SS = 0x2b };

struct fix {
    uint64_t at, value; /* a word on a stack */
};
struct scan {
    struct target *target;
    const struct target_patch *patches;
    size_t count;
    struct fix fixes[MOVES];
    size_t fix_count;
    uint64_t stacks[FRAMES]; /* starts of stacks still to be looked at */
    size_t stack_count;
    int error;
};

static const struct target_patch *window(const struct scan *s, uint64_t pc)
{
    size_t low = 0, high = s->count;
    while (low < high) { /* the last one that begins at or before it */
        size_t middle = (low + high) / 2;
        if (s->patches[middle].address <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    const struct target_patch *p = low ? &s->patches[low - 1] : NULL;
    return p && pc < p->address + p->bytes ? p : NULL;
}

/* Where to go instead of `pc`; the same: nowhere else. */
static uint64_t moved(const struct scan *s, uint64_t pc)
{
    const struct target_patch *p = window(s, pc);
    if (p && p->stood && pc == p->address + p->stood - 1)
        return p->stands == p->stood ? pc : p->back;
    if (!p || pc == p->address || !p->moved[pc - p->address])
        return pc;
    return p->moved[pc - p->address];
}

/* The bytes of a system call instruction that will be executed again must stay as they are. */
static bool changes(const struct target_patch *p, uint64_t at)
{
    size_t offset = at - p->address;
    size_t bytes = p->bytes - offset < 2 ? p->bytes - offset : 2;
    return memcmp(p->from + offset, p->to + offset, bytes) != 0;
}

static void move_thread(struct scan *s, struct thread *th, struct user_regs_struct *r)
{
    uint64_t pc = r->rip, to = moved(s, pc);
    if (regs_restart(r)) {
        const struct target_patch *p = window(s, pc - 2);
        if (p && pc - 2 > p->address && p->moved[pc - 2 - p->address])
            to = p->moved[pc - 2 - p->address] + 2;
        else if (p && pc - 2 > p->address && changes(p, pc - 2))
            s->error = -EBUSY;
    }
    if (to != pc) {
        r->rip = to;
        th->regs_changed = true;
    }
}

/* The code that a signal handler returns to. */
static bool returns_from_signal(const struct target *t, uint64_t code)
{
    static const uint8_t usual[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t small[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
    uint8_t there[sizeof usual];
    if (mem_read(t, code, there, sizeof there))
        return false;
    return memcmp(there, usual, sizeof usual) == 0 || memcmp(there, small, sizeof small) == 0;
}

/* `w[CONTEXT_SEGMENTS]` looked like a frame's; w[0] is its return address, at `at`. */
static void signal_frame(struct scan *s, const uint64_t *w, uint64_t at, uint64_t low,
                         uint64_t high)
{
    if (!returns_from_signal(s->target, w[0]))
        return;
    uint64_t rsp = w[CONTEXT_SEGMENTS - 3], rip = w[CONTEXT_SEGMENTS - 2];
    uint64_t to = moved(s, rip);
    if (to != rip) {
        if (s->fix_count == MOVES)
            s->error = -EBUSY;
        else
            s->fixes[s->fix_count++] =
                (struct fix){at + (CONTEXT_SEGMENTS - 2) * sizeof(uint64_t), to};
    }
    if ((rsp < low || rsp >= high) && s->stack_count < FRAMES)
        s->stacks[s->stack_count++] = rsp;
}

static bool segments(uint64_t word)
{
    return (word & 0xffff) == USER_CS && (word >> 48 == USER_SS || word >> 48 == 0) &&
           (word & 0x0000ffffffff0000) == 0;
}

static void scan_stack(struct scan *s, uint64_t from)
{
    static uint64_t words[CHUNK_WORDS + CONTEXT_SEGMENTS]; /* only the tracer's thread is here */
    const struct map_entry *e = maps_at(&s->target->maps, from);
    if (!e) {
        s->target->maps.count = 0; /* a new one since */
        maps_read(s->target, &s->target->maps);
        e = maps_at(&s->target->maps, from);
    }
    uint64_t at = from & ~7ull, end = e ? e->end : 0;
    if (!e || end - at > STACK_LIMIT) {
        arenas_keep(s->target); /* cannot tell */
        end = e ? at + STACK_LIMIT : 0;
    }
    size_t kept = 0; /* words of the chunk before, so that frames across the edge are seen */
    for (; at < end; at += CHUNK_WORDS * 8) {
        size_t bytes = end - at < CHUNK_WORDS * 8 ? end - at : CHUNK_WORDS * 8;
        if (mem_read(s->target, at, words + kept, bytes)) {
            arenas_keep(s->target);
            return;
        }
        size_t count = kept + bytes / 8;
        for (size_t i = kept; i < count; i++) {
            if (words[i] > 4096)
                arenas_seen(s->target, words[i]);
            if (i >= CONTEXT_SEGMENTS && segments(words[i]))
                signal_frame(s, &words[i - CONTEXT_SEGMENTS],
                             at + (i - kept - CONTEXT_SEGMENTS) * 8, from, end);
        }
        kept = count < CONTEXT_SEGMENTS ? count : CONTEXT_SEGMENTS;
        memmove(words, words + count - kept, kept * 8);
    }
}

static void look_at(struct thread *th, void *data)
{
    struct scan *s = data;
    struct user_regs_struct *r = th->state == THREAD_STOPPED ? thread_regs(th) : NULL;
    if (!r) {
        arenas_keep(s->target); /* in the kernel, or ended: its stack is not known */
        return;
    }
    const uint64_t in_use[] = {r->rip, r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp,
                               r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    for (size_t i = 0; i < sizeof in_use / sizeof *in_use; i++)
        arenas_seen(s->target, in_use[i]);
    move_thread(s, th, r);
    if (s->target->arena_count == 0 && !s->count)
        return;
    s->stacks[0] = r->rsp;
    s->stack_count = 1;
    for (size_t i = 0; i < s->stack_count; i++)
        scan_stack(s, s->stacks[i]);
}

/* Before the code changes: if we die in between, what they go on in is right either way. */
static void set_moved(struct thread *th, void *data)
{
    struct scan *s = data;
    if (th->regs_changed && !s->error)
        trace(PTRACE_SETREGS, th->tid, NULL, &th->regs);
    else if (th->regs_changed)
        th->regs_valid = false;
    th->regs_changed = false;
}

int threads_move(struct target *t, const struct target_patch *patches, size_t count)
{
    static struct scan s; /* large; only the tracer's thread comes here */
    memset(&s, 0, sizeof s);
    s.target = t;
    s.patches = patches;
    s.count = patches ? count : 0;
    arenas_unseen(t);
    threads_each(t, look_at, &s);
    for (size_t i = 0; i < s.fix_count && !s.error; i++)
        s.error = mem_write(t->mem, s.fixes[i].at, &s.fixes[i].value, 8);
    threads_each(t, set_moved, &s);
    return s.error;
}
