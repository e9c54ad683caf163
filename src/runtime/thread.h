/* SPDX-License-Identifier: MIT */
/*
 * What a thread keeps for itself, outside shared memory: how to find the record of a statement
 * fast. The MPI layer and the regions share it; nothing here knows MPI.
 */
#ifndef LOUPE_RUNTIME_THREAD_H
#define LOUPE_RUNTIME_THREAD_H

#include "record/layout.h"
#include "record/writer.h"

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
    struct record_peer *others[RECORD_DIRECTIONS];
};

/* A statement as one thread sees it. `comm`, `type`: the last ones used here with what was looked
 * up for them; valid while the epochs (mpi/) have not moved on. */
struct site {
    uint64_t key;
    struct thread *thread;
    struct record_statement *record;
    uint32_t index;      /* among the block's statements */
    uint32_t code_epoch; /* of the last check that the address is still the same code */
    uint32_t module;
    uint32_t comm_epoch, type_epoch;
    int32_t last_rank[RECORD_DIRECTIONS];
    struct record_peer *last_peer[RECORD_DIRECTIONS];
    uintptr_t comm, type;
    const void *comm_info;
    uint64_t type_size;
    struct peer_index peers;
};

struct site_slot {
    uint64_t key; /* 0: free */
    struct site *site;
};

struct thread {
    struct record_thread *block;
    uint32_t block_index;
    uint32_t control;   /* control word this thread has acted on */
    void **guard;       /* stack frame of the event in progress; NULL: none */
    void *guard_return; /* the return address in that frame: while it stands there, it lives */
    uint64_t covered;   /* ticks inside events that ended while a region was open */
    uint32_t region_depth;
    uint32_t statement_count;
    struct site_slot *slots;
    uint32_t shift, slot_mask, slot_count;
    struct probe_thread *probes; /* NULL: none yet */
    struct site *others;         /* statement 0 of the block, for what does not fit */
    struct record_cursor statements, peers;
    bool off;
    void *scratch; /* for calls with long arrays of requests; kept for the next one */
    size_t scratch_bytes;
    /* every chunk with records of this block, for a reset */
    struct record_chunk **chunks;
    uint32_t chunk_count, chunk_room;
    uint64_t region_covered[RECORD_FRAMES]; /* `covered` when each open region began */
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
};
extern __thread struct runtime_tls loupe_tls EXPORT __attribute__((tls_model("initial-exec")));

/* The block of the calling thread, made if need be; NULL when monitoring is impossible. */
struct thread *thread_acquire(void);
/* Gives the block of an ended thread to the next one. */
void thread_release(struct thread *t);
/* Has thread_release called when the calling thread ends. */
void thread_end_arm(struct thread *t);
/* In a forked child: the blocks are the parent's. */
void thread_forget_all(void);
/* Acts on the control word: measurement off, resets. Returns t->off. */
bool thread_control(struct thread *t) EXPORT_AS(thread_control);

/* Private memory that lives as long as the process; NULL when there is none. */
void *arena_alloc(size_t bytes) EXPORT_AS(arena_alloc);
/* Room for a record of this thread's block, not yet published. */
void *next_record(struct thread *t, struct record_cursor *c, enum record_kind kind, size_t size);
/* NULL: it does not fit. */
struct site *site_add(struct thread *t, uint64_t key, uintptr_t address, uint32_t call);
struct site *site_add_region(struct thread *t, uint64_t key, const char *name);

#endif
