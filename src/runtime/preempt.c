/* SPDX-License-Identifier: MIT */
/* Called as if it were nothing: general registers only, no calls but to its own kind. */
#include "runtime/preempt.h"

#include "runtime/hot.h"
#include "runtime/system_call.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    LOOK_EVERY = 1 << 22,        /* ticks: 1.4 to 2 ms */
    READ_EVERY = 1 << 28,        /* the same of schedstat: a tenth of a second */
    COST_MOST = PREEMPT_STRETCH, /* of a look */
    UNSURE_MOST = 1 << 20, /* so much is found out at once where there is a path: reading schedstat
                              takes a thirtieth of it */
    WOKEN_LATE = 1 << 18,  /* what takes longer than that is no waking up */
    RATIO_SHIFT = 16
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0, 0};
    system_call(SYS_clock_gettime, clock, (long)&t, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long it has waited for a processor, in ns: the second number. 0: not to be had. */
static uint64_t waited_ns(void)
{
    char text[128];
    uint64_t ns = 0;
    long fd = system_call(SYS_open, (long)"/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long i = 0, len = system_call(SYS_read, fd, (long)text, sizeof text);
    system_call(SYS_close, fd, 0, 0);
    while (i < len && text[i] != ' ') /* NOLINT: the kernel has filled it */
        i++;
    for (i++; i < len && text[i] >= '0' && text[i] <= '9'; i++)
        ns = ns * 10 + (uint64_t)(text[i] - '0');
    return ns;
}

static void add(struct thread *t, uint64_t lost, uint64_t lost_mpi)
{
    t->block->preempted += lost;
    t->block->preempted_mpi += lost_mpi;
    if (t->path && (lost || lost_mpi))
        path_lost(t, lost, lost_mpi);
}

/* Of what is unsure, as much was lost as schedstat knows of and no look has found. */
static void read_waited(struct thread *t, uint64_t now)
{
    struct preempt *p = &t->preempt;
    uint64_t waited = waited_ns(), known = p->waited + p->found_ns;
    uint64_t part = waited > known && p->waited ? waited - known : 0;
    if (part >= p->unsure_ns) {
        add(t, p->unsure, p->unsure_mpi);
    } else {
        uint64_t whole = (p->unsure_ns >> 10) + 1;
        part >>= 10;
        add(t, p->unsure * part / whole, p->unsure_mpi * part / whole);
    }
    p->read_at = now;
    p->waited = waited;
    p->found_ns = p->unsure = p->unsure_mpi = p->unsure_ns = 0;
}

static void begin(struct thread *t, const struct rusage *usage)
{
    struct preempt *p = &t->preempt;
    p->switches = (uint64_t)usage->ru_nivcsw;
    p->blocks = (uint64_t)usage->ru_nvcsw;
    p->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    p->wall = clock_ns(CLOCK_MONOTONIC);
    p->ticks = clock_now(); /* last: what is lost even now is in all of them */
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Of its time so much has been inside communications, the one in progress included. */
static uint64_t talked(const struct thread *t, uint64_t now)
{
    uint64_t open = t->guard && t->open ? t->open->record->open : 0;
    return t->talked + (open ? clock_since(open, now) : 0);
}

/* The processor was lost since the last look. */
static void lost(struct thread *t, uint64_t now, const struct rusage *usage)
{
    struct preempt *p = &t->preempt;
    uint64_t span = p->ticks, wall = p->wall, cpu = p->cpu, blocks = p->blocks;
    begin(t, usage);
    uint64_t most = clock_since(p->looked, p->ticks);
    span = clock_since(span, p->ticks);
    wall = clock_since(wall, p->wall);
    cpu = clock_since(cpu, p->cpu);
    uint64_t ns = clock_since(cpu, wall); /* without a processor */
    uint64_t ratio = (span << RATIO_SHIFT) / (wall | 1);
    uint64_t ticks = least(ns * ratio >> RATIO_SHIFT, most);
    ticks -= least(ticks, p->charged);
    uint64_t mpi = least(ticks, clock_since(p->talked, talked(t, now)));
    if (blocks == p->blocks) {
        p->found_ns += ns;
        add(t, ticks - mpi, mpi);
        return;
    }
    p->unsure += ticks - mpi;
    p->unsure_mpi += mpi;
    p->unsure_ns += ns;
    if (clock_since(p->read_at, now) > READ_EVERY || (t->path && ticks > UNSURE_MOST))
        read_waited(t, now);
}

/* A look during which the processor was lost again has cost what the one before did; the rest will
 * be found by the next. */
static void spent(struct thread *t, uint64_t since)
{
    struct preempt *p = &t->preempt;
    uint64_t ticks = clock_since(since, clock_now());
    if (ticks < COST_MOST)
        p->cost = ticks;
    event_spent(t, (int64_t)(p->cost << RECORD_TIME_SHIFT));
    t->measured += (int64_t)(p->cost << RECORD_TIME_SHIFT);
}

static void look(struct thread *t, bool last)
{
    struct preempt *p = &t->preempt;
    struct rusage usage;
    uint64_t since = clock_now();
    usage.ru_nivcsw = usage.ru_nvcsw = 0;
    system_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0);
    uint64_t now = clock_now(); /* what was lost until then has been counted */
    if (!p->known) {
        begin(t, &usage);
        read_waited(t, now);
        p->known = true;
    } else if ((uint64_t)usage.ru_nivcsw != p->switches) {
        lost(t, now, &usage);
    } else if ((uint64_t)usage.ru_nvcsw != p->blocks) {
        begin(t, &usage);
    }
    if (last && p->unsure_ns)
        read_waited(t, now);
    if (t->path)
        path_looked(t);
    p->looked = now;
    p->talked = talked(t, now);
    p->charged = 0;
    t->block->looks++;
    t->look_at = last ? UINT64_MAX : now + LOOK_EVERY;
    spent(t, since);
}

__attribute__((no_caller_saved_registers)) void preempt_look(void)
{
    if (loupe_tls.self)
        look(loupe_tls.self, false);
}

void preempt_woken(struct thread *t, uint64_t since)
{
    struct preempt *p = &t->preempt;
    uint64_t now = clock_now(), late = clock_since(since, now);
    if (!p->known || !p->waited || late < WOKEN_LATE)
        return;
    uint64_t waited = waited_ns(), known = p->waited + p->found_ns;
    uint64_t wall = clock_since(p->wall, clock_ns(CLOCK_MONOTONIC));
    uint64_t ratio = (clock_since(p->ticks, now) << RATIO_SHIFT) / (wall | 1);
    uint64_t ns = clock_since(known, waited), ticks = ns * ratio >> RATIO_SHIFT;
    p->found_ns += ns;
    add(t, ticks < late ? ticks : late, 0);
    spent(t, now);
}

void preempt_wait(struct thread *t)
{
    t->look = (void (*)(void))preempt_look; /* called by a jump that knows what it keeps */
    t->preempt = (struct preempt){0};
    t->look_at = 0;
}

void preempt_start(struct thread *t)
{
    preempt_wait(t);
    look(t, false);
}

void preempt_end(struct thread *t)
{
    struct preempt *p = &t->preempt;
    if (p->known) {
        look(t, true);
        p->known = false;
    }
}
