/* SPDX-License-Identifier: MIT */
/* Threads of the program: each begins with the delay of the one that starts it, gets its pointers
 * to the starter before its first probe, and is known as long as it lives, for libraries that are
 * loaded later. */
#include "runtime/probe.h"

#include "runtime/process.h"
#include "runtime/thread_delay.h"
#include "runtime/thread_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct probe_living *probe_living;

/* One for each thread that is being started, then for the thread; used again. */
struct start {
    struct probe_living living;
    uint32_t forks;
    void *(*function)(void *);
    int (*function_c11)(void *);
    void *argument;
    int64_t delay; /* of who starts it, in 1/256 ticks */
    struct thread_path path;
    struct start *next; /* that is free */
};
static struct start *free_starts;

static pthread_key_t end_key;
static bool end_known;
static bool main_known;
static uint32_t forks; /* entries from before one are not in the list */

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int create_c11_function(pthread_t *, int (*)(void *), void *);
static create_function *next_create;
static create_c11_function *next_create_c11;

static void link_living(struct probe_living *l)
{
    l->thread_pointer = thread_pointer();
    l->probes = &loupe_probes;
    l->previous = NULL;
    l->next = probe_living;
    if (probe_living)
        probe_living->previous = l;
    probe_living = l;
}

static void unlink_living(struct probe_living *l)
{
    if (l->previous)
        l->previous->next = l->next;
    else
        probe_living = l->next;
    if (l->next)
        l->next->previous = l->previous;
}

/* Under the lock: the thread that attaches, which is the first one if no other is known. Others
 * came by pthread_create. In a program that ran before us any other may do it, and end: who inserts
 * reaches those. */
void probe_living_add(void)
{
    static struct probe_living first;
    if (main_known || probe_living || (loupe_process.attached && syscall(SYS_gettid) != getpid()))
        return;
    main_known = true;
    link_living(&first);
}

void probe_living_forget(void)
{
    forks++;
    probe_living = NULL;
    free_starts = NULL;
    main_known = false;
    probe_living_add();
}

static struct start *take_start(void)
{
    uint64_t mask = probe_locked();
    struct start *s = free_starts;
    if (s)
        free_starts = s->next;
    else
        s = arena_alloc(sizeof *s);
    probe_unlocked(mask);
    return s;
}

/* NULL: it starts without us. */
static struct start *prepare(void)
{
    int saved = errno;
    struct party creator;
    bool passes = party_begin(&creator);
    struct start *s = process_start() && end_known ? take_start() : NULL;
    if (s) {
        *s = (struct start){0};
        if (passes)
            thread_path_give(&s->path);
        if (passes)
            party_spent(&creator);
        s->delay = thread_delay_now();
    }
    errno = saved;
    return s;
}

static void give_back(struct start *s)
{
    uint64_t mask = probe_locked();
    s->next = free_starts;
    free_starts = s;
    probe_unlocked(mask);
}

void probe_thread_ended(void)
{
    if (probe_units)
        probe_point(thread_pointer(), false);
}

/* Its storage is about to go. */
static void ended(void *data)
{
    struct start *s = data;
    thread_delay_end(NULL);
    probe_thread_ended();
    uint64_t mask = probe_locked();
    if (s->forks == forks) {
        unlink_living(&s->living);
        s->next = free_starts;
        free_starts = s;
    } else if (probe_living && probe_living->thread_pointer == thread_pointer()) {
        unlink_living(probe_living); /* the thread that forked, and was the first one then */
    }
    probe_unlocked(mask);
}

static void begin_thread(struct start *s)
{
    uint64_t began = clock_now(), mask = probe_locked();
    int64_t delay = s->delay;
    if (end_known && !pthread_setspecific(end_key, s)) {
        s->forks = forks;
        link_living(&s->living);
        if (probe_units)
            probe_point(thread_pointer(), true);
    }
    probe_unlocked(mask);
    thread_delay_begin(delay, began);
    thread_path_begin(&s->path);
}

static void *start_thread(void *data)
{
    struct start *s = data;
    void *(*function)(void *) = s->function;
    void *argument = s->argument;
    begin_thread(s);
    return function(argument);
}

static int start_thread_c11(void *data)
{
    struct start *s = data;
    int (*function)(void *) = s->function_c11;
    void *argument = s->argument;
    begin_thread(s);
    return function(argument);
}

void probe_threads_start(void)
{
    end_known = !pthread_key_create(&end_key, ended);
    /* Before others come: what is attached later has to reach it, too. */
    uint64_t mask = probe_locked();
    if (syscall(SYS_gettid) == getpid())
        probe_living_add();
    probe_unlocked(mask);
}

/* Where the C library has them in one of its own, of which a program that we were loaded into later
 * tells us alone. */
static void *next_of(const char *name)
{
    int saved = errno;
    void *next = dlsym(RTLD_NEXT, name);
    if (!next && loupe_process.attached)
        next = dlsym(RTLD_DEFAULT, name);
    errno = saved;
    return next;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument)
{
    if (!next_create)
        *(void **)&next_create = next_of("pthread_create");
    if (!next_create)
        return EAGAIN;
    struct start *s = prepare();
    if (!s)
        return next_create(thread, attributes, function, argument);
    s->function = function;
    s->argument = argument;
    int error = next_create(thread, attributes, start_thread, s);
    if (error)
        give_back(s);
    return error;
}

/* threads.h; a pthread_t underneath. 2: thrd_error. */
EXPORT int thrd_create(pthread_t *thread, int (*function)(void *), void *argument)
{
    if (!next_create_c11)
        *(void **)&next_create_c11 = next_of("thrd_create");
    if (!next_create_c11)
        return 2;
    struct start *s = prepare();
    if (!s)
        return next_create_c11(thread, function, argument);
    s->function_c11 = function;
    s->argument = argument;
    int error = next_create_c11(thread, start_thread_c11, s);
    if (error)
        give_back(s);
    return error;
}

/* ---- blocks that are handed on ---- */

void probe_end(struct thread *t)
{
    if (t->probes) {
        probe_loud(t->probes);
        probe_close_all(t->probes);
    }
    if (loupe_probes == t->probes)
        loupe_probes = NULL;
}

void probe_take_over(struct thread *t)
{
    struct probe_thread *p = t->probes;
    if (!p)
        return;
    probe_loud(p);
    p->inside = 0;
    for (; p->top > p->frames; p->top--) {
        p->top->caller = NULL;
        p->top->item_weight = 0;
    }
    p->mirror->depth = p->mark_count = 0;
    memset(p->seen, 0, sizeof p->seen);
    memset(p->active, 0, probe_unit_count * sizeof(*p->active));
}
