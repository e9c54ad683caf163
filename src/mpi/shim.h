/* SPDX-License-Identifier: MIT */
/*
 * Inside a shim: the wrappers for one MPI's ABI. A shim is compiled against that MPI's mpi.h but
 * not linked with it: every MPI function is called through `shim_next`, which the preloaded
 * library fills with whatever definition comes next after ours.
 */
#ifndef LOUPE_MPI_SHIM_H
#define LOUPE_MPI_SHIM_H

#include "mpi/abi.h"
#include "mpi/call_ids.h"
#include "mpi/shim_table.h"
#include "runtime/hot.h"
#include "runtime/process.h"

#pragma GCC visibility push(hidden) /* or every use would go through the GOT */

/* The next definitions: [0] of MPI_X, [1] of PMPI_X. They differ when another tool is there. */
extern void *shim_next[2][CALLS];
#define NEXT(via, prototype, X) ((__typeof__(&prototype))shim_next[via][CALL_##X])
/* What we call ourselves: never through another tool, never counted. */
#define PM(X) NEXT(1, PMPI_##X, X)

extern bool shim_multiple; /* MPI_THREAD_MULTIPLE: tables of the process need their lock */
/* Something travels beside messages and collectives. Decided once, before the first that counts. */
extern bool shim_headers;

static inline uint32_t shim_via(void)
{
    uint32_t via = loupe_tls.via_pmpi;
    if (UNLIKELY(via)) {
        loupe_tls.via_pmpi = 0;
        tls_settle(&loupe_tls);
    }
    return via;
}

/* The Fortran statement behind a call from the binding layer; the address itself for C; NULL for
 * what the binding layer calls for its own purposes. */
void *shim_fortran_address(void *address, void *frame, uint32_t call, bool plain);

/* Makes the stack of a wrapper so deep that what is called from inside is below the guard by more
 * than GUARD_REACH, even if it was only jumped to. */
#define SHIM_DEEP                                                                                  \
    char deep[GUARD_REACH];                                                                        \
    __asm__ volatile("" : "=m"(deep))

HOT bool shim_enter(struct event *e, uint32_t call, void *address, void *frame, bool plain)
{
    SHIM_DEEP;
    if (UNLIKELY(loupe_tls.fortran_frame != NULL)) {
        address = shim_fortran_address(address, frame, call, plain);
        if (!address)
            return false;
    }
    return event_enter(e, call, address, frame);
}

HOT bool shim_begin(struct event *e, uint32_t call, void *address, void *frame, bool plain)
{
    bool recorded = shim_enter(e, call, address, frame, plain);
    if (LIKELY(recorded))
        event_start(e);
    return recorded;
}

/* For those who have something to look up before the clock starts: event_start() follows. */
#define ENTER(e, call)                                                                             \
    shim_enter(e, call, __builtin_return_address(0), __builtin_frame_address(0), false)
#define ENTER_PLAIN(e, call)                                                                       \
    shim_enter(e, call, __builtin_return_address(0), __builtin_frame_address(0), true)
#define BEGIN(e, call, plain)                                                                      \
    shim_begin(e, call, __builtin_return_address(0), __builtin_frame_address(0), plain)

/* Communicators and windows (comm.c). Ranks of an info are world ranks. */
struct comm_info {
    uintptr_t key;
    int32_t *map;  /* NULL: identity */
    int32_t count; /* ranks one can send to: the remote group of an intercommunicator */
    int32_t me;    /* own rank in it; -1 in an intercommunicator */
    int32_t *out;  /* world ranks of the out-neighbours, if asked for; NULL: none or unknown */
    int32_t *in;   /* the same of the in-neighbours; may be `out` */
    int32_t out_count, in_count; /* -1: not asked for yet */
    uint32_t users;       /* requests from any source that still need it, and the cache itself */
    bool filled;          /* map, count and me are looked up */
    bool has_groups;      /* some of its members made communicators by themselves */
    uint64_t id;          /* the same on all members, never used again; 0: unknown */
    uint64_t collectives; /* begun on it by this rank so far */
    uint64_t children;    /* communicators that all of it have made so far */
    struct meet *meet;    /* who comes to its collectives (meet.h); NULL: not asked yet */
    struct comm_info *next_free;
};
extern uint32_t shim_comm_epoch, shim_type_epoch;
const struct comm_info *comm_of_slow(struct site *site, MPI_Comm comm);
const struct comm_info *win_of_slow(struct site *site, MPI_Win win);
/* With the neighbours of its topology looked up. */
const struct comm_info *comm_with_neighbors(struct site *site, MPI_Comm comm);
void comm_forget(uintptr_t key);
/* The lock of the table. With it: the info of one from which another is made, perhaps not filled;
 * NULL: nothing is known of it, not even its id. */
void comms_enter(void);
void comms_leave(void);
struct comm_info *comm_as_parent(MPI_Comm comm);
/* `comm` is new: what was known under its handle is of another. */
void comm_identify(MPI_Comm comm, uint64_t id);
void comms_forget(void); /* all of them: some may have gone while nobody looked */
void comm_hold(const struct comm_info *info);
void comm_release(const struct comm_info *info);

/* Communicators come into being (create.c): after the call, if it went well. `made` by all of
 * `parent`, or by a group of it, or between two groups, or in a way of which the id is unknown. */
void comm_made(MPI_Comm parent, const MPI_Comm *made);
void comm_made_of_group(MPI_Comm parent, int tag, const MPI_Comm *made);
void comm_made_between(int tag, const MPI_Comm *made);
void comm_made_unknown(const MPI_Comm *made);
/* A duplicate that is being made, before and after the call that begins it. Its handle is usable
 * later, but written by then, or else its id stays unknown. */
MPI_Comm comm_making(MPI_Comm *made);
void comm_making_made(int result, MPI_Comm parent, MPI_Comm *made, MPI_Comm before);
/* Of one that nobody has seen being made: the same for all that have the same members. */
uint64_t comm_id_by_members(MPI_Comm comm);
/* MPI_COMM_WORLD and MPI_COMM_SELF, which nobody makes, have an id; 0 for others. */
bool comm_predefined(uintptr_t key);
uint64_t comm_predefined_id(uintptr_t key);
/* Something that all ranks of this world know and no other world does: before the first use of a
 * communicator. */
void comm_world_nonce(uint64_t nonce);

static inline const struct comm_info *comm_of(struct site *site, MPI_Comm comm)
{
    if (LIKELY(site->comm == HANDLE(comm) && site->comm_epoch == shim_comm_epoch))
        return site->comm_info;
    return comm_of_slow(site, comm);
}

static inline const struct comm_info *win_of(struct site *site, MPI_Win win)
{
    if (LIKELY(site->comm == HANDLE(win) && site->comm_epoch == shim_comm_epoch))
        return site->comm_info;
    return win_of_slow(site, win);
}

static inline int32_t world_rank(const struct comm_info *info, int rank)
{
    if (!info) /* the table is full: nothing is known of it */
        return RECORD_PEER_OTHERS;
    if (UNLIKELY((uint32_t)rank >= (uint32_t)info->count))
        return RECORD_PEER_FOREIGN;
    return LIKELY(!info->map) ? rank : info->map[rank];
}

void type_forget(void); /* of one that is being freed */
uint64_t type_size_slow(struct site *site, MPI_Datatype type);
static inline uint64_t type_size(struct site *site, MPI_Datatype type)
{
    if (LIKELY(site->type == HANDLE(type) && site->type_epoch == shim_type_epoch))
        return site->type_size;
    return type_size_slow(site, type);
}

/* One message of this event; `rank` is in the communicator. */
static inline void count_message(struct event *e, const struct comm_info *info, int rank,
                                 uint32_t direction, uint64_t bytes, uint64_t ticks)
{
    if (rank == MPI_PROC_NULL)
        return;
    struct site *site = e->site;
    struct near_peer *near = near_peer(site, rank, direction);
    bool known = site->comm_info == info; /* not of a message from a matched probe */
    statement_bytes(site->record, bytes);
    if (LIKELY(known && near->rank == rank)) {
        peer_add(near->record, bytes, ticks);
        return;
    }
    int32_t world = world_rank(info, rank);
    event_peer(e->thread, site, world, direction, bytes, ticks);
    if (known && site->last_peer[direction] && site->last_rank[direction] == world)
        *near = (struct near_peer){
            .record = site->last_peer[direction], .rank = rank, .world = world, .tag = NEAR_NONE};
}

/* The messages of a peer with this tag; of the communicator that the site used last. */
static inline void near_stream(struct site *site, int rank, uint32_t direction, int tag,
                               struct stream *stream)
{
    struct near_peer *near = near_peer(site, rank, direction);
    if (near->rank == rank) {
        near->tag = tag;
        near->stream = stream;
    }
}

/* Requests whose completion tells something: receives, reads, persistent ones (request.c). */
enum pending_kind {
    PENDING_MESSAGE, /* a matched message, until it is received */
    PENDING_RECV,
    PENDING_READ,
    PENDING_COLLECTIVE,
    PENDING_SEND,      /* one that may wait for its receive */
    PENDING_SEND_INIT, /* persistent from here on */
    PENDING_RECV_INIT
};

struct pending {
    uintptr_t key;                /* the handle; 0: free slot */
    struct site *site;            /* statement that posted or started it, in the thread that did */
    const struct comm_info *info; /* held: persistent ones, collectives, if from any source */
    int32_t rank;                 /* world rank, or SHIM_ANY, SHIM_NOBODY; a collective's root */
    int32_t tag;                  /* may be MPI_ANY_TAG; of a collective what it is */
    uint8_t kind;                 /* enum pending_kind */
    uint8_t active;               /* persistent: started and not yet complete */
    uint8_t listed;               /* `post` it is */
    uint8_t tested;               /* was found incomplete by a Test */
    uint32_t number;              /* with `stream`: the message's in it */
    union {
        uint64_t bytes;           /* persistent sends; the number of a collective */
        struct record_peer *peer; /* with `quick` */
    };
    union {
        uint64_t serial; /* never reused, unlike handles; MPI_THREAD_MULTIPLE */
        struct thread
            *quick; /* else: a receive of this thread whose peer has its record; or NULL */
    };
    union {
        struct stream *stream; /* a receive's; NULL: its message has no header */
        struct post *post;     /* which message it gets is to be found out */
    };
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct pending) == 64, "a cache line");
enum { SHIM_ANY = -100, SHIM_NOBODY = -101 };

/* The table, open addressing by handle. Behind the last slot is one that is never free, so that
 * one can look at the next of any slot. */
struct pending_table {
    struct pending *slots;
    uint32_t mask;       /* slots - 1 */
    uint32_t bytes_mask; /* the same in bytes */
    uint32_t used, most; /* slots in use; the table grows when there are so many */
    /* For those who go without the lock (fast.h): `most`, and how many requests they look at. With
     * MPI_THREAD_MULTIPLE none. */
    uint32_t fast_most;
    int32_t fast_count;
};
extern struct pending_table shim_requests;

/* Handles come in sequences: the product spreads them, in its low bits and its high bits. */
static inline struct pending *request_home(uintptr_t key)
{
    uint32_t at = ((uint32_t)key * 0x9e39e377u >> 6) & shim_requests.bytes_mask;
    return (struct pending *)((char *)shim_requests.slots + at);
}

void requests_open(bool multiple);
void requests_forget(void); /* all of them, as comms_forget */
/* The lock, with MPI_THREAD_MULTIPLE: for the calls down to request_start, and around the call
 * that posts a receive, so that the order here is MPI's. */
void requests_enter(void);
void requests_leave(void);
enum { NO_TAG = INT32_MIN }; /* not matched by tags: no headers */
void request_track(struct event *e, MPI_Request request, enum pending_kind kind,
                   const struct comm_info *info, int rank, int tag, uint64_t bytes);
/* A send that may end only when its receive is posted. */
void request_track_send(struct event *e, MPI_Request request, struct stream *s, uint32_t number,
                        uint64_t bytes);
/* The same for a matched message that is being received. */
void request_track_message(struct event *e, MPI_Request request, const struct pending *message);
/* A persistent request, before it is started: the stream into which a header has gone. */
struct stream *request_publish(struct event *e, MPI_Request request);
void request_start(struct event *e, MPI_Request request);
void request_forget(MPI_Request request);
/* MPI_Cancel was called for it. */
void request_cancelled(MPI_Request request);
/* The communicator of a matched message is known to the probe alone, and its number in the stream
 * follows from the order of probes and receives. The info of what is taken stays held. */
void message_track(MPI_Message message, const struct comm_info *info, const MPI_Status *status);
bool message_take(MPI_Message message, struct pending *taken);

/* What a completion call must know before it runs: which requests it was given. */
struct waiting {
    int count;
    bool none; /* nothing tracked: nothing to do */
    bool own_statuses;
    uintptr_t *keys;
    uint64_t
        *marks; /* slot + 1 in the table; with MPI_THREAD_MULTIPLE the serial number; 0: none */
    MPI_Status *statuses;
    uintptr_t few_keys[16];
    uint64_t few_marks[16];
    MPI_Status few_statuses[16];
};
void waiting_begin(struct waiting *w, struct thread *t, int count, const MPI_Request *requests,
                   MPI_Status *statuses, bool ignored);
/* Of the requests, indices[0] to indices[count - 1] (NULL: the first `count`) are complete, with
 * these statuses: settles and closes the event, and tells of each at the statement that posted it.
 */
void waiting_done(struct waiting *w, struct event *e, int count, const int *indices,
                  const MPI_Status *statuses, bool test);
/* Before a call that waits, in a job that was attached to: which of them have no message yet. */
void waiting_look(const struct waiting *w, const MPI_Request *requests);
/* A Test found nothing. */
void waiting_tested(struct waiting *w);
/* Forgets the requests that are complete although the call failed: their handles will mean others.
 * Those that `statuses` (NULL: unknown) says went well are told of. */
void waiting_drop(struct waiting *w, struct thread *t, const MPI_Request *requests,
                  const MPI_Status *statuses, bool seen);

/* Life (life.c). */
void life_initialized(int *flag); /* as MPI_Initialized has set it */
void life_init_begin(bool world); /* not: a session */
/* `level` is what MPI_Init_thread provided. */
void life_init_end(int result, int level, void *address, uint32_t call);
void life_attach(void);
void life_finalize_begin(void);
void life_finalize_end(int result);
void life_abort(int code);
#if MPI_VERSION >= 4
/* Sessions instead of MPI_Init: the first opens, the last to close ends the rank's time. */
void life_session_begun(int result, const MPI_Session *session);
void life_session_ending(void);
void life_session_ended(int result);
#endif
/* The group of all ranks of this world; MPI_COMM_WORLD itself need not exist. */
extern MPI_Group shim_world;
extern bool shim_world_known;
/* MPI_Pcontrol: measurement 0 off, 1 on, 2 reset; critical path 3 on, 4 off, 5 reset. */
void life_control(int level);

#pragma GCC visibility pop

#endif
