/* SPDX-License-Identifier: MIT */
/*
 * The slow paths of the probes: what happens when a cell has counted below zero. They are called
 * from anywhere in the program and must change nothing but memory of ours: compiled for general
 * registers only, each saves the ones it uses. They call nothing but each other and the stub.
 */
#include "runtime/probe.h"

#include "runtime/clock.h"
#include "runtime/hot.h"
#include "runtime/path.h"
#include "runtime/process.h"
#include "runtime/system_call.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#define SLOW_PATH     PROBE_SLOW_PATH
#define RARELY        __attribute__((noinline)) SLOW_PATH
#define SAMPLE_RARELY RARELY
#include "runtime/probe_sample.h"

__thread struct probe_thread *loupe_probes;
__thread uintptr_t loupe_dynamic_top = UINTPTR_MAX;
uint32_t probe_lock;

/* Where a site is looked for first. */
#define SEEN(address) ((address) >> 2 & (PROBE_SEEN - 1))

SLOW_PATH void *loupe_probe_rare(probe_rare_function *function, void *a, uintptr_t b);

/* ---- what is rare ---- */

/* Functions of libc may have probes that were inserted: those that are visited from in here must
 * not come here. */
static __thread bool locked;

static inline uint64_t lock_rare(void)
{
    const uint64_t all = ~(uint64_t)0;
    const struct timespec nap = {0, 50 * 1000};
    uint64_t before = 0;
    system_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all);
    for (int tries = 0; __atomic_exchange_n(&probe_lock, 1, __ATOMIC_ACQUIRE); tries++)
        if (tries < 100)
            system_call4(SYS_sched_yield, 0, 0, 0, 0);
        else
            system_call4(SYS_nanosleep, (long)&nap, 0, 0, 0);
    locked = true;
    return before;
}

static inline void unlock_rare(uint64_t before)
{
    locked = false;
    __atomic_store_n(&probe_lock, 0, __ATOMIC_RELEASE);
    system_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
}

uint64_t probe_locked(void)
{
    return lock_rare();
}

void probe_unlocked(uint64_t mask)
{
    unlock_rare(mask);
}

static RARELY uint64_t now_monotonic(void)
{
    struct timespec t = {0};
    system_call4(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ticks(void)
{
    return LIKELY(clock_tsc) ? __builtin_ia32_rdtsc() : now_monotonic();
}

/*
 * The clock as it is does not wait: what the program does shortly before and after runs on beside
 * it. Between fences it sees a visit of a few nanoseconds as it is, and costs more; so that is for
 * sites that are timed now and then, and visits that are longer (sample_fenced). The fences stand
 * as near to the program's code as can be: last in the entry, first in the exit, where the cookie
 * says so.
 */
enum { COOKIE_FENCED = 1, COOKIE_STEP = PROBE_COOKIE_FRAME * (PROBE_FRAMES + 1) };

static inline void fence(void)
{
    __asm__ volatile("lfence" ::: "memory");
}

static RARELY void *rare(probe_rare_function *function, void *a, uintptr_t b)
{
    struct probe_thread *p = loupe_probes; /* NULL: there may be no clock yet */
    struct thread *t = p ? p->thread : NULL;
    if (UNLIKELY(locked))
        return NULL;
    uint64_t begin = p ? now_ticks() : 0, mask = lock_rare();
    int64_t known = t ? t->measured : 0; /* what charges for itself is not charged twice */
    void *result = loupe_probe_rare(function, a, b);
    unlock_rare(mask);
    uint64_t took = p ? now_ticks() - begin : 0;
    if (p)
        p->delay += (int64_t)(took << RECORD_TIME_SHIFT);
    if (t) {
        known = t->measured - known;
        p->delay -= known;
        event_charged(t, took - (uint64_t)(known >> RECORD_TIME_SHIFT));
    }
    return result;
}

#include "runtime/probe_find.h"
#include "runtime/probe_frames.h"
#include "runtime/probe_hush.h"
#include "runtime/probe_links.h"

/* ---- what a visit does ---- */

/* Comes back after so many visits that it costs nothing, but soon enough to see the control word
 * change. */
static inline void count_only(struct probe_thread *p, struct probe_site *s)
{
    enum { SOON = 1 << 18 }; /* ticks: some 0.1 ms */
    uint64_t now = now_ticks();
    uint32_t most = p->off ? PROBE_GAP_OFF : PROBE_GAP;
    if (UNLIKELY(s->is_linked))
        unlink_call(s);
    s->gap = now - s->fired < SOON ? 2 * s->gap : s->gap / 2;
    s->gap = s->gap > most ? most : s->gap ? s->gap : 1;
    s->fired = now;
    arm(s, (int32_t)s->gap);
}

/* No visit's cost, so no one's budget. */
static RARELY void calibrate_again(struct probe_thread *p)
{
    int64_t before = p->delay;
    rare(probe_rare_calibrate, NULL, 0);
    p->thread->apart += p->delay - before;
}

/* Is this visit timed? Arms the cell for the next one that is wanted here. */
static inline bool sampled(struct probe_thread *p, struct probe_site *s)
{
    uint32_t gap = 0;
    if (UNLIKELY(!s->left))
        gap = sample_turn(p, s, now_ticks());
    if (UNLIKELY(gap)) {
        if (UNLIKELY(s->phase == PROBE_BETWEEN && now_ticks() > probe_costs.again))
            calibrate_again(p);
        arm(s, (int32_t)gap);
        return false;
    }
    s->left--;
    return true;
}

/* A call of a procedure that has probes itself: timed there. */
static inline void visit_call(struct probe_thread *p, struct probe_site *s, uintptr_t sp,
                              uintptr_t address)
{
    drop_dead_marks(p, sp);
    if (UNLIKELY(s->is_linked && s->left)) /* calls were not seen */
        unlink_call(s);
    if (UNLIKELY(!s->left && s->phase != PROBE_WARM)) /* a block is timed in one way */
        judge_link(s);
    bool timed = sampled(p, s);
    if (s->is_linked && timed && s->may_link) {
        link_again(s);
        return;
    }
    if (UNLIKELY(s->is_linked))
        end_link(s);
    if (timed)
        put_mark(p, s, sp, address);
}

static inline bool goes_to_procedure(const struct probe_site *s)
{
    return s->group && s->group->procedures && !s->untimed && !s->own;
}

static RARELY void visit_slowly(uintptr_t at, uintptr_t address)
{
    struct probe_site *s = begin(at, address, offsetof(struct loupe_unit, visit));
    if (s) {
        struct probe_thread *p = loupe_probes;
        bool quiet = UNLIKELY(p->quiet != NULL) && hushed(p, s);
        if (!quiet && s->kind == LOUPE_SITE_CALL && !p->off && goes_to_procedure(s))
            visit_call(p, s, at + 8, address);
        else if (!quiet)
            count_only(p, s);
        end(p);
    }
}

/* A site that is known here, in a thread that is not in a slow path: what nearly all visits are. */
static inline struct probe_site *known(const struct probe_thread *p, uintptr_t address)
{
    if (UNLIKELY(!p || p->inside))
        return NULL;
    const struct probe_seen *seen = &p->seen[SEEN(address)];
    if (UNLIKELY(seen->address != address ||
                 p->control != __atomic_load_n(&probe_control->word, __ATOMIC_RELAXED)))
        return NULL;
    return seen->site;
}

SLOW_PATH void loupe_probe_visit(void)
{
    uintptr_t at = (uintptr_t)__builtin_frame_address(0) + 8;
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    struct probe_thread *p = loupe_probes;
    struct probe_site *s = known(p, address);
    /* in a timed block, the only mark, and its entry comes by itself */
    if (LIKELY(s && s->left && !s->is_linked && !p->mark_count && s->clones[0].address == address &&
               s->target && *(volatile int32_t *)s->target->cell <= 0)) {
        s->left--;
        p->marks[0] = (struct probe_mark){s, at + 8, &s->clones[0], p->top};
        p->mark_count = 1; /* last: a handler in between only spoils this mark */
        return;
    }
    visit_slowly(at, address);
}

/* A call of a recursive procedure that only counts its entries. */
static inline bool calls_counted(const struct probe_site *s)
{
    return s->kind == LOUPE_SITE_STATEMENT && s->group && s->group->counted;
}

/*
 * The procedure is open already: a cycle of calls. Its time is in the frame that is open; the calls
 * from there to here are within the group and have no time of their own.
 */
static RARELY void fold_recursion(struct probe_thread *p, struct probe_site *call,
                                  const struct probe_site *s)
{
    struct probe_frame *f = p->top;
    while (f > p->frames && f->opened != s)
        f--;
    while (++f <= p->top)
        if (f->opened->kind == LOUPE_SITE_PROCEDURE || f->opened->kind == LOUPE_SITE_SOLE ||
            calls_counted(f->opened))
            sample_never(f->site, f);
    if (call)
        sample_never(call, NULL);
}

/* The open visit that this one is inside of; NULL: none. What a statement calls may be open by way
 * of another statement. */
static inline const struct probe_site *open_around(const struct probe_thread *p,
                                                   const struct probe_site *s)
{
    if (UNLIKELY(s->open))
        return s;
    if (calls_counted(s))
        for (const struct probe_frame *f = p->top; f > p->frames; f--)
            if (f->opened->group == s->group)
                return f->opened;
    return NULL;
}

/* A loop, a call of something that has no probes, or the only call of a procedure. */
static inline void *enter_own(struct probe_thread *p, struct probe_site *s, uintptr_t sp)
{
    const struct probe_site *around = open_around(p, s);
    if (UNLIKELY(around != NULL)) { /* by recursion: in the time of the outer one */
        if (s->kind == LOUPE_SITE_SOLE || calls_counted(s))
            fold_recursion(p, NULL, around);
        sample_never(s, NULL);
        count_only(p, s);
        return NULL;
    }
    if (!sampled(p, s))
        return NULL;
    if (UNLIKELY(frames_full(p))) {
        s->missed++;
        return NULL;
    }
    return open_frame(p, s, s, NULL, sp);
}

static inline void *enter_called(struct probe_thread *p, struct probe_site *s,
                                 struct probe_site *call, uintptr_t sp)
{
    if (UNLIKELY(s->open)) {
        fold_recursion(p, call, s);
        return NULL;
    }
    if (UNLIKELY(frames_full(p))) {
        call->missed++;
        return NULL;
    }
    return open_frame(p, call, s, NULL, sp);
}

/* NULL: there is no room for it. */
static inline struct probe_caller *caller_of(struct probe_site *s, uintptr_t from)
{
    struct probe_caller *c = s->callers;
    while (c && c->address != from && c->address)
        c = c->next;
    if (UNLIKELY(!c || (c->address && c->address != from)))
        c = rare(probe_rare_caller, s, from);
    return c;
}

static inline void count_caller(const struct probe_site *s, struct probe_caller *c)
{
    c->block_count++;
    c->record->count += s->size == 1; /* else at the end of the stratum */
}

/* Called from code without probes, or through a pointer. */
static RARELY void *enter_unknown(struct probe_thread *p, struct probe_site *s, uintptr_t sp,
                                  uintptr_t from)
{
    struct probe_caller *c = caller_of(s, from);
    if (UNLIKELY(!c))
        return NULL;
    count_caller(s, c);
    if (UNLIKELY(s->open || frames_full(p))) {
        fold_recursion(p, NULL, s);
        return NULL;
    }
    return open_frame(p, s, s, c, sp);
}

/* Its cell was made to come here for a mark's sake: its own turn comes later. */
static inline void rearm_pulled(struct probe_site *s, bool again)
{
    if (again)
        return;
    arm(s, owes(s));
    s->owed = 0;
}

static inline void *enter_procedure(struct probe_thread *p, struct probe_site *s, uintptr_t sp,
                                    uintptr_t from)
{
    drop_dead_marks(p, sp);
    bool unknown = false;
    struct probe_site *call = take_link(p, s, from);
    bool by_link = call;
    if (!call && p->mark_count)
        call = take_mark(p, s, sp);
    if (call) {
        *direct_call(p, from) = from;
        s->marked += !by_link; /* what is left of a link's block tells of those */
        if (call->may_link && !call->is_linked && call->left)
            link_call(p, s, call, from);
    }
    if (UNLIKELY(owes(s) <= 0))
        s->owed = 0;
    if (UNLIKELY(s->owed)) {
        rearm_pulled(s, call && call->left);
    } else if (!sampled(p, s)) {
        s->calls_known = false; /* entries come and go unseen from here on */
    } else if (!call) {
        /* One inside itself has no time of its own, whoever calls it. */
        unknown = !s->open && !s->recursive && *direct_call(p, from) != from &&
                  !called_directly(p, s, from);
        s->unknown += unknown;
        s->idle += !unknown;
    }
    if (UNLIKELY(linked(s)))
        keep_links(s, call);
    if (UNLIKELY(unknown))
        return enter_unknown(p, s, sp, from);
    if (LIKELY(call != NULL))
        return enter_called(p, s, call, sp);
    p->delay += (int64_t)probe_costs.slow;
    return NULL;
}

static RARELY void *enter_slowly(uintptr_t at, uintptr_t address, uintptr_t from)
{
    uintptr_t sp = at + 8;
    struct probe_site *s = begin(at, address, offsetof(struct loupe_unit, enter));
    void *cookie = NULL;
    if (s) {
        struct probe_thread *p = loupe_probes;
        close_dead(p, s, sp);
        bool procedure = s->kind == LOUPE_SITE_PROCEDURE;
        if (UNLIKELY(p->quiet != NULL) && hushed(p, s))
            cookie = NULL;
        else if (UNLIKELY(p->off || (s->untimed && !procedure)))
            count_only(p, s);
        else if (procedure)
            cookie = enter_procedure(p, s, sp, from);
        else if (s->kind == LOUPE_SITE_STATEMENT && goes_to_procedure(s))
            visit_call(p, s, sp, address);
        else
            cookie = enter_own(p, s, sp);
        end(p);
        if (UNLIKELY((uintptr_t)cookie & COOKIE_FENCED))
            fence();
    }
    return cookie;
}

SLOW_PATH void *loupe_probe_enter(void *from)
{
    uintptr_t at = (uintptr_t)__builtin_frame_address(0) + 8, sp = at + 8;
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    struct probe_thread *p = loupe_probes;
    struct probe_site *s = known(p, address), *by = s;
    if (UNLIKELY(!s || s->open || p->top->sp < sp || frames_full(p)))
        return enter_slowly(at, address, (uintptr_t)from);
    if (LIKELY(s->kind == LOUPE_SITE_PROCEDURE)) {
        by = called_by(p, s, sp, (uintptr_t)from);
        if (UNLIKELY(!by))
            return enter_slowly(at, address, (uintptr_t)from);
        /* its own turn, or pulled, and to come here for the next one too */
        if (s->owed) {
            if (UNLIKELY(owes(s) <= 0 || !by->left))
                return enter_slowly(at, address, (uintptr_t)from);
        } else {
            if (UNLIKELY(!s->left))
                return enter_slowly(at, address, (uintptr_t)from);
            if (UNLIKELY(s->size > 1)) /* else its own turn lasts for who comes without a mark */
                s->left--;
        }
        if (UNLIKELY(!by->is_linked))
            s->marked++;
    } else if (UNLIKELY(!s->left || (s->kind != LOUPE_SITE_LOOP && !s->own))) {
        return enter_slowly(at, address, (uintptr_t)from);
    }
    set_inside(p, at, address);
    if (LIKELY(by->is_linked || by == s))
        by->left--;
    else
        p->mark_count = 0;
    void *cookie = open_frame(p, by, s, NULL, sp);
    end(p);
    if (UNLIKELY((uintptr_t)cookie & COOKIE_FENCED))
        fence();
    return cookie;
}

/* Frames above it were left some other way. One that is not there any more was closed already: it
 * was taken for dead, or its block is another thread's now. */
static RARELY void leave_slowly(uint64_t cookie, uint64_t now)
{
    struct probe_thread *p = loupe_probes;
    struct probe_frame *f = p ? p->top : NULL;
    while (f && f > p->frames && f->cookie != cookie)
        f--;
    if (f && f > p->frames) {
        while (p->top >= f)
            close_top(p, now);
        dynamic_top(p);
    }
}

SLOW_PATH void loupe_probe_leave(void *frame)
{
    uint64_t cookie = (uint64_t)(uintptr_t)frame;
    if (UNLIKELY(cookie & COOKIE_FENCED))
        fence();
    struct probe_thread *p = loupe_probes;
    if (UNLIKELY(!p || p->top->cookie != cookie))
        leave_slowly(cookie, now_ticks());
    else if (LIKELY(closes_simply(p->top)))
        close_simply(p, now_ticks());
    else
        close_slowly(p, now_ticks());
}

/* For what becomes an item of the path in the midst of a block. */
void probe_unlink(struct probe_site *call)
{
    unlink_call(call);
}

#include "runtime/probe_dynamic.h"
