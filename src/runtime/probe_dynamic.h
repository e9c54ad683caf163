/* SPDX-License-Identifier: MIT */
/*
 * The slow paths of probes that were inserted into machine code (record/dynamic.h), the last part
 * of probe_hot.c. An entry is charged to its return address. An exit has nothing that says which
 * visit it ends: visits are known by where in the stack their return address stands, and what began
 * no higher than there has ended, by this exit, by longjmp or by an exception.
 */
#ifndef LOUPE_RUNTIME_PROBE_DYNAMIC_H
#define LOUPE_RUNTIME_PROBE_DYNAMIC_H

#include "record/dynamic.h"

static inline void *open_dynamic(struct probe_thread *p, struct probe_site *s,
                                 struct probe_caller *c, uintptr_t sp)
{
    s->unknown++;
    loupe_dynamic_top = sp;
    return open_frame(p, s, s, c, sp);
}

/* A visit that is to be timed, if it is not inside another one of the procedure. Sites for entries
 * from inside (LOUPE_SITE_RECURSIVE) are counted, by callers too. */
static inline void *enter_timed(struct probe_thread *p, struct probe_site *s, uintptr_t sp)
{
    struct probe_caller *c = caller_of(s, *(const uintptr_t *)sp);
    if (UNLIKELY(!c))
        return NULL;
    count_caller(s, c);
    if (LIKELY(!s->open && !frames_full(p) && !s->recursive)) {
        s->recent = c;
        return open_dynamic(p, s, c, sp);
    }
    if (s->open)
        fold_recursion(p, NULL, s);
    s->idle++;
    return NULL;
}

static RARELY void enter_dynamic_slowly(uintptr_t at, uintptr_t address)
{
    uintptr_t sp = at + 8 + DYNAMIC_GAP;
    /* what we call ourselves, perhaps on a stack of ours; trials are made under the lock */
    if (UNLIKELY(locked && !(loupe_probes && loupe_probes->trial)))
        return;
    struct probe_site *s = begin(at, address, offsetof(struct loupe_unit, enter));
    void *cookie = NULL;
    if (!s)
        return;
    struct probe_thread *p = loupe_probes;
    struct probe_frame *keep = p->top;
    if (UNLIKELY(p->quiet != NULL))
        joint_end(p);
    while (keep->sp <= sp)
        keep--;
    if (UNLIKELY(keep < p->top))
        close_to(p, keep);
    if (UNLIKELY(p->off)) {
        count_only(p, s);
    } else {
        cookie = sampled(p, s) ? enter_timed(p, s, sp) : NULL;
        p->delay += cookie ? 0 : (int64_t)probe_costs.slow;
    }
    end(p);
    if (UNLIKELY((uintptr_t)cookie & COOKIE_FENCED))
        fence();
}

SLOW_PATH void loupe_probe_enter_dynamic(void)
{
    uintptr_t at = (uintptr_t)__builtin_frame_address(0) + 8, sp = at + 8 + DYNAMIC_GAP;
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    struct probe_thread *p = loupe_probes;
    struct probe_site *s = known(p, address);
    struct probe_caller *c = LIKELY(s != NULL) ? s->recent : NULL;
    if (UNLIKELY(!c || c->address != *(const uintptr_t *)sp || !s->left || s->open ||
                 p->top->sp <= sp || frames_full(p))) {
        enter_dynamic_slowly(at, address);
        return;
    }
    set_inside(p, at, address);
    s->left--;
    count_caller(s, c);
    void *cookie = open_dynamic(p, s, c, sp);
    end(p);
    if (UNLIKELY((uintptr_t)cookie & COOKIE_FENCED))
        fence();
}

/* A handler on another stack that comes while a visit is opened or closed leaves it alone: what has
 * ended is found at the next visit. */
static RARELY void leave_dynamic_slowly(uintptr_t sp)
{
    struct probe_thread *p = loupe_probes;
    if (!p) { /* in a forked child, or the thread is about to end */
        loupe_dynamic_top = UINTPTR_MAX;
        return;
    }
    if (p->inside || (locked && !p->trial))
        return;
    if (p->top->cookie & COOKIE_FENCED)
        fence();
    uint64_t now = now_ticks();
    while (p->top->sp <= sp)
        close_top(p, now);
    dynamic_top(p);
}

SLOW_PATH void loupe_probe_leave_dynamic(void)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0) + 16 + DYNAMIC_GAP;
    struct probe_thread *p = loupe_probes;
    if (UNLIKELY(!p || p->inside || p->top->sp != sp || p->top->cookie & COOKIE_FENCED)) {
        leave_dynamic_slowly(sp);
        return;
    }
    close_top(p, now_ticks());
    dynamic_top(p);
}

#endif
