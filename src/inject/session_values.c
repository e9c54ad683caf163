/* SPDX-License-Identifier: MIT */
/* Counters and timers of running processes, read without stopping them. */
#include "inject/session_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void session_clock_open(struct session *s)
{
    s->ns_origin = monotonic_ns();
    s->ticks_origin = __rdtsc();
}

/* Measured over at least so long, once: a timer's value must not shrink because a tick did. */
static double tick_ns(struct session *s)
{
    enum { LEAST_NS = 50000000 };
    if (s->tick_ns > 0)
        return s->tick_ns;
    uint64_t past = monotonic_ns() - s->ns_origin;
    if (past < LEAST_NS) {
        struct timespec rest = {.tv_nsec = (long)(LEAST_NS - past)};
        nanosleep(&rest, NULL);
    }
    uint64_t ns = monotonic_ns(), ticks = __rdtsc();
    s->tick_ns = (double)(ns - s->ns_origin) / (double)(ticks - s->ticks_origin);
    return s->tick_ns;
}

static bool sets_timer(const struct spec_action *a, uint32_t variable)
{
    for (; a; a = a->next)
        if ((a->primitive == SPEC_SET_TIMER &&
             (variable == UINT32_MAX || a->variable == variable)) ||
            sets_timer(a->body, variable))
            return true;
    return false;
}

static bool spec_sets_timer(const struct spec *spec, uint32_t variable)
{
    for (size_t i = 0; i < spec->request_count; i++)
        if (sets_timer(spec->requests[i].actions, variable))
            return true;
    return false;
}

uint64_t session_tick_scale(struct session *s, const struct spec *spec)
{
    return spec_sets_timer(spec, UINT32_MAX) ? (uint64_t)(4294967296.0 / tick_ns(s)) : 0;
}

/* Those of what was removed are free again, from zero. */
int session_take_variables(struct session *s, size_t count, uint32_t *first,
                           struct session_error *error)
{
    bool used[EMIT_VARIABLES] = {false};
    for (size_t i = 0; i < s->insertion_count; i++)
        for (size_t k = 0; !s->insertions[i].removed && k < s->insertions[i].spec->variable_count;
             k++)
            used[s->insertions[i].first_variable + k] = true;
    for (uint32_t at = 0; at + count <= EMIT_VARIABLES; at++) {
        size_t free_ones = 0;
        while (free_ones < count && !used[at + free_ones])
            free_ones++;
        if (free_ones < count)
            continue;
        for (size_t i = 0; i < s->process_count; i++) {
            struct process *p = &s->processes[i];
            for (int b = 0; p->data && b < EMIT_BLOCKS; b++) {
                memset(&p->data->blocks[b].variables[at], 0, count * sizeof(union emit_variable));
                memset(&p->shown[b * EMIT_VARIABLES + (int)at], 0, count * sizeof *p->shown);
            }
        }
        *first = at;
        return 0;
    }
    return session_fail(error, -ENOSPC, "more than %d counters and timers at once",
                        (int)EMIT_VARIABLES);
}

size_t session_living(struct session *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->process_count; i++) {
        struct process *p = &s->processes[i];
        p->gone = p->gone || !target_lives(p->target);
        if (p->gone && !p->ended)
            p->ended = __rdtsc();
        count += !p->gone;
    }
    return count;
}

/* What the thread has used of the CPU; 0: it is gone. */
static uint64_t cpu_ns(pid_t pid, pid_t tid)
{
    char path[96];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%llu", &ns) != 1)
        ns = 0;
    fclose(file);
    return ns;
}

/* One that changes all the time is taken as it comes after many tries. */
static struct emit_timer copy_timer(const struct emit_timer *at)
{
    struct emit_timer copy = {0};
    for (int i = 0; i < 10000; i++) {
        uint32_t before = __atomic_load_n(&at->version, __ATOMIC_ACQUIRE);
        copy.depth = __atomic_load_n(&at->depth, __ATOMIC_RELAXED);
        copy.begin = __atomic_load_n(&at->begin, __ATOMIC_RELAXED);
        copy.total = __atomic_load_n(&at->total, __ATOMIC_RELAXED);
        copy.clock = __atomic_load_n(&at->clock, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        copy.version = __atomic_load_n(&at->version, __ATOMIC_RELAXED);
        if (!(before & 1) && copy.version == before)
            break;
    }
    return copy;
}

/* In ticks or ns; running ones as of now. */
static uint64_t timer_now(const struct process *p, pid_t tid, const struct emit_timer *t)
{
    uint64_t value = t->total;
    if (t->depth > 0) {
        uint64_t now = t->clock ? (tid ? cpu_ns(p->pid, tid) : 0) : p->gone ? p->ended : __rdtsc();
        if (now > t->begin)
            value += now - t->begin;
    }
    return value;
}

static void add_thread(struct session_value *v, struct session_thread t)
{
    *VEC_PUSH(v->threads, v->thread_count, v->thread_room) = t;
    v->count = (int64_t)((uint64_t)v->count + (uint64_t)t.count);
    v->seconds += t.seconds;
}

static void read_block(struct session *s, struct process *p, int block, const struct insertion *in,
                       uint32_t variable, struct session_value *v)
{
    const struct emit_block *b = &p->data->blocks[block];
    const union emit_variable *at = &b->variables[in->first_variable + variable];
    struct session_thread t = {.pid = p->pid, .tid = __atomic_load_n(&b->tid, __ATOMIC_RELAXED)};
    if (!v->timer) {
        t.count = __atomic_load_n(&at->counter.value, __ATOMIC_RELAXED);
        if (t.count || block != EMIT_SHARED)
            add_thread(v, t);
        return;
    }
    struct emit_timer timer = copy_timer(&at->timer);
    uint64_t now = timer_now(p, t.tid, &timer);
    uint64_t *shown =
        &p->shown[block * EMIT_VARIABLES + (int)(in->first_variable + variable)].shown;
    if (now < *shown && !spec_sets_timer(in->spec, variable))
        now = *shown;
    *shown = now;
    t.seconds = (double)now * (timer.clock ? 1.0 : tick_ns(s)) * 1e-9;
    if (now || block != EMIT_SHARED)
        add_thread(v, t);
}

int session_read(struct session *s, uint32_t handle, struct session_values *values)
{
    const struct insertion *in = NULL;
    for (size_t i = 0; i < s->insertion_count; i++)
        if (s->insertions[i].handle == handle)
            in = &s->insertions[i];
    *values = (struct session_values){0};
    if (!in)
        return -ENOENT;
    session_living(s);
    values->count = in->spec->variable_count;
    values->values = xcalloc(values->count + 1, sizeof *values->values);
    for (uint32_t v = 0; v < values->count; v++) {
        struct session_value *value = &values->values[v];
        value->name = in->spec->variables[v].name;
        value->timer = in->spec->variables[v].timer;
        for (size_t i = 0; i < s->process_count; i++) {
            struct process *p = &s->processes[i];
            for (int b = 0; p->data && b < EMIT_BLOCKS; b++)
                if (b == EMIT_SHARED ||
                    __atomic_load_n(&p->data->blocks[b].thread, __ATOMIC_RELAXED))
                    read_block(s, p, b, in, v, value);
        }
    }
    return 0;
}

void session_values_free(struct session_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->values[i].threads);
    free(values->values);
    *values = (struct session_values){0};
}
