/* SPDX-License-Identifier: MIT */
/*
 * The runtime of the probes that `loupe cc` puts into programs (include/loupe-probe.h).
 *
 * A thread's cells are in the segment. Until its first visit of a unit, and in a forked child, the
 * thread's pointer leads to the *starter* instead: private cells that are never above zero, so that
 * the first visit comes to the slow path, which makes what is missing.
 *
 * Slow paths (probe_hot.c) keep every register, so they use general registers only and call nothing
 * of libc. What is rare (a first visit, a reset) runs on a stack of its own, with all registers
 * saved and signals blocked (probe_stub.S, probe_rare in probe_hot.c).
 *
 * Everything a thread keeps here is private to it, and handed on with its block. Sites of the
 * process (units, groups) only ever grow; they are changed under probe_lock and read without.
 */
#ifndef LOUPE_RUNTIME_PROBE_H
#define LOUPE_RUNTIME_PROBE_H

#include "record/layout.h"
#include "runtime/pair_cost.h"
#include "runtime/thread.h"
#include <loupe-probe.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    PROBE_FRAMES = 512,      /* timed visits open at once in a thread; deeper ones are not timed */
    PROBE_MARKS = 16,        /* calls that are about to happen */
    PROBE_CLONES = 4,        /* copies of a call that the compiler made, per site and thread */
    PROBE_SEEN = 256,        /* return addresses of probes that lead to their site at once */
    PROBE_DIRECT = 4096,     /* return addresses of direct calls, per thread */
    PROBE_LINKS = 256,       /* the same of those that need no mark, */
    PROBE_LINKS_AT_ONCE = 2, /* and of how many statements at once, per procedure */
    PROBE_CALLERS = 64,      /* return addresses kept per procedure and thread */
    PROBE_GAP = 4096,        /* visits between two looks at a site that is only counted */
    PROBE_GAP_OFF = 64,      /* the same while measurement is off */
    PROBE_HUSHED = 64,       /* sites that are hushed at once */
    PROBE_COOKIE_FRAME = 2,  /* what cookies of neighbouring frames differ by */
    PROBE_LATE = 1 << 15,    /* ticks, some 10 us: visits that are looked at */
    PROBE_PAIRS = PAIR_COST_MAX,
    PROBE_MODULE_UNITS = 4096 /* units of one shared object */
};

/* A site in the program: all those of one key, in order of attachment. */
struct probe_place {
    uint32_t unit, site;
    struct probe_place *next;
};

/* A procedure, by its key: its entries (an inline function has one in each unit that uses it) and
 * the direct calls of it. */
struct probe_group {
    uint64_t key;
    struct probe_place *procedures, *calls;
    bool counted; /* it is recursive, its entries are only counted: its calls are timed */
    struct probe_group *next; /* in its slot of the table */
};

/* A unit, as the process knows it. */
struct probe_unit {
    struct loupe_unit *unit; /* NULL: its library was unloaded */
    uint64_t id;
    uint32_t sites, flags;
    uint32_t index;         /* in its module's tables; 0: without such */
    uintptr_t offset;       /* of the thread's pointer, from the thread pointer */
    uintptr_t module_start; /* where the object was loaded, to know it again */
    uint32_t record;        /* index among the segment's units; UINT32_MAX: none yet */
    uint32_t module;        /* index among the segment's modules */
};
extern struct probe_unit *probe_units; /* RECORD_UNITS_MAX; number 0 is nobody's */
extern uint32_t probe_unit_count, probe_lock;

/* How far the stack of a call's marker was from the entry of what it called, at the least. */
struct probe_clone {
    uintptr_t address; /* return address of the marker */
    uint64_t distance;
};

/* Calls of a procedure from one return address. */
struct probe_caller {
    uintptr_t address; /* 0: all others */
    struct record_probe *record;
    uint32_t index;
    int64_t block_time, last_time; /* of timed blocks: this one and the one before */
    uint32_t block_count;          /* visits in this one */
    uint32_t count_rest;           /* of its count, in 1/RECORD_BLOCK */
    struct probe_caller *next;
};

/* What the next visit that comes to the slow path is; see probe_sample.h. */
enum probe_phase { PROBE_FIRST, PROBE_WARM, PROBE_BLOCK, PROBE_SETTLE, PROBE_PAIR, PROBE_BETWEEN };

/* An item of the path that has a name, whose visits need not all be timed: see probe_reckon.h.
 * Times are virtual, in 1/256 ticks. */
struct probe_reckon {
    struct probe_site *next;
    bool on;                 /* not all are timed */
    bool listed;             /* among the thread's `reckoned` */
    bool waits;              /* visits have waited for others, in MPI or for threads */
    bool inside;             /* it was visited inside of the same item */
    bool seldom;             /* its last block */
    uint8_t item, call_item; /* of its last timed visit, */
    uint8_t outer;           /* the one that it is inside of, */
    uint32_t depth;          /* and how many there were around that visit */
    uint64_t waited;         /* how often and long the thread had, when that visit began */
    uint32_t entered;        /* visits not yet reckoned that were timed: the path has them */
    uint64_t visits;         /* executions up to the last reckoning, */
    int64_t at;              /* and when that was */
    int64_t mean;            /* of a visit */
    int64_t counted;         /* visits of this stratum that were reckoned, */
    int64_t guessed;         /* and with how much */
    int64_t owed;            /* what there was no time for; below zero: too much was guessed */
    uint32_t more;           /* visits to be counted behind the step in progress, */
    int64_t stepped, took;   /* which began then; and what the one before took */
};

/* A site as one thread sees it. */
struct probe_site {
    int32_t *cell;
    struct record_probe *record;
    struct probe_group *group; /* of what it calls, or is; NULL: not known */
    uint32_t index;            /* among the block's probe records */
    uint8_t kind;              /* enum loupe_site_kind */
    bool untimed;              /* only counted: a recursive call, or nobody takes its marks */
    bool own;                  /* statement, sole call: timed by a frame of its own */
    bool recursive;            /* procedure: who comes without a mark is only counted */
    bool always;       /* it is, or leads to, an item with a name: all are timed, if not tiny */
    bool dynamic;      /* procedure whose probe was inserted into its machine code */
    bool fenced;       /* timed with fences around the readings of the clock */
    uint8_t item;      /* of the critical path, that its frame is a visit of; and */
    uint8_t call_item; /* the same of the call; RECORD_PATH_NO_ITEM: none */
    uint8_t item_rest; /* of the weights of its visits, in sevenths */
    uint8_t phase;     /* enum probe_phase */
    uint32_t left;     /* visits of the block that is timed still to come; 0: none is */
    uint32_t open;     /* procedure: frames */
    uint32_t gap;      /* only counted: visits until it is looked at again */
    uint64_t fired;    /* and when it was last */
    uint32_t owed;     /* procedure: taken off its cell to see the next entries */
    struct probe_site *target; /* call: the entry that took its last mark */
    uint32_t stale;            /* marks that nobody took, in a row */
    uint32_t taken;            /* marks that were, up to some number */
    bool is_linked;            /* call: in a timed block, without marks (probe_links.h); */
    bool may_link;             /* it makes most of the calls of what it calls */
    uint8_t broken;            /* links that came to nothing */
    uint8_t link_waited;       /* procedure: entries in a row that were not linked calls', */
    uint32_t link_marked;      /* and `marked` at the last of them */
    bool had_links;            /* in its block: entries were left out of it */
    uint32_t link_left;        /* call: `left` when it was linked: entries since are the rest */
    uint64_t link_visits, link_entries; /* its executions at its last turn, its target's */
    struct probe_site *linked[PROBE_LINKS_AT_ONCE]; /* procedure: calls that are linked to it */
    struct probe_clone clones[PROBE_CLONES];
    uint32_t clone_next;
    uint32_t caller_count;
    struct probe_caller *callers, *recent; /* all, and the one of the last entry that was timed */

    /* sampling (probe_sample.h); times are virtual, in 1/256 ticks */
    union {
        struct {
            uint32_t weight; /* of a frame that begins: `size`, or 0 where it only warms up */
            uint32_t serial; /* of the stratum */
        };
        uint64_t burst; /* both: frames take them at once */
    };
    uint32_t size;      /* blocks of the stratum in progress */
    uint32_t next_size; /* of the one after it */
    uint32_t drawn;     /* the block that is timed, in it or already in the one after it */
    uint32_t rest;      /* visits until that one begins */
    uint32_t cut;       /* visits of its timed block that a reset took away */
    uint32_t missed;    /* visits of its timed block that could not be */
    uint32_t unknown;   /* procedure: visits of its timed block whose caller is not known, */
    uint32_t idle;      /* and of direct calls that are only counting */
    bool last_known;
    bool calls_known;   /* procedure: `calls` is as of the entry before */
    uint64_t calls;     /* executions of all direct calls of it, */
    uint32_t marked;    /* and entries by marks since, but of linked calls */
    uint64_t warm_cost; /* of a visit that warms up */
    uint64_t counted;   /* what a visit of a block that was only counted took last, */
    uint64_t dilated;   /* and of the timed block before it, with its cost; 0: not known */
    int64_t last_time;  /* of the block before: for the error */
    /* Of a visit of the last two blocks that were timed, the lesser, as one may have been
     * interrupted; and of the last. */
    int64_t visit_time, visit_last;
    uint64_t decided; /* when the size was chosen, */
    uint64_t visits;  /* and executions then */
    uint64_t block_began, block_ended;
    uint64_t talked;  /* of the thread, when it began */
    uint64_t settled; /* when the visits began that it is compared with, */
    uint32_t span;    /* which end so many behind it */
    int64_t usual;    /* what a visit took, with its cost, in the last block between timed ones */
    uint64_t cost, inside; /* of a timed visit: in all, and between its clock readings */
    /* With what all sites cost together (probe_joint.h): what the site found by itself, how much
     * more the two are, and their proportion with fences, from so many quiets. */
    uint64_t own_cost, dilation;
    uint32_t scale, scaled;
    bool joint;                                      /* its counted visits are quiet */
    uint32_t turns;                                  /* that could have been */
    uint32_t quiets;                                 /* of the thread, when its block began */
    int32_t hushed;                                  /* put onto its cell while it is quiet, */
    int32_t hush_gap;                                /* the last time for so many visits */
    int64_t block_delay, joint_timed, joint_charged; /* the thread's, and per visit of a block */
    const struct probe_cost *calibrated;             /* as it is timed now */
    struct probe_kept {
        const struct probe_cost *calibrated;
        uint64_t cost;
    } kept[2];   /* what was found when it was last timed without fences, and with them */
    uint8_t way; /* enum probe_way */
    uint32_t pair_count;
    int32_t pairs[PROBE_PAIRS]; /* cost, of pairs of blocks */
    struct probe_reckon reckon; /* last: few sites need it */
};

static inline uint64_t probe_executions(const struct probe_site *s)
{
    return s->record->armed - (uint64_t)(int64_t) * (volatile int32_t *)s->cell;
}

/* A call is about to be made, and its execution is to be timed. */
struct probe_mark {
    struct probe_site *site;
    uintptr_t sp;
    struct probe_clone *clone; /* which copy of the call it is */
    struct probe_frame *top;   /* the innermost that was open */
};

/* A timed visit. */
struct probe_frame {
    uint64_t begin; /* virtual, 1/256 ticks */
    uint64_t cookie;
    uintptr_t sp;
    struct probe_site *site;     /* that decided to time it; charged */
    struct probe_caller *caller; /* charged instead, if the caller is not known; else NULL, as in
                                  * frames that are not open */
    struct probe_site *opened;   /* procedure, loop or statement that goes on */
    union {
        struct {
            uint32_t weight, serial;
        };
        uint64_t burst;
    };
    uint32_t item_weight; /* visits of its items that it stands for; 0: it has entered none, or
                           * is not open */
    uint8_t call_item, item;
    struct record_probe_frame *mirror; /* the same for readers; set once, as is its depth */
    uint64_t depth;
};

struct probe_cells {
    int32_t *cells;
    struct probe_site **sites; /* by number; NULL: not yet visited */
    uint32_t count;
};

/* Pointers to a thread's cells of the units of one shared object. */
struct probe_table {
    uintptr_t offset; /* of the pointer to it, from the thread pointer */
    void **table;
    struct probe_table *next;
};

/* Sites by the return address of their probes: no other way to them is as short. */
struct probe_seen {
    uintptr_t address;
    struct probe_site *site;
};

/* An entry of a procedure from this return address is a call by that statement. */
struct probe_link {
    uintptr_t from;
    struct probe_site *call, *entry;
};

struct probe_thread {
    uintptr_t inside; /* where the return address of the slow path in progress stands; 0: none */
    uintptr_t inside_return;
    uint32_t refused; /* visits in a row that were taken for nested in it */
    uint32_t control; /* control word this thread has acted on */
    bool off;         /* measurement is off */
    bool trial;       /* nobody's: what visits cost is being found out (probe_cost.c) */
    uint32_t mark_count;
    struct probe_frame *top; /* innermost open; frames[0]: none */
    struct record_thread *block;
    int64_t delay; /* of the thread, in 1/256 ticks: struct thread leads here */
    int64_t taken; /* as in struct thread */
    int64_t late;  /* a visit that took longer is looked at; 1/256 ticks */
    uint64_t random;
    uint64_t switches;     /* of its processor to others, not by its wish; when last looked at */
    uint64_t interrupted;  /* when that last was found to have grown; virtual, 1/256 ticks */
    uint32_t watch;        /* timed blocks before which it is to be looked at */
    uint64_t window_began; /* of the budget: real time then, */
    int64_t window_spent;  /* and what timing had cost */
    /* Interrupts, seen in timed blocks of short visits: blocks, and how many were hit; ticks. */
    uint64_t noise_blocks, noise_spikes;
    int64_t noise_time, noise_lost;
    uint64_t dearer[2]; /* what visits cost at sites that know, against calibrated: 1/256; those
                           with fences are the second */
    uint64_t pressure;  /* how many sites share the budget, times 256 */
    struct probe_site *quiet; /* no other is timed until its counted visits end (probe_hush.h) */
    uint32_t quiet_control;   /* the control word as it was before, */
    uint64_t quiet_began;     /* and when that was; ticks */
    struct probe_site *hushed[PROBE_HUSHED];
    uint32_t hushed_count, quiets;
    struct probe_site *reckoned;        /* items of the path whose visits are not all timed, */
    uint32_t reckoned_items;            /* and which these are: a bit each */
    struct record_probe_frames *mirror; /* where readers see frames, if there is room */
    struct thread *thread;
    struct probe_cells **active; /* by number of the unit: those that its code reaches */
    struct probe_cells **owned;
    struct record_cursor probes;
    struct record_chunk *cells; /* where the next small unit's go */
    uint32_t cells_used;
    struct probe_table *tables; /* of modules, instead of the starter's */
    uint32_t probe_count;
    struct probe_seen seen[PROBE_SEEN];
    uintptr_t direct[PROBE_DIRECT];
    struct probe_link links[PROBE_LINKS];
    struct probe_mark marks[PROBE_MARKS];
    struct probe_frame frames[PROBE_FRAMES + 1];
    struct record_probe_frames unseen; /* in place of the mirror, and for frames beyond it */
};
extern __thread struct probe_thread *loupe_probes __attribute__((tls_model("initial-exec")));

/* What a timed visit costs, the least that calibrations found, in 1/256 ticks. */
struct probe_cost {
    uint64_t all, inside; /* in all, and between the two readings of the clock */
};

/* By a frame of its own, by way of a mark, by a link, as the entry of a procedure without either,
 * by code that was inserted. */
enum probe_way { PROBE_OWN, PROBE_MARKED, PROBE_LINKED, PROBE_UNKNOWN, PROBE_DYNAMIC, PROBE_WAYS };

struct probe_costs {
    struct probe_cost plain[PROBE_WAYS];
    struct probe_cost fenced[PROBE_WAYS]; /* where the clock waits for the program */
    /* With fences: what is less between the readings in a visit of `work` or more, as the program
     * begins while the entry ends, and ends while the exit begins. */
    uint64_t hidden, work;
    uint64_t slow;        /* a slow path without a clock */
    uint64_t again;       /* when to look again; ticks */
    bool calibrated_only; /* a test's wish: nothing is measured in place */
};
extern struct probe_costs probe_costs;
extern const struct record_control *probe_control; /* loupe_control, but nearer */
extern bool loupe_probe_xsave;                     /* what the stub saves registers with */

/* Slow paths; in place of `unit.visit`, `.enter`, `.leave`. They keep every register: not to be
 * called from C that does not know. */
#define PROBE_SLOW_PATH __attribute__((no_caller_saved_registers))
PROBE_SLOW_PATH void loupe_probe_visit(void);
PROBE_SLOW_PATH void *loupe_probe_enter(void *return_address);
PROBE_SLOW_PATH void loupe_probe_leave(void *cookie);
/* The same of units that were inserted (record/dynamic.h). */
PROBE_SLOW_PATH void loupe_probe_enter_dynamic(void);
PROBE_SLOW_PATH void loupe_probe_leave_dynamic(void);
/* Where in the stack the thread's innermost visit of such a unit began that is timed: an exit that
 * is no lower comes to the slow path. */
extern __thread uintptr_t loupe_dynamic_top __attribute__((tls_model("initial-exec")));
extern struct dynamic_entry loupe_dynamic; /* record/dynamic.h */
/* Such units are attached, before the program begins. */
void dynamic_start(void);
/* Around a fork, and where the thread gets its block: no such probe counts in it meanwhile. */
void dynamic_hold(void);
void dynamic_go_on(void);

/* Functions that run by way of the stub; they may do anything but block for long. */
typedef void *probe_rare_function(void *a, uintptr_t b);
/* Makes what is missing for a visit of this site: the thread's block, cells, the record. NULL: the
 * visit needs nothing more. */
void *probe_rare_site(void *unit, uintptr_t site);
/* The account of a procedure's calls from this address. NULL: there is no room even for others. */
void *probe_rare_caller(void *site, uintptr_t address);
void *probe_rare_control(void *thread, uintptr_t unused);

/* No frame is open; they will be seen by readers there, or nowhere (NULL). */
void probe_frames_set_up(struct probe_thread *p, struct record_probe_frames *mirror);
/* Ends all open frames, as of now. */
void probe_close_all(struct probe_thread *p);
/* Acts on a reset, and on measurement going off and on. */
void probe_reset(struct probe_thread *p);
void probe_switch(struct probe_thread *p, bool off);
/* Ends a quiet, if there is one (probe_hush.h). */
void probe_loud(struct probe_thread *p);
/* Gives a site its item, as the thread's plan says; `unit`: its id. */
void probe_item(const struct probe_thread *p, struct probe_site *s, uint64_t unit, uint32_t site);
/* The same for all there are; and enters those that frames are open of. */
void probe_items(struct probe_thread *p);
void probe_unlink(struct probe_site *call);
void probe_items_again(struct probe_thread *p, const struct probe_frame *frame, int64_t at);
/* What the path is not told by visits that are timed: see probe_reckon.h. At this virtual moment,
 * in ticks. */
void probe_reckon(struct probe_thread *p, int64_t at);
/* The thread's clock was set: what was noted of it moves with it. */
void probe_delay_moved(struct probe_thread *p, int64_t moved);
/* The thread that held the block has ended; another takes it over. */
void probe_end(struct thread *t);
void probe_take_over(struct thread *t);

/* Puts the starter, or nothing, where a thread has its pointers. */
void probe_point(uintptr_t thread_pointer, bool start);
/* The starter's cells, or a module's table of pointers to it. */
void *probe_starter(const struct probe_unit *u);
struct probe_group *probe_group(uint64_t key);
bool probe_unit_say(struct probe_unit *u); /* in the segment; false: there is no room */
void probe_units_forget(void); /* in a forked child: what was said in the parent's segment */
void probe_units_leave(void);  /* the same for another segment; what was inserted is gone */
void probe_forget_all(void);   /* in a forked child: everything of threads */
void probe_unloaded(void);     /* after dlclose */
void probe_calibrate(void);
void *probe_rare_calibrate(void *unused, uintptr_t unused_too);
void probe_cost_start(void); /* before the first slow path */

/* Threads that were started, so that a library loaded later can reach them. */
struct probe_living {
    uintptr_t thread_pointer;
    struct probe_thread **probes; /* the thread's loupe_probes */
    struct probe_living *next, *previous;
};
extern struct probe_living *probe_living; /* under probe_lock */
void probe_living_add(void);
void probe_living_forget(void);
/* The calling thread's probes are off from now on: its block is no longer its own. */
void probe_thread_ended(void);
void probe_threads_start(void);

/* Nothing in here may be interrupted by a handler that comes here too. */
uint64_t probe_locked(void);
void probe_unlocked(uint64_t mask);

static inline uintptr_t thread_pointer(void)
{
    uintptr_t tp;
    __asm__("mov %%fs:0,%0" : "=r"(tp));
    return tp;
}

#endif
