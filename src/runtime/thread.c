/* SPDX-License-Identifier: MIT */
/* Thread blocks: taken, given back, reset. The slow side of event_begin. */
#include "runtime/thread.h"

#include "runtime/hot.h"
#include "runtime/item.h"
#include "runtime/probe.h"
#include "runtime/process.h"
#include "runtime/thread_delay.h"
#include "runtime/thread_path.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS_MAX = 4096, SLOTS_FIRST = 64 };

static struct thread *threads[BLOCKS_MAX]; /* by block index; set once, never moved */
static uint32_t thread_count, lock;
static struct record_cursor block_cursor;

static bool take(struct thread *t)
{
    uint32_t none = 0;
    return __atomic_compare_exchange_n(&t->block->held, &none, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static struct thread *take_free(void)
{
    uint32_t count = __atomic_load_n(&thread_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (!__atomic_load_n(&threads[i]->block->held, __ATOMIC_RELAXED) && take(threads[i]))
            return threads[i];
    return NULL;
}

static size_t private_bytes(void)
{
    return sizeof(struct thread) + SLOTS_FIRST * sizeof(struct site_slot) + THREAD_ROOM;
}

/* Statement 0 takes what no longer fits; it is there before any table can be full. */
static struct thread *new_thread(uint32_t index)
{
    struct record_writer *w = &loupe_process.writer;
    struct thread *t = pages_alloc(private_bytes());
    if (!t)
        return NULL;
    t->block = record_cursor_next(w, &block_cursor, RECORD_KIND_THREADS, 0, sizeof *t->block);
    t->block_index = index;
    t->slots = (struct site_slot *)(t + 1);
    t->room = t->slots + SLOTS_FIRST;
    t->slot_mask = SLOTS_FIRST - 1;
    t->shift = 64 - (uint32_t)__builtin_ctz(SLOTS_FIRST);
    t->delay = &t->own_delay;
    if (t->block)
        t->others = site_add(t, UINT64_MAX, 0, RECORD_CALL_OTHERS);
    if (!t->block || !t->others) {
        pages_free(t, private_bytes());
        return NULL;
    }
    t->block->held = 1;
    t->block->resets = loupe_control->word >> RECORD_CONTROL_RESET_SHIFT;
    record_cursor_publish(&block_cursor);
    return t;
}

/* How its time differs from real time, and what events cost it: a thread of the program begins
 * with what it has got from others, whatever was that of the one that had the block before. */
static void start_delay(struct thread *t)
{
    static uint32_t calibrated; /* atomic; by process and clock, which a forked child shares */
    if (!__atomic_exchange_n(&calibrated, 1, __ATOMIC_RELAXED))
        event_calibrate();
    event_costs(t);
    thread_delay_set(t, thread_delay_first());
    int64_t before = t->block->delay - t->block->delay_before;
    t->block->delay_before += before; /* readers see none of it, but its cost as before */
    t->block->received_before += before;
}

static struct thread *take_new(void)
{
    struct thread *t = NULL;
    uint64_t mask = slow_lock_signals(&lock);
    if (thread_count < BLOCKS_MAX) {
        t = new_thread(thread_count);
        if (t) {
            threads[thread_count] = t;
            __atomic_store_n(&thread_count, thread_count + 1, __ATOMIC_RELEASE);
        }
    }
    slow_unlock_signals(&lock, mask);
    return t;
}

struct thread *thread_acquire(void)
{
    struct thread *t = take_free();
    if (!t)
        t = take_new();
    if (!t) {
        __atomic_fetch_add(&loupe_process.writer.header->dropped_events, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    t->block->tid = (int32_t)syscall(SYS_gettid);
    t->block->threads++;
    t->control_at = loupe_control;
    t->control = ~control_load(t->control_at); /* look at the control word first */
    t->held = __atomic_load_n(&t->control_at->held, __ATOMIC_RELAXED);
    memset(t->near_address, 0, sizeof t->near_address);
    t->guard = 0;
    t->path = NULL;
    t->plan_seen = 0;
    t->plan_started = false;
    t->region_depth = 0;
    thread_watch(t);
    t->block->depth = 0;
    probe_take_over(t);
    start_delay(t);
    preempt_wait(t);
    loupe_tls.self = t;
    tls_settle(&loupe_tls);
    thread_end_arm(t);
    thread_path_first(t);
    return t;
}

/* The event in progress was left by longjmp, by an exception or with its thread. */
static void abandon(struct thread *t)
{
    struct record_statement *s = t->guard && t->open ? t->open->record : NULL;
    if (s) {
        s->open = 0;
        if (s->version & 1)
            statement_close(s);
    }
    t->guard = 0;
}

void thread_release(struct thread *t)
{
    probe_end(t);
    abandon(t);
    path_end(t);
    t->block->depth = 0;
    __atomic_store_n(&t->block->held, 0, __ATOMIC_RELEASE);
}

void thread_forget_all(void)
{
    /* The private pages of the parent's blocks stay mapped in the child, unused. */
    thread_count = 0;
    block_cursor = (struct record_cursor){0};
    lock = 0;
}

void thread_leave_all(void)
{
    uint64_t mask = slow_lock_signals(&lock);
    __atomic_store_n(&thread_count, 0, __ATOMIC_RELEASE);
    block_cursor = (struct record_cursor){0};
    slow_unlock_signals(&lock, mask);
}

static void reset_statement(struct record_statement *s)
{
    statement_open(s);
#define X(name, unit, merge) s->name = 0;
    RECORD_STATEMENT_FIELDS(X)
#undef X
    s->min = UINT64_MAX;
    memset(s->sizes, 0, sizeof s->sizes);
    s->estimated = s->variance = 0;
    statement_close(s);
}

/* What is open began just now. */
static void reset_regions(struct thread *t, uint64_t now)
{
    for (uint32_t d = 0; d < t->region_depth; d++) {
        t->region_covered[d] = t->covered;
        t->region_begin[d] = now;
        t->region_delay[d] = *t->delay;
        t->block->frames[d].begin = now - (uint64_t)((*t->delay & t->taken) >> RECORD_TIME_SHIFT);
    }
}

static void forget_delay(struct record_thread *block)
{
    block->delay_before = block->delay;
    block->received_before = block->received;
}

static void reset_block(struct thread *t)
{
    for (uint32_t i = 0; i < t->chunk_count; i++) {
        struct record_chunk *c = t->chunks[i];
        struct record_statement *s = (struct record_statement *)(c + 1);
        struct record_peer *p = (struct record_peer *)(c + 1);
        for (uint32_t k = 0; c->kind == RECORD_KIND_STATEMENTS && k < c->used &&
                             k < RECORD_PER_CHUNK(struct record_statement);
             k++)
            reset_statement(&s[k]);
        for (uint32_t k = 0; c->kind == RECORD_KIND_PEERS && k < c->used &&
                             k < RECORD_PER_CHUNK(struct record_peer);
             k++) {
#define X(name, unit, merge) p[k].name = 0;
            RECORD_PEER_FIELDS(X)
#undef X
        }
    }
}

static void reset_preempted(struct thread *t)
{
    preempt_end(t);
#define X(name, unit, merge) t->block->name = 0;
    RECORD_PREEMPTED_FIELDS(X)
#undef X
}

static void note_reset(uint64_t now)
{
    struct record_header *h = loupe_process.writer.header;
    if (h->mpi_phase < RECORD_MPI_FINALIZING)
        __atomic_store_n(&h->reset_at, now, __ATOMIC_RELAXED);
    h->off_ticks = 0;
    if (h->off_since)
        h->off_since = now;
}

static void note_switch(bool off, uint64_t now)
{
    struct record_header *h = loupe_process.writer.header;
    uint64_t since = __atomic_exchange_n(&h->off_since, off ? now : 0, __ATOMIC_RELAXED);
    if (since && !off)
        h->off_ticks += now - since;
    else if (since && off)
        h->off_since = since; /* another thread was first */
}

static void show_delay(struct thread *t)
{
    t->block->delay = *t->delay >> RECORD_TIME_SHIFT;
    t->block->received = t->received >> RECORD_TIME_SHIFT;
}

/* While measurement is off readers see no delay grow; the time does not count either. */
static void switch_delay(struct thread *t, bool off)
{
    struct record_thread *b = t->block;
    if (off) {
        show_delay(t);
        return;
    }
    int64_t delay = b->delay, received = b->received;
    show_delay(t);
    b->delay_before += b->delay - delay;
    b->received_before += b->received - received;
}

void thread_delay_set(struct thread *t, int64_t delay)
{
    int64_t moved = delay - *t->delay;
    *t->delay = delay;
    t->received += moved; /* so that the difference is still what its own probes have cost */
    t->apart += moved;
    for (uint32_t d = 0; d < t->region_depth; d++) {
        t->region_delay[d] += moved;
        t->block->frames[d].begin -= (uint64_t)((moved & t->taken) >> RECORD_TIME_SHIFT);
    }
    if (t->probes)
        probe_delay_moved(t->probes, moved);
    show_delay(t);
}

void thread_delay_start(struct thread *t, int64_t delay)
{
    thread_delay_set(t, delay);
    forget_delay(t->block);
}

void thread_watch(struct thread *t)
{
    t->watched = t->region_depth || t->probes;
}

void thread_extra(struct thread *t)
{
    uint64_t began = clock_now();
    while (clock_now() - began < t->extra)
        ;
    event_spent_since(t, began);
}

/* What stopped the process has cost this thread as much. */
static void add_held(struct thread *t)
{
    uint32_t held = __atomic_load_n(&t->control_at->held, __ATOMIC_RELAXED);
    if (held != t->held)
        event_spent(t, (int64_t)(clock_ticks(held - t->held) << RECORD_TIME_SHIFT));
    t->held = held;
}

bool thread_control(struct thread *t)
{
    static uint32_t resets_done; /* of the process: the first thread to see it moves the clock */
    uint64_t words = control_load(t->control_at);
    uint32_t word = (uint32_t)words;
    uint32_t resets = word >> RECORD_CONTROL_RESET_SHIFT;
    uint64_t now = clock_now();
    add_held(t);
    if (__atomic_exchange_n(&resets_done, resets, __ATOMIC_RELAXED) != resets && resets)
        note_reset(now);
    if (t->block->resets != resets) {
        reset_block(t);
        reset_regions(t, now);
        if (t->probes)
            probe_reset(t->probes);
        forget_delay(t->block);
        reset_preempted(t);
        preempt_start(t);
        __atomic_store_n(&t->block->resets, resets, __ATOMIC_RELEASE);
    }
    bool off = word & RECORD_CONTROL_OFF;
    if (off != t->off) {
        switch_delay(t, off);
        (off ? preempt_end : preempt_start)(t);
    }
    if (off != (loupe_process.writer.header->off_since != 0))
        note_switch(off, now);
    t->off = off;
    if (t->control != ~words) /* or nothing was looked up since the last time */
        memset(t->near_address, 0, sizeof t->near_address);
    t->control = off ? ~words : words; /* while off, every event comes here to see it go on */
    if (t->probes) {
        probe_loud(t->probes);
        probe_switch(t->probes, off);
        t->probes->control = word;
    }
    if ((word & RECORD_CONTROL_PATH) != t->plan_seen)
        item_obey(t, word);
    return off;
}

static bool is_nested(const struct thread *t, void *frame)
{
    /* The guarded call is gone, left by longjmp or an exception, when we stand above its frame
     * (the stack grows downwards), or below it but another call's return address is in its place.
     */
    void *const *guarded = (void *const *)(t->guard & ~(uintptr_t)GUARD_OTHER);
    if (!guarded || (uintptr_t)frame + GUARD_REACH >= (uintptr_t)guarded)
        return false;
    uintptr_t back = t->guard & GUARD_OTHER ? (uintptr_t)t->guard_return : site_address(t->open);
    return (uintptr_t)guarded[1] == back;
}

bool thread_leave_old(void)
{
    if (loupe_tls.self->control_at == loupe_control)
        return false;
    loupe_tls.self = NULL;
    tls_settle(&loupe_tls);
    loupe_probes = NULL;
    loupe_dynamic_top = UINTPTR_MAX;
    return true;
}

struct thread *event_begin_slow(void *frame)
{
    struct thread *t = loupe_tls.self;
    if (t && is_nested(t, frame))
        return NULL;
    int saved = errno;
    if (t && thread_leave_old())
        t = NULL;
    if (!t && (loupe_process.hold || !process_open()))
        return NULL;              /* errno is as it was */
    uint64_t began = clock_now(); /* there is no clock before */
    if (!t) {
        dynamic_hold(); /* what is called for it may have probes */
        t = thread_acquire();
        dynamic_go_on();
    }
    errno = saved;
    if (!t)
        return NULL;
    abandon(t);
    bool off = t->control != control_load(t->control_at) && thread_control(t);
    event_spent_since(t, began);
    return off ? NULL : t;
}
