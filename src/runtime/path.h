/* SPDX-License-Identifier: MIT */
/*
 * The critical path, while the program runs: each thread knows the longest path that ends in what
 * it has done so far, and what share of it each item has (paper 3). Whoever meets another thread
 * takes over that one's path if it is longer.
 *
 * The length at virtual moment v is v - offset. Entering an item takes the length off its share,
 * leaving it adds the length: constant time, nothing else is touched. Waiting moves the offset.
 * The longest path net of an item may be another one than the longest: what it has more, net of the
 * item, is the item's excess. It changes only where paths meet.
 *
 *     path_wait(t, item, begin, delay)       a communication begins
 *     path_meet(t, at, &other)               each one it waited for or heard from, at its end
 *     path_go(t, ticks, sync)                it took so long, of which so long it waited
 *
 * All of these are for threads that have a path: thread->path is not NULL.
 *
 * Caps: RECORD_PATH_ITEMS items; PATH_DEPTH visits of items open at once in a thread, deeper ones
 * are not entered.
 */
#ifndef LOUPE_RUNTIME_PATH_H
#define LOUPE_RUNTIME_PATH_H

#include "record/layout.h"
#include "record/plan.h"
#include "runtime/learnt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

/* A path as others are told of it: what was, when something was published. */
struct path_told {
    uint32_t generation;
    uint32_t items;
    int64_t length, mpi;
    uint32_t strip_shift;
    int32_t rank;                                    /* of MPI_COMM_WORLD, whose it is */
    uint32_t number;                                 /* of what it has published, for path_log.h */
    uint32_t touched;                                /* items, a bit each: all others are 0 */
    uint16_t strip[RECORD_PATH_STRIP];               /* as in struct record_path */
    struct record_path_item item[RECORD_PATH_ITEMS]; /* of none active: as of `length` */
};
/* A bit for each of so many items. */
static inline uint32_t path_items(uint32_t items)
{
    return items < RECORD_PATH_ITEMS ? (1u << items) - 1 : UINT32_MAX;
}
/* As much of it as is used. */
static inline uint32_t path_told_bytes(uint32_t items)
{
    return (uint32_t)(offsetof(struct path_told, item) + items * sizeof(struct record_path_item));
}

enum {
    PATH_DEPTH = 512,
    PATH_STRIP_FIRST = 16, /* buckets of the strip begin with 2^so many ticks */
};
#define PATH_LENGTH_MAX ((int64_t)1 << 60) /* what is longer is no path */

/* A path but for its length is one of so many states: in what it has of each item, which of them
 * are active, and the strip. The state of a thread is told as a numbered snapshot. */
struct path_lent {
    uint64_t change; /* of the thread's own path, when it came to have the state of this snapshot */
    const void *snapshots;
    int32_t world; /* whose */
    uint32_t block, serial;
};

struct path_visit {
    int64_t from;       /* length at its entry, */
    int64_t spent;      /* and what the thread had spent */
    int64_t inner;      /* of it in items that it called, */
    uint64_t adoptions; /* both since this many */
    uint32_t item;
};

/* What it costs to keep it: measured now and then, and accounted for each time. */
enum path_part {
    PATH_WAITING,
    PATH_GOING,
    PATH_TELLING,
    PATH_MEETING,
    PATH_ENTERING, /* by probes */
    PATH_LEAVING,
    PATH_PARTS
};

/* Of one thread, private; what readers see is `record`. */
struct path {
    struct record_path *record; /* in the segment */
    int64_t begin;              /* virtual: of the communication in progress, or the last one, */
    int64_t last;               /* and when something last happened to the path */
    uint64_t adoptions;         /* paths of others taken over, */
    int64_t adopted;            /* and the length at the last of them */
    int64_t floor;              /* the same, or when it was last told to anyone */
    const uint32_t *newest;     /* generation that the plan has come to */
    uint32_t generation;
    uint32_t items;
    uint32_t touched;   /* items that the path, or one that it met, was ever in: a bit each */
    uint32_t statement; /* item of the communication in progress */
    uint32_t deep;      /* visits that are open and not entered */
    uint32_t depth;
    bool whole;           /* it is what was met last, in every item */
    uint32_t strip_at;    /* bucket that the path has come to */
    uint32_t published;   /* so often has it been told */
    uint32_t serial;      /* of the state that was told last, */
    uint64_t told_change; /* which it had then */
    uint64_t change;      /* moves on with the state */
    struct path_lent lent;
    struct learnt cost[PATH_PARTS];
    uint64_t logged; /* ticks that the log has taken since a part began (path_log.h) */
    void *told;      /* of the MPI layer: where it tells others */
    uint32_t visits[RECORD_PATH_ITEMS]; /* open ones */
    /* What this thread itself has spent in each item without those it called, as record_path.spent
     * has it with them. And both as they were when somebody last looked whether the processor was
     * lost. */
    int64_t exclusive[RECORD_PATH_ITEMS];
    struct path_spent {
        int64_t all, exclusive;
    } looked[RECORD_PATH_ITEMS];
    int64_t looked_at;    /* virtual, */
    int64_t looked_spent; /* and what it had spent in all then */
    uint64_t lost;        /* in the communication in progress, ticks */
    uint64_t went;        /* what the last one has added */
    uint64_t waited;      /* how often it has waited for threads */
    int64_t start;        /* virtual: of the generation */
    struct path_visit stack[PATH_DEPTH];
};

/* Starts a generation, as the plan says: with length 0 from now on, or from the beginning of the
 * communication in progress. Slow; also stops (plan off). The calling thread's own. Items that are
 * open then are for the caller to enter. */
void path_start(struct thread *t, const struct plan *plan) EXPORT_AS(path_start);
/* The same from that virtual moment on. */
void path_start_at(struct thread *t, const struct plan *plan, int64_t at) EXPORT_AS(path_start_at);
/* Its time is over: MPI_Finalize, or the thread's end. What it was stays to be read. */
void path_end(struct thread *t) EXPORT_AS(path_end);

/* Who knows the plan: starts the path of the calling thread, if the plan is of this generation or a
 * newer one and on, at that virtual moment; one that is off ends it. NULL: nobody. */
extern void (*loupe_path_plan)(struct thread *t, uint32_t generation, int64_t at) EXPORT;

/* Timed visits of items, by the thread itself; `at` in virtual ticks. `weight`: visits it stands
 * for, `time` how long it took (with those it called), `own` less what it called: what is on the
 * path of that is less where it waited. Weight 0: as if it had not been entered. */
void path_enter(struct thread *t, uint32_t item, int64_t at) EXPORT_AS(path_enter);
void path_leave(struct thread *t, uint32_t item, int64_t at, uint32_t weight, int64_t time,
                int64_t own) EXPORT_AS(path_leave);

/* So many ticks were spent in an item by visits that were not timed, since the path last met
 * another, inside of `outer`. Not `all`: only what it has for itself alone is not known yet. */
void path_add(struct thread *t, uint32_t item, uint32_t outer, int64_t ticks, bool all);

/* So much of what one item has for itself alone is the other's, if there is one. */
void path_move(struct thread *t, uint32_t from, uint32_t to, int64_t ticks);

/* The event that began at `begin` (real), with this delay (1/256 ticks). Returns the delay that it
 * begins with: less, if more was charged since the last event than time has passed, for virtual
 * time never goes back. */
int64_t path_wait(struct thread *t, uint32_t item, uint64_t begin, int64_t delay)
    EXPORT_AS(path_wait);
/* If the plan has changed meanwhile, whoever was met may have known: the path is that of the new
 * plan from the beginning of the communication on, or ended there, and so no message leads from
 * behind a change to before it. */
void path_go(struct thread *t, uint64_t ticks, uint64_t sync) EXPORT_AS(path_go);
void path_turn(struct thread *t) EXPORT_AS(path_turn); /* for that */
/* At virtual moment `at` it meets this one; false: of another generation, or nonsense. What has a
 * newer generation starts it first (`at` if there is none yet). */
bool path_meet(struct thread *t, int64_t at, const struct path_told *other) EXPORT_AS(path_meet);
/* The same of one that differs from its own in nothing but these. */
bool path_meet_same(struct thread *t, int64_t at, int64_t length, int64_t mpi)
    EXPORT_AS(path_meet_same);
/* It has waited so long, in something else than a communication. */
void path_waited(struct thread *t, int64_t ticks);
/* As it is at virtual moment `at`. */
void path_tell(struct thread *t, int64_t at, struct path_told *told) EXPORT_AS(path_tell);
/* Has come to this length: brings the strip up to it. */
void path_strip(struct path *p, int64_t length) EXPORT_AS(path_strip);

/* For so many ticks since the last look another had the processor, and for so many inside
 * communications: the thread has not spent them, nor are they on the path, as far as they are its
 * own since it last met anyone.
 * What is active now has lost them, as far as it has been so since the last event; of the rest each
 * item as much as it had of the time before; in a communication, as much of what was no waiting as
 * there is. */
void path_lost(struct thread *t, uint64_t ticks, uint64_t mpi);
/* Somebody has looked: the next loss is of what comes now. */
void path_looked(struct thread *t);

static inline int64_t path_length(const struct path *p, int64_t at)
{
    return at - p->record->offset;
}

/* What the thread itself has spent since the path began, not waiting. */
static inline int64_t path_spent(const struct path *p, int64_t at)
{
    return at - p->record->idle;
}

/* The item that is being visited; of those inside each other the last. */
static inline uint32_t path_innermost(const struct path *p)
{
    return p->depth ? p->stack[p->depth - 1].item : RECORD_PATH_NO_ITEM;
}

static inline void path_open(struct record_path *r)
{
    r->version |= 1;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void path_close(struct record_path *r)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    r->version++;
}

#endif
