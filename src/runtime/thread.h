/* SPDX-License-Identifier: MIT */
/*
 * What a thread keeps for itself, outside shared memory: how to find the record of a statement
 * fast. The MPI layer and the regions share it; nothing here knows MPI.
 */
#ifndef LOUPE_RUNTIME_THREAD_H
#define LOUPE_RUNTIME_THREAD_H

#include "record/layout.h"
#include "record/writer.h"
#include "runtime/preempt.h"

#include <stdbool.h>
#include <stdint.h>

/* A peer of a statement: (rank, direction) to its record. */
struct peer_slot {
    struct record_peer *record; /* NULL: free slot */
    int32_t rank;
    uint32_t direction;
};

struct peer_index {
    struct peer_slot *slots;
    uint32_t mask; /* slots - 1; 0: none yet */
    uint32_t count;
    uint32_t kept[RECORD_DIRECTIONS]; /* of `count` */
    struct record_peer *others[RECORD_DIRECTIONS];
};

struct stream; /* of the MPI layer */
struct path;   /* runtime/path.h */

/* A rank in the site's last communicator, and where its messages are counted. */
struct near_peer {
    struct record_peer *record;
    int32_t rank;          /* NEAR_NONE: empty */
    int32_t world;         /* the same process in MPI_COMM_WORLD */
    struct stream *stream; /* of the messages with `tag`; NULL: they have no headers */
    int32_t tag;           /* the last one; NEAR_NONE: not known */
};
enum { NEAR_PEERS = 4, NEAR_NONE = INT32_MIN };

/* Which posts of a statement are timed (runtime/post.h). */
struct post_sampling {
    uint32_t skip;   /* so many are only counted, */
    int32_t left;    /* then so many timed; then it is decided anew */
    uint32_t weight; /* of those, each: how many it stands for */
    uint32_t drawn;  /* which block of its stratum they are */
    bool last_known;
    int64_t block, last; /* ticks of those, and of the ones before */
    uint64_t decided;    /* when, */
    uint64_t count;      /* and executions then */
};

/* A statement as one thread sees it. `comm`, `type`: the last ones used here with what was looked
 * up for them; valid while loupe_epoch stands still, and the epochs of mpi/ too. */
struct site {
    struct thread *thread;
    struct record_statement *record;
    uint32_t index; /* among the block's statements */
    uint32_t call;  /* as in the record */
    uintptr_t comm, type;
    uint64_t type_size;
    struct post_sampling posts;
    struct near_peer near[RECORD_DIRECTIONS][NEAR_PEERS]; /* by rank in `comm`, modulo */
    uint64_t key;
    uint32_t epoch;      /* of the last check that what was looked up is good */
    uint32_t code_epoch; /* of the last check that the address is still the same code */
    uint32_t module;
    uint8_t item; /* of the critical path; RECORD_PATH_NO_ITEM: it is none */
    uint32_t comm_epoch, type_epoch;
    int32_t last_rank[RECORD_DIRECTIONS];
    struct record_peer *last_peer[RECORD_DIRECTIONS];
    const void *comm_info;
    struct peer_index peers;
} __attribute__((aligned(64)));

struct site_slot {
    uint64_t key; /* 0: free */
    struct site *site;
};

enum { NEAR_SITES = 128, THREAD_ROOM = 1024 };

/* What an event costs, in 1/256 ticks (runtime/event_cost.c). */
struct event_cost {
    int64_t all;     /* what the program loses */
    int64_t rounded; /* to be taken off what its two readings of the clock say, for ticks: */
    int64_t inside;  /* what they say of a call that does nothing, rounded */
};

/* What every event needs comes first. */
struct thread {
    uintptr_t guard;   /* stack frame of the event in progress, or with GUARD_OTHER; 0: none */
    struct site *open; /* the event in progress; means nothing while there is no guard */
    uint64_t control;  /* control words this thread has acted on */
    const struct record_control *control_at;
    uint64_t covered;   /* ticks inside events: of use while a region is open */
    void *room;         /* THREAD_ROOM bytes, for what the MPI layer keeps over one call */
    void *guard_return; /* with GUARD_OTHER: the return address in that frame */
    uint32_t region_depth;
    bool off;
    uint32_t held; /* of the control words, as this thread has acted on it */
    /* Real less virtual time, in 1/256 ticks: `own_delay`, or where its probes have it. Only
     * changed by the thread itself. */
    int64_t *delay;
    uint64_t talked;  /* real ticks inside communications */
    uint64_t watched; /* a region is open, or there are probes: `covered` and `apart` are of use */
    int64_t apart; /* of it, all but what timing probes in the source has cost: no one's budget */
    struct record_thread *block;
    struct event_cost short_cost; /* of the short way */
    int64_t taken;                /* -1; 0: nothing is taken out of the times that are recorded, */
    int64_t told;                 /* nor (0) what others' delay has caused */
    struct event_cost full_cost;  /* of the full way, when nothing is looked up there */
    int64_t post_cost;            /* of a post that is only counted, in 1/256 ticks */
    struct path *path;            /* the critical path as it knows it; NULL: there is none */
    uint64_t look_at;             /* when to see next whether it has lost its processor, */
    void (*look)(void);           /* and by what */
    /* Sites that are good as they are, by a hash of their return address; emptied when `control`
     * changes. */
    uintptr_t near_address[NEAR_SITES];
    struct site *near_site[NEAR_SITES];
    int64_t own_delay;
    int64_t received; /* of the delay, in 1/256 ticks: what came from others */
    struct preempt preempt;
    struct path *path_kept; /* for the next time there is one; NULL: never was */
    int64_t measured;       /* of it: what slow paths have cost */
    uint64_t post_switches; /* of its processor to others, when a post last asked for it */
    uint64_t extra;         /* a test's wish: ticks that every event is to cost more */
    uint32_t block_index;
    uint32_t statement_count;
    struct site_slot *slots;
    uint32_t shift, slot_mask, slot_count;
    struct probe_thread *probes; /* NULL: none yet */
    struct plan *plan;           /* as this thread has acted on it, private; NULL: never yet */
    uint32_t plan_seen;          /* those bits of the control word then */
    bool plan_started;           /* by this thread, not one that had the block before */
    struct site *others;         /* statement 0 of the block, for what does not fit */
    struct site *unseen; /* for events while measurement is off; no reader sees its record */
    struct record_cursor statements, peers;
    void *scratch; /* for calls with long arrays of requests; kept for the next one */
    size_t scratch_bytes;
    /* every chunk with records of this block, for a reset */
    struct record_chunk **chunks;
    uint32_t chunk_count, chunk_room;
    uint64_t region_covered[RECORD_FRAMES]; /* `covered` when each open region began, */
    uint64_t region_begin[RECORD_FRAMES];   /* when that was, */
    int64_t region_delay[RECORD_FRAMES];    /* and the delay then */
    struct site *region_site[RECORD_FRAMES];
    uint32_t region_again[RECORD_FRAMES]; /* begins of the same, too deep for frames of their own */
};

/* Initial-exec: the stubs and shims reach it without a call. */
struct runtime_tls {
    struct thread *self;   /* NULL: no block (yet) */
    void **fortran_frame;  /* where the return address of the Fortran call in progress stands */
    void *fortran_address; /* what stood there */
    uint32_t fortran_call; /* which call */
    uint32_t via_pmpi;     /* 1: entered by its PMPI name; read and cleared at once */
    /* `self`, while calls of MPI are what they seem: none through a Fortran binding or by its PMPI
     * name. Else loupe_nobody: the stubs of those put it there, tls_settle() puts it right. Always
     * loupe_nobody on a machine where the short way (event_ready) cannot go. */
    struct thread *ready;
};
extern struct thread loupe_nobody EXPORT; /* has a guard for ever */
extern bool loupe_short_way EXPORT;       /* set once, before the first event */
extern __thread struct runtime_tls loupe_tls EXPORT __attribute__((tls_model("initial-exec")));

static inline void tls_settle(struct runtime_tls *tls)
{
    bool plain = loupe_short_way && !tls->fortran_frame && !tls->via_pmpi;
    tls->ready = plain && tls->self ? tls->self : &loupe_nobody;
}

/* The block of the calling thread, made if need be; NULL when monitoring is impossible. */
struct thread *thread_acquire(void);
/* Leaves it, if it is of an earlier segment, which nobody reads; there must be one. */
bool thread_leave_old(void);
/* Gives the block of an ended thread to the next one. */
void thread_release(struct thread *t);
/* Has thread_release called when the calling thread ends. */
void thread_end_arm(struct thread *t);
/* In a forked child: the blocks are the parent's. */
void thread_forget_all(void);
/* The process has another segment now: threads get blocks in it at their next events. */
void thread_leave_all(void);
/* Acts on the control word: measurement off, resets. Returns t->off. */
bool thread_control(struct thread *t) EXPORT_AS(thread_control);

/* From now on the calling thread's delay is this (1/256 ticks): it goes on where another got to.
 * What it has open began in its own time. */
void thread_delay_set(struct thread *t, int64_t delay) EXPORT_AS(thread_delay_set);
/* The same at the end of MPI_Init, where the rank's time begins: readers see the delay since. */
void thread_delay_start(struct thread *t, int64_t delay) EXPORT_AS(thread_delay_start);
/* Wastes time, for a test, and accounts for it. */
void thread_extra(struct thread *t) EXPORT_AS(thread_extra);
/* To be called when a region begins or ends, and when there are probes. */
void thread_watch(struct thread *t);
/* Finds out what events cost: at the start, and when it may have been found out badly. */
void event_calibrate(void) EXPORT_AS(event_calibrate);
/* Gives a thread what is known of it. */
void event_costs(struct thread *t);

/* Private memory that lives as long as the process; NULL when there is none. */
void *arena_alloc(size_t bytes) EXPORT_AS(arena_alloc);
/* Room for a record of this thread's block, not yet published. */
void *next_record(struct thread *t, struct record_cursor *c, enum record_kind kind, size_t size);
/* NULL: it does not fit. */
struct site *site_add(struct thread *t, uint64_t key, uintptr_t address, uint32_t call);
struct site *site_add_region(struct thread *t, uint64_t key, const char *name);

#endif
