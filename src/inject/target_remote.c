/* SPDX-License-Identifier: MIT */
/*
 * System calls that a stopped thread of the target makes for us. If we die at any moment, the
 * kernel lets the thread run from where it is. So before it is sent anywhere, a signal frame with
 * all it had is laid below its stack, and it runs code of its own libc that ends there: "syscall;
 * ret", then the return from a signal handler. While we live, we give it its registers back
 * ourselves and that way is never walked. What stood below the stack is put back as well: stacks of
 * coroutines are small, and other things of the program may lie there.
 */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    RED_ZONE = 128,
    HANDLER_ROOM = 48 << 10,
    SCRATCH = 512,      /* below the frame: what calls point to */
    XSTATE_ROOM = 8192, /* no machine has more without asking */
    FX_MAGIC_AT = 464,
    XSTATE_MAGIC1 = 0x46505853,
    XSTATE_MAGIC2 = 0x46505845,
    CONTEXT_FLAGS = 7, /* extended state; ss as it was */
    BAD_STACK_FLAGS = 0x7fff
};

/* What the kernel reads when a signal handler returns. */
struct kernel_context {
    uint64_t flags, link;
    stack_t stack;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
    uint64_t eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, oldmask, cr2, fpstate, reserved[8];
    uint64_t mask;
};

/* Code to begin with */

static bool search(struct target *t, const struct map_entry *e)
{
    static const uint8_t call[] = {0x0f, 0x05, 0xc3};
    static const uint8_t back[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t short_back[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
    size_t bytes = e->end - e->start;
    uint8_t *text = xcalloc(1, bytes);
    if (mem_read(t, e->start, text, bytes) == 0) {
        const uint8_t *at;
        if (!t->gadget && (at = memmem(text, bytes, call, sizeof call)))
            t->gadget = e->start + (uint64_t)(at - text);
        if (!t->restorer && ((at = memmem(text, bytes, back, sizeof back)) ||
                             (at = memmem(text, bytes, short_back, sizeof short_back))))
            t->restorer = e->start + (uint64_t)(at - text);
    }
    free(text);
    return t->gadget && t->restorer;
}

/* In libc for choice; a library that goes away again would not do. */
bool remote_find_code(struct target *t)
{
    if (t->gadget && t->restorer)
        return true;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < t->maps.count; i++) {
            const struct map_entry *e = &t->maps.entries[i];
            const char *path = maps_path(&t->maps, e);
            bool libc =
                strstr(path, "/libc.") || strstr(path, "/libc-") || strstr(path, "/ld-musl");
            if (e->perms[2] == 'x' && path[0] == '/' && libc == (round == 0) && search(t, e))
                return true;
        }
    return false;
}

/* The frame */

static size_t extended_state(pid_t tid, uint8_t *image)
{
    struct iovec io = {image, XSTATE_ROOM - 64};
    if (trace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io) || io.iov_len < 576)
        return 0;
    uint32_t size = (uint32_t)io.iov_len, whole = size + 4, magic = XSTATE_MAGIC1;
    uint64_t features; /* the kernel keeps the mask where the frame has it, 8 bytes on */
    memcpy(&features, image + FX_MAGIC_AT, 8);
    memcpy(image + FX_MAGIC_AT, &magic, 4);
    memcpy(image + FX_MAGIC_AT + 4, &whole, 4);
    memcpy(image + FX_MAGIC_AT + 8, &features, 8);
    memcpy(image + FX_MAGIC_AT + 16, &size, 4);
    magic = XSTATE_MAGIC2;
    memcpy(image + size, &magic, 4);
    return whole;
}

/* The system call that was made again by restart_syscall: as the code that made it says. */
static uint64_t call_before(const struct remote *r)
{
    uint8_t code[7]; /* mov $number,%eax; syscall */
    uint32_t number;
    if (mem_read(r->target, r->saved.rip - sizeof code, code, sizeof code) || code[0] != 0xb8)
        return SYS_restart_syscall;
    memcpy(&number, code + 1, sizeof number);
    return number;
}

static void fill(struct kernel_context *c, const struct remote *r, uint64_t fpstate)
{
    const struct user_regs_struct *s = &r->saved;
    *c = (struct kernel_context){
        .flags = CONTEXT_FLAGS,
        /* not valid, so that the thread's own alternate stack stays as it is */
        .stack = {.ss_flags = BAD_STACK_FLAGS},
        .r8 = s->r8,
        .r9 = s->r9,
        .r10 = s->r10,
        .r11 = s->r11,
        .r12 = s->r12,
        .r13 = s->r13,
        .r14 = s->r14,
        .r15 = s->r15,
        .rdi = s->rdi,
        .rsi = s->rsi,
        .rbp = s->rbp,
        .rbx = s->rbx,
        .rdx = s->rdx,
        .rax = s->rax,
        .rcx = s->rcx,
        .rsp = s->rsp,
        .rip = s->rip,
        .eflags = s->eflags,
        .cs = (uint16_t)s->cs,
        .ss = (uint16_t)s->ss,
        .fpstate = fpstate,
        .mask = r->mask,
    };
    if (regs_restart(s)) { /* the kernel forgets what it was to make again, so it is made anew */
        c->rip -= 2;
        c->rax = s->orig_rax == SYS_restart_syscall ? call_before(r) : s->orig_rax;
    }
}

/* Below its own stack, as a signal's frame would be; where that has not the room, memory of ours. A
 * signal handler may come to stand below it if we die, so there must be room for that too. */
static uint64_t frame_place(const struct remote *r, size_t bytes)
{
    const struct target *t = r->target;
    const struct map_entry *e = maps_at(&t->maps, r->saved.rsp);
    if (t->calls && r->mem == t->mem && (!e || r->saved.rsp - e->start < HANDLER_ROOM))
        return t->calls->remote + HANDLER_ROOM;
    return (r->saved.rsp - RED_ZONE - bytes) & -(uint64_t)64;
}

static int keep_below(struct remote *r, uint64_t at, size_t bytes)
{
    const struct arena *calls = r->target->calls;
    if (calls && at >= calls->remote && at < calls->remote + calls->bytes)
        return 0;
    r->below_at = at - SCRATCH;
    r->below_bytes = bytes + SCRATCH;
    r->below = xcalloc(1, r->below_bytes);
    ssize_t got = pread(r->mem, r->below, r->below_bytes, (off_t)r->below_at);
    return got == (ssize_t)r->below_bytes ? 0 : -EFAULT;
}

static int lay_frame(struct remote *r)
{
    struct {
        uint64_t pad[6], ret; /* `fp` must stand at a multiple of 64, with 8 bytes before it all */
        struct kernel_context context;
    } head = {0};
    static uint8_t image[XSTATE_ROOM]; /* only the tracer's thread comes here */
    size_t state = extended_state(r->thread->tid, image);
    if (!state)
        return -EIO;
    size_t first = (sizeof head + 63) & ~(size_t)63;
    uint64_t at = frame_place(r, first + state + 64);
    fill(&head.context, r, at + first);
    head.ret = r->target->restorer;
    r->frame = at + offsetof(typeof(head), ret);
    int e = keep_below(r, at, first + state);
    if (e == 0)
        e = mem_write(r->mem, at, &head, sizeof head);
    return e ? e : mem_write(r->mem, at + first, image, state);
}

/* When the thread does not need its frame any more. */
static void give_back(struct remote *r)
{
    if (r->below)
        mem_write(r->mem, r->below_at, r->below, r->below_bytes);
    free(r->below);
    r->below = NULL;
}

uint64_t remote_put(struct remote *r, const void *from, size_t bytes)
{
    uint64_t at = (r->frame & -(uint64_t)64) - SCRATCH;
    return bytes <= SCRATCH && mem_write(r->mem, at, from, bytes) == 0 ? at : 0;
}

/* Driving it */

static bool suits(const struct thread *th)
{
    return th->state == THREAD_STOPPED && !th->foreign && th->status >> 16 == PTRACE_EVENT_STOP;
}

struct choice {
    struct target *target;
    struct thread *best;
    int rank;
};

static void consider(struct thread *th, void *data)
{
    struct choice *c = data;
    const struct user_regs_struct *r = suits(th) ? thread_regs(th) : NULL;
    if (!r)
        return;
    const struct map_entry *e = maps_at(&c->target->maps, r->rsp);
    int rank = 1;
    if (e && r->rsp - e->start > 2 * XSTATE_ROOM && e->perms[1] == 'w')
        rank += 2; /* there is room below its stack */
    if (e && strcmp(maps_path(&c->target->maps, e), "[stack]") == 0)
        rank += 2;
    if ((long)r->rax != -516 || (long)r->orig_rax < 0)
        rank++; /* not in a sleep that only the kernel could go on with */
    if (rank > c->rank) {
        c->rank = rank;
        c->best = th;
    }
}

struct thread *remote_thread(struct target *t)
{
    struct choice c = {.target = t};
    threads_each(t, consider, &c);
    return c.best;
}

static struct user_regs_struct call_regs(const struct remote *r, long number, const uint64_t a[6])
{
    struct user_regs_struct regs = r->saved;
    regs.rip = r->target->gadget;
    regs.rsp = r->frame;
    regs.rax = (uint64_t)number;
    regs.orig_rax = ~0ull;
    regs.rdi = a[0];
    regs.rsi = a[1];
    regs.rdx = a[2];
    regs.r10 = a[3];
    regs.r8 = a[4];
    regs.r9 = a[5];
    regs.eflags &= ~0x500ull; /* direction, single step */
    return regs;
}

int remote_begin(struct remote *r, struct target *t, struct thread *th, int mem)
{
    *r = (struct remote){.target = t, .thread = th, .mem = mem};
    const struct user_regs_struct *regs = thread_regs(th);
    if (!regs || trace(PTRACE_GETSIGMASK, th->tid, (void *)8, &r->mask))
        return -ESRCH;
    r->saved = *regs;
    int e = lay_frame(r);
    if (e) { /* what could not be read was not written either */
        free(r->below);
        return e;
    }
    /* Signals wait, but only once it is on the way that gives it its own mask back. */
    uint64_t all = ~0ull;
    static const uint64_t none[6];
    struct user_regs_struct harmless = call_regs(r, SYS_getppid, none);
    e = (int)trace(PTRACE_SETREGS, th->tid, NULL, &harmless);
    if (e == 0)
        e = (int)trace(PTRACE_SETSIGMASK, th->tid, (void *)8, &all);
    if (e) /* it is gone */
        give_back(r);
    return e;
}

/* Until the stop that `request` leads to; others of this thread on the way are passed over. */
static int run_to(struct thread *th, int request, bool (*there)(int status))
{
    for (;;) {
        int status;
        if (trace(request, th->tid, NULL, NULL))
            return -ESRCH;
        if (tracer_wait(th->tid, &status))
            return -ESRCH;
        if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXIT) {
            if (WIFSTOPPED(status))
                trace(PTRACE_CONT, th->tid, NULL, NULL);
            th->state = THREAD_STOPPED; /* forgotten by remote_end */
            th->tid = -th->tid;
            return -ESRCH;
        }
        if (there(status)) {
            if (status >> 16 == PTRACE_EVENT_STOP)
                th->status = status;
            return 0;
        }
    }
}

static bool at_call(int status)
{
    return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

static bool at_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

long remote_call(struct remote *r, long number, const uint64_t a[6])
{
    struct thread *th = r->thread;
    struct user_regs_struct regs = call_regs(r, number, a);
    r->called = true;
    if (th->tid < 0 || trace(PTRACE_SETREGS, th->tid, NULL, &regs) ||
        run_to(th, PTRACE_SYSCALL, at_call) || run_to(th, PTRACE_SYSCALL, at_call) ||
        trace(PTRACE_GETREGS, th->tid, NULL, &regs))
        return -ESRCH;
    return (long)regs.rax;
}

bool remote_end(struct remote *r)
{
    struct thread *th = r->thread;
    /* Registers are given back in a stop for us, where the kernel goes on to look whether a
     * system call is to be made again; after a system call it does not. */
    if (th->tid > 0 && r->called) {
        trace(PTRACE_INTERRUPT, th->tid, NULL, NULL);
        run_to(th, PTRACE_CONT, at_stop);
    }
    if (th->tid > 0) {
        th->regs = r->saved;
        th->regs_valid = true;
        trace(PTRACE_SETSIGMASK, th->tid, (void *)8, &r->mask);
        trace(PTRACE_SETREGS, th->tid, NULL, &r->saved);
        give_back(r);
        return true;
    }
    give_back(r);
    th->tid = -th->tid; /* it was killed */
    thread_forget(th);
    return false;
}
