/* SPDX-License-Identifier: MIT */
#include "runtime/process.h"

#include "record/attach.h"
#include "record/place.h"
#include "runtime/clock.h"
#include "runtime/hot.h"
#include "runtime/item.h"
#include "runtime/options.h"
#include "runtime/probe.h"
#include "runtime/thread_delay.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct record_control no_control;
const struct record_control *loupe_control = &no_control;
extern const struct record_control *probe_control __attribute__((alias("loupe_control")));
uint32_t loupe_epoch = 1, loupe_code_epoch = 1;
struct thread loupe_nobody = {.guard = GUARD_OTHER};
__thread struct runtime_tls loupe_tls = {.ready = &loupe_nobody};
struct process loupe_process;

static pthread_key_t thread_end_key;
static bool thread_end_known;
static uint32_t open_lock;

void *pages_alloc(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void pages_free(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

void slow_lock(uint32_t *lock)
{
    const struct timespec nap = {0, 50 * 1000};
    for (int tries = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); tries++)
        if (tries < 100)
            sched_yield();
        else /* a real-time thread yields to none below it, not even to the one that holds it */
            syscall(SYS_nanosleep, &nap, NULL); /* not libc's: that is a cancellation point */
}

void slow_unlock(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

void epoch_moves(void)
{
    struct record_header *h = loupe_process.writer.header;
    __atomic_fetch_add(&loupe_epoch, 1, __ATOMIC_RELEASE);
    if (h) /* threads have looked nothing up before there is one */
        __atomic_fetch_add(&h->control.epoch, 1, __ATOMIC_RELEASE);
}

uint64_t slow_lock_signals(uint32_t *lock)
{
    const uint64_t all = ~(uint64_t)0;
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
    slow_lock(lock);
    return mask;
}

void slow_unlock_signals(uint32_t *lock, uint64_t mask)
{
    slow_unlock(lock);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

const char *process_setting(const char *name)
{
    const struct attach_block *b = loupe_process.attached;
    if (!b)
        return getenv(name);
    const char *value = !strcmp(name, PLACE_ENV_JOB_DIR)   ? b->job_dir
                        : !strcmp(name, PLACE_ENV_SPILL)   ? b->spill_dir
                        : !strcmp(name, PLACE_ENV_OPTIONS) ? b->options
                                                           : "";
    return *value ? value : NULL;
}

void process_say(const char *text, const char *more)
{
    char line[512];
    if (loupe_process.attached) /* its standard error is not where anybody waits for us */
        return;
    int len = snprintf(line, sizeof line, "loupe: %s%s\n", text, more ? more : "");
    if (len > 0 &&
        write(STDERR_FILENO, line, len < (int)sizeof line ? (size_t)len : sizeof line - 1) < 0)
        return;
}

/* starttime of /proc/self/stat: with the PID it names a process for good. */
static uint64_t own_start_time(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    char *at = strrchr(text, ')'); /* the name before it may contain anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void describe(struct record_header *h)
{
    struct stat ns;
    const char *root = process_setting(PLACE_ENV_ROOT_PID);
    h->pid = getpid();
    h->pid_started = own_start_time();
    h->pid_namespace = stat("/proc/self/ns/pid", &ns) ? 0 : (uint32_t)ns.st_ino;
    h->exec_root = root && atoi(root) == h->pid;
    h->rank = -1;
    h->exit_code = -1;
    h->peers_max = loupe_process.peers_max;
    if (gethostname(h->host, sizeof h->host - 1))
        h->host[0] = '\0';
    ssize_t len = readlink("/proc/self/exe", h->program, sizeof h->program - 1);
    h->program[len > 0 ? len : 0] = '\0';
}

/* Every event is to waste so much: by the full way, which alone looks for such a wish. */
static uint64_t extra_ticks(uint64_t ns)
{
    if (!ns)
        return 0;
    loupe_short_way = false;
    return clock_ticks(ns);
}

static bool open_segment(void)
{
    struct process *p = &loupe_process;
    const char *dir = process_setting(PLACE_ENV_JOB_DIR);
    const char *spill = process_setting(PLACE_ENV_SPILL);
    if (!dir)
        return false;
    p->peers_max = options_peers();
    struct record_writer w;
    if (record_writer_open(&w, dir, spill)) {
        process_say("no room for statistics in shared memory or $TMPDIR; "
                    "the program goes on unmonitored",
                    NULL);
        return false;
    }
    describe(w.header);
    clock_open(w.header);
    w.header->started = clock_now();
    w.header->trouble |= p->trouble;
    w.header->control.budget = options_budget();
    w.header->compensation = options_compensation();
    w.header->control.word |= item_open(dir);
    p->writer = w;
    p->extra = extra_ticks(options_extra_delay());
    __atomic_store_n(&p->writer.header->magic, RECORD_MAGIC, __ATOMIC_RELEASE);
    __atomic_store_n(&loupe_control, &p->writer.header->control, __ATOMIC_RELEASE);
    item_tell(&p->writer.header->control); /* who changed it meanwhile has not seen us */
    return true;
}

bool process_open(void)
{
    struct process *p = &loupe_process;
    if (LIKELY(loupe_control != &no_control))
        return true;
    if (p->impossible)
        return false;
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    uint64_t mask = slow_lock_signals(&open_lock);
    if (loupe_control == &no_control && !p->impossible && !open_segment())
        p->impossible = true;
    slow_unlock_signals(&open_lock, mask);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return !p->impossible;
}

void process_ended(enum record_state state, int exit_code)
{
    struct record_header *h = loupe_process.writer.header;
    /* A vfork child shares this memory but is not this process. */
    if (!h || h->pid != getpid())
        return;
    h->ended = clock_now();
    clock_measure(h);
    if (exit_code >= 0)
        h->exit_code = exit_code;
    if (h->state == RECORD_RUNNING)
        __atomic_store_n(&h->state, state, __ATOMIC_RELEASE);
}

/* Without MPI, or after MPI_Finalize, leaving by exit is a normal end. */
static enum record_state state_at_exit(void)
{
    const struct record_header *h = loupe_process.writer.header;
    bool normal = h->mpi_phase == RECORD_MPI_NONE || h->mpi_phase == RECORD_MPI_FINALIZED;
    return normal ? RECORD_FINISHED : RECORD_EXITED;
}

static void at_exit(int status, void *unused)
{
    (void)unused;
    if (loupe_process.writer.header)
        process_ended(state_at_exit(), status & 0xff);
}

/* quick_exit tells its handlers no status. */
static void at_quick(void)
{
    if (loupe_process.writer.header)
        process_ended(state_at_exit(), -1);
}

static void forked_child(void)
{
    record_writer_forget(&loupe_process.writer);
    loupe_control = &no_control;
    loupe_process.impossible = loupe_process.attached; /* nobody would look for its segment */
    open_lock = 0;
    loupe_tls = (struct runtime_tls){.ready = &loupe_nobody};
    if (thread_end_known) /* or this thread's end would give away a block of the parent's */
        pthread_setspecific(thread_end_key, NULL);
    thread_forget_all();
    module_forget_all();
    site_forget_all();
    thread_delay_forget_all();
    probe_forget_all(); /* last: from here on probes count again */
}

static void thread_ended(void *t)
{
    thread_delay_end(t);
    if (loupe_tls.self == t)
        loupe_tls = (struct runtime_tls){.ready = &loupe_nobody};
    probe_thread_ended();
    thread_release(t);
}

void thread_end_arm(struct thread *t)
{
    if (thread_end_known)
        pthread_setspecific(thread_end_key, t);
}

/* Looked up at the start: _exit may be called where the dynamic linker must not be, in a signal
 * handler say. */
static void (*next_exit)(int), (*next_Exit)(int);

/* What the process and its threads do when they end, or fork. */
static void watch_ends(void)
{
    thread_end_known = !pthread_key_create(&thread_end_key, thread_ended);
    pthread_atfork(dynamic_hold, dynamic_go_on, forked_child);
    on_exit(at_exit, NULL);
    (void)at_quick_exit(at_quick);
}

bool process_start(void)
{
    static bool started;
    if (__atomic_exchange_n(&started, true, __ATOMIC_ACQ_REL))
        return !loupe_process.impossible;
    *(void **)&next_exit = dlsym(RTLD_NEXT, "_exit");
    *(void **)&next_Exit = dlsym(RTLD_NEXT, "_Exit");
    if (!getenv(PLACE_ENV_JOB_DIR)) {
        loupe_process.impossible = true;
        return false;
    }
    int saved = errno;
    watch_ends();
    probe_threads_start();
    probe_cost_start();
    const char *root = getenv(PLACE_ENV_ROOT_PID);
    if (root && atoi(root) == getpid())
        process_open();
    errno = saved;
    return true;
}

/* Nobody reads the old segment any more, but a thread that was in a call of MPI all the while may
 * still write to it: it gets pages that are its own, and another control word than it knows. */
static void leave_segment(void)
{
    struct record_writer *w = &loupe_process.writer;
    enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
    if (!w->header)
        return;
    uint32_t epoch = w->header->control.epoch + 1;
    loupe_control = &no_control;
    for (int e = 0; e < RECORD_EXTENTS; e++)
        if (w->extents[e].count)
            (void)mmap(w->extents[e].chunks, (size_t)w->extents[e].count * RECORD_CHUNK,
                       PROT_READ | PROT_WRITE, FLAGS, -1, 0);
    if (mmap(w->header, RECORD_CHUNK, PROT_READ | PROT_WRITE, FLAGS, -1, 0) != MAP_FAILED)
        w->header->control.epoch = epoch;
    record_writer_forget(w);
    thread_leave_all();
    module_leave_all();
    loupe_process.plan = NULL;
}

bool process_attach(const struct attach_block *block)
{
    static bool watching;
    struct process *p = &loupe_process;
    if (!watching) {
        watch_ends();
        probe_threads_start();
        probe_cost_start();
    }
    watching = true;
    probe_units_leave(); /* not below: who has its lock may want this one */
    uint64_t mask = slow_lock_signals(&open_lock);
    leave_segment();
    p->attached = block;
    p->trouble = 0;
    p->impossible = !open_segment();
    slow_unlock_signals(&open_lock, mask);
    return !p->impossible;
}

__attribute__((constructor)) static void start(void)
{
    process_start();
    dynamic_start();
}

/* _exit leaves no other trace; exit() does not come through here. */
static _Noreturn void leave(void (*next)(int), int status)
{
    if (loupe_process.writer.header)
        process_ended(state_at_exit(), status & 0xff);
    if (next)
        next(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORT _Noreturn void _exit(int status)
{
    leave(next_exit, status);
}

EXPORT _Noreturn void _Exit(int status)
{
    leave(next_Exit, status);
}

EXPORT int dlclose(void *handle)
{
    static int (*next)(void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlclose");
    int result = next ? next(handle) : -1;
    /* Addresses seen so far may mean other code from now on. */
    __atomic_fetch_add(&loupe_code_epoch, 1, __ATOMIC_RELEASE);
    probe_unloaded();
    epoch_moves();
    return result;
}
