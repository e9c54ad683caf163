/* SPDX-License-Identifier: MIT */
/*
 * What the parts of target.h's implementation share. One thread of ours, the tracer, makes every
 * ptrace request (they belong to a thread) and waits for all stops; the caller's thread hands it
 * work and sleeps meanwhile. What the tracer does for events (threads, forks) it does with
 * `lock` held, so does the caller whenever it changes lists that the tracer reads.
 */
#ifndef LOUPE_INJECT_TARGET_PARTS_H
#define LOUPE_INJECT_TARGET_PARTS_H

#include "inject/target.h"

#include <pthread.h>
#include <sys/user.h>

enum { THREAD_RUNS, THREAD_STOPPED };

struct thread {
    struct target *target; /* NULL: it stopped before the event that says whose it is */
    pid_t tid;
    int state;
    int status;      /* of the stop, as waitpid gives it */
    bool foreign;    /* of another process that shares the memory, not the files */
    bool vforking;   /* in the kernel until its child lets it go */
    bool regs_valid; /* of this stop */
    bool regs_changed;
    struct user_regs_struct regs;
    struct thread *next; /* in its bucket */
};

/* A mapping of the target. */
struct map_entry {
    uint64_t start, end, offset, inode;
    uint32_t device;
    char perms[5];
    uint32_t path; /* offset in `text`; 0: none */
};
struct maps {
    struct map_entry *entries;
    size_t count, room;
    char *text;
    size_t text_room;
};

/* Memory of ours in the target: the same pages here and there. */
enum arena_kind { ARENA_CALLS, ARENA_CODE, ARENA_DATA, ARENA_JOURNAL };
enum { KEPT_FOR_GOOD = 1 };
enum { ARENA_CALLS_BYTES = 64 << 10 }; /* behind them the first journal */
#define ARENA_CALLS_NAME   "loupe-calls"
#define ARENA_JOURNAL_NAME "loupe-journal"
struct span {
    uint64_t start, end;
    bool seen; /* of a quarantined one: something may still lead into it */
};
struct arena {
    enum arena_kind kind;
    uint64_t remote;
    uint8_t *local;
    size_t bytes, used; /* used: never anything behind it */
    struct span *free;  /* sorted by start, no two touch */
    size_t free_count, free_room;
    struct span *waiting; /* given back, perhaps still in use */
    size_t waiting_count, waiting_room;
};

/* What stands in the code that did not stand there before us. */
struct change {
    uint64_t address;
    uint8_t bytes;
    uint8_t before[32], now[32];
    uint8_t stands; /* as of struct target_patch */
    uint64_t back;
    struct journal_entry *noted; /* NULL: nowhere */
};

struct module_identity {
    uint64_t start, end, inode;
    uint32_t device;
};

struct target {
    pid_t pid;
    int mem;            /* /proc/PID/mem */
    _Atomic(bool) dead; /* ended, or another program */
    bool stopping;      /* stopped threads stay so */
    bool held;          /* they do when others would go on (targets_hold) */
    size_t running;     /* threads that a stop has to wait for */
    size_t thread_count;
    pthread_mutex_t lock;
    struct maps maps;
    struct target_module *modules;
    struct module_identity *identities;
    size_t module_count, module_room;
    struct arena **arenas;
    size_t arena_count, arena_room;
    struct arena *calls;
    struct change *changes; /* sorted by address */
    size_t change_count, change_room;
    struct journal *journal; /* the last of them */
    size_t journal_used, journal_room;
    struct journal **journals;
    size_t journal_count, journals_room;
    struct journal_entry **journal_free;
    size_t journal_free_count, journal_free_room;
    bool pinned;               /* a child shares our code: never use any of it again */
    uint64_t gadget, restorer; /* "syscall; ret" and what returns from a signal handler */
    bool naive;                /* for tests: writes without stopping */
    bool leaving;              /* who still stops is let go */
};

/* target_tracer.c: the thread */
/* Runs `work` in the tracer's thread; its result. */
int tracer_do(int (*work)(void *), void *argument);
/* One stop or end of a tracee, handled; -EAGAIN after a call of the tracer's alarm. */
int tracer_event(void);
/* The next of this one alone, whatever calls us meanwhile. */
int tracer_wait(pid_t tid, int *status);
void tracer_alarm(uint64_t ns); /* from now, again and again; 0: none */
void tracer_serve(uint64_t ns); /* handles events for so long */
/* Every ptrace request goes through here. */
long trace(int request, pid_t tid, void *address, void *data);
/* For tests: our own death before the request of this number; 0: never. */
extern unsigned long target_test_die_at;
extern unsigned long target_test_requests;

/* target_threads.c: in the tracer's thread */
int threads_seize(struct target *t, struct target_error *error);
struct thread *thread_find(pid_t tid);
struct thread *thread_add(struct target *t, pid_t tid);
void thread_forget(struct thread *th);
void thread_event(pid_t tid, int status);
int threads_stop(struct target **targets, size_t count);
void threads_resume(struct target **targets, size_t count);
void threads_let_go(struct target *t); /* all stopped ones: detached */
struct user_regs_struct *thread_regs(struct thread *th);
void thread_resume(struct thread *th);
size_t threads_total(void);
/* Calls `f` for each thread of `t`. */
void threads_each(struct target *t, void (*f)(struct thread *th, void *data), void *data);
/* It stands in a system call that will be made again: `pc` - 2. */
bool regs_restart(const struct user_regs_struct *r);

/* target_events.c: clone, fork, exec, exit */
void thread_stopped(struct thread *th);
void event_claim(struct target *t, struct thread *parent, pid_t child);

/* target_refuse.c: why a process cannot be had */
int target_check(pid_t pid, struct target_error *error);
int target_refused(pid_t pid, int why, struct target_error *error);
/* The number after `key` in a status file; -1: it is not there. */
long status_number(const char *path, const char *key, int base);

/* target_maps.c */
int maps_read(struct target *t, struct maps *maps);
const struct map_entry *maps_at(const struct maps *maps, uint64_t address);
const char *maps_path(const struct maps *maps, const struct map_entry *e);
void maps_free(struct maps *maps);
/* A free place of `bytes` from which all of [near, near_end) can be reached; 0: none. */
uint64_t maps_gap(const struct maps *maps, uint64_t near, uint64_t near_end, size_t bytes);
int mem_read(const struct target *t, uint64_t address, void *into, size_t bytes);
int mem_write(int mem, uint64_t address, const void *from, size_t bytes);

/* target_remote.c: system calls made by the target, in the tracer's thread */
struct remote {
    struct target *target;
    struct thread *thread;
    int mem; /* of the process that the thread belongs to */
    uint64_t frame;
    struct user_regs_struct saved;
    uint64_t mask;
    bool called;
    uint8_t *below; /* what stood where the frame is; NULL: that is memory of ours */
    uint64_t below_at;
    size_t below_bytes;
};
int remote_begin(struct remote *r, struct target *t, struct thread *th, int mem);
/* A thread that can do it; NULL: none now. */
struct thread *remote_thread(struct target *t);
long remote_call(struct remote *r, long number, const uint64_t arguments[6]);
/* Bytes that calls may point to, until the next of these. 0: no room. */
uint64_t remote_put(struct remote *r, const void *from, size_t bytes);
bool remote_end(struct remote *r); /* false: the thread was killed, and is forgotten */
bool remote_find_code(struct target *t);

/* target_memory.c */
struct arena *arena_of(struct target *t, uint64_t remote);
void arenas_unseen(struct target *t); /* before looking at threads in a stop */
void arenas_seen(struct target *t, uint64_t word);
void arenas_keep(struct target *t);  /* it cannot be told: nothing is used again */
void arenas_reuse(struct target *t); /* what was not seen */
bool arenas_waiting(const struct target *t);
void arenas_drop(struct target *t);
/* Private ones for a forked child. -ECHILD: it was killed, and is forgotten. */
int arenas_copy(struct target *t, struct thread *child);
struct arena *arena_make(struct target *t, enum arena_kind kind, size_t bytes, uint64_t near,
                         uint64_t near_end);

/* target_scan.c: what the threads' stacks lead to */
/* Moves saved program counters out of the windows of `patches` (sorted), and tells the arenas what
 * is still in use. With patches NULL only the latter. -EBUSY: one cannot be moved; nothing was. */
int threads_move(struct target *t, const struct target_patch *patches, size_t count);

/* target_patch.c */
int patches_leave(struct target *t, bool keep);
/* What another one has left; nothing of it is ours to put back. */
int patches_restore(const struct target_changes *changes, size_t count,
                    const struct target_also *also);

/* target_journal.c: what will be there, before it is; `e`: where it was noted before. NULL: there
 * is no room. */
struct journal_entry *journal_note(struct target *t, struct journal_entry *e,
                                   const struct target_patch *p);
void journal_forget(struct target *t, struct journal_entry *e); /* accepts NULL */
void journal_keep(struct target *t, uint32_t kept); /* KEPT_FOR_GOOD, or the process that returns */
void journal_keep_ours(struct target *t);           /* the process that returns is this one */
void journal_drop(struct target *t);

#endif
