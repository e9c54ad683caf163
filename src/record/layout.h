/* SPDX-License-Identifier: MIT */
/*
 * What the statistics of one process look like in shared memory.
 *
 * A process owns a header file and up to RECORD_EXTENTS extent files, all in its job's directory:
 *
 *     NAME.hdr      struct record_header
 *     NAME.0 ...    extents: arrays of chunks of RECORD_CHUNK bytes, fully allocated before use
 *
 * A chunk holds records of one kind for one thread block. Growing means one more chunk, and when
 * an extent is used up one more file: nothing a reader looks at ever moves.
 *
 * Who writes: the process alone, except `struct record_control`, which `loupe ctl` writes too.
 * Each thread block and the chunks it owns have one writer, the thread that holds the block.
 * Who reads: anyone, at any time, without stopping the writer. A statement and its peers are
 * consistent when `version` is even and the same before and after the copy.
 *
 * A reader trusts nothing here: every index, length and count is checked (reader.c). The writer
 * never follows an offset or index that it reads back from this memory (writer.c).
 */
#ifndef LOUPE_RECORD_LAYOUT_H
#define LOUPE_RECORD_LAYOUT_H

#include "record/fields.h"

#include <stdint.h>

#define RECORD_MAGIC   0x010045505554f4cull /* rare enough to refuse foreign files by */
#define RECORD_VERSION 6

enum {
    RECORD_CHUNK = 4096,
    RECORD_EXTENTS = 16,
    RECORD_FRAMES = 16, /* regions that are open at once, per thread */
    RECORD_EXTENT_FIRST = 192 * 1024,
    RECORD_BYTES_MAX = 64 * 1024 * 1024, /* default cap on all extents of a process */
    RECORD_PEERS_MAX = 64,               /* default peers per statement and thread */
    RECORD_STATEMENTS_MAX = 65536,       /* statements per thread block; the rest is folded */
    RECORD_PROBE_FRAMES = 248,           /* timed visits that are open at once, as readers see it */
    RECORD_PROBES_MAX = 1 << 18,         /* probe records per thread block */
    RECORD_UNITS_MAX = 1 << 14,          /* units of a process */
    RECORD_SITES_MAX = 1 << 20,          /* sites of a unit */
};

enum record_state {
    RECORD_RUNNING,
    RECORD_FINISHED, /* MPI_Finalize returned, or a program without MPI ended normally */
    RECORD_EXITED,   /* exit or _exit without MPI_Finalize */
    RECORD_ABORTED,  /* MPI_Abort */
    RECORD_KILLED,   /* found dead while RUNNING; only readers say this */
    RECORD_REPLACED, /* exec of another program in the same process */
    RECORD_STATES
};

/* How far MPI has come; a rank's time runs from INITIALIZED to FINALIZING. */
enum record_mpi_phase {
    RECORD_MPI_NONE,
    RECORD_MPI_INITIALIZING,
    RECORD_MPI_INITIALIZED,
    RECORD_MPI_FINALIZING,
    RECORD_MPI_FINALIZED
};

/* Where ticks come from, so that a reader can tell what time it is in them. */
enum record_clock {
    RECORD_CLOCK_TSC,
    RECORD_CLOCK_MONOTONIC, /* nanoseconds of CLOCK_MONOTONIC: no invariant TSC here */
    RECORD_CLOCKS
};

/* Whether all ranks of the world are watched, so that they may talk among themselves. */
enum record_together { RECORD_TOGETHER_OPEN, RECORD_TOGETHER_ALL, RECORD_TOGETHER_NOT };

/* What is taken out of the times. */
enum record_compensation {
    RECORD_COMPENSATE_FULL,  /* the probes' cost, also where it came from other processes */
    RECORD_COMPENSATE_LOCAL, /* of the process's own probes only */
    RECORD_COMPENSATE_NONE,
    RECORD_COMPENSATIONS
};

/* Why monitoring of this process is incomplete; the report words them. */
enum record_trouble {
    RECORD_TROUBLE_SPILLED = 1 << 0,     /* extents went to $TMPDIR: shared memory is scarce */
    RECORD_TROUBLE_NO_SPACE = 1 << 1,    /* no extent could be had: statements folded */
    RECORD_TROUBLE_STATEMENTS = 1 << 2,  /* RECORD_STATEMENTS_MAX or byte cap reached */
    RECORD_TROUBLE_PEERS = 1 << 3,       /* a statement reached the peers limit (others exact) */
    RECORD_TROUBLE_REQUESTS = 1 << 4,    /* request table full: some receives have no peer */
    RECORD_TROUBLE_UNKNOWN_MPI = 1 << 5, /* neither MPI whose ABI we know: not monitored */
    RECORD_TROUBLE_REGIONS = 1 << 6,     /* region ends without a begin, or too deeply nested */
    RECORD_TROUBLE_COMMS = 1 << 7,       /* communicator table full: peers as "others" */
    RECORD_TROUBLE_CELLS = 1 << 8,       /* no cells for some thread and unit: not counted there */
    RECORD_TROUBLE_PROBES = 1 << 9,      /* no record for some site: not counted there */
    RECORD_TROUBLE_UNITS = 1 << 10,      /* too many units, or too large: not monitored */
    RECORD_TROUBLE_APART = 1 << 11,      /* not all ranks are watched: no headers */
    RECORD_TROUBLE_ATTACHED = 1 << 12,   /* watched since some moment only: no headers */
    RECORD_TROUBLE_MIDWAY = 1 << 13,     /* the same, with headers as far as they are anchored */
    RECORD_TROUBLE_HEADERS = 1 << 14,    /* none were wanted */
};

/* Read by every event, both words at once, and compared with the copy that a thread has seen.
 * `word` is written by `loupe ctl` and MPI_Pcontrol; bits 0: measurement off; 1 to 7: the
 * generation of the plan of the critical path (record/plan.h); 8 to 31: the number of resets asked
 * for. `epoch` is the process's own: it moves on when what threads have looked up
 * may be wrong; and with `held`, while all threads stand. */
struct record_control {
    uint32_t word;
    uint32_t epoch;
    uint32_t budget; /* of the probes, in 1/100 %; RECORD_BUDGET_OFF: everything is timed */
    uint32_t held;   /* ns for which loupe has held the process stopped since then, modulo 2^32 */
    uint32_t spare[12];
} __attribute__((aligned(8)));
#define RECORD_BUDGET_DEFAULT      500u
#define RECORD_BUDGET_OFF          0xffffffffu
#define RECORD_CONTROL_OFF         1u
#define RECORD_CONTROL_PATH_SHIFT  1
#define RECORD_CONTROL_PATH        (0x7fu << RECORD_CONTROL_PATH_SHIFT)
#define RECORD_CONTROL_RESET_SHIFT 8

struct record_extent {
    uint32_t chunks;  /* 0: not there yet; written last */
    uint32_t spilled; /* 1: in the job's directory under $TMPDIR instead of shared memory */
};

#define RECORD_TEXT 512

/* The header file, one page; everything a reader needs to know about the process. */
struct record_header {
    uint64_t magic;
    uint32_t version;      /* RECORD_VERSION; readers refuse others */
    uint32_t header_bytes; /* sizes, so that a mismatched build is seen */
    uint32_t statement_bytes;
    uint32_t peer_bytes;
    uint64_t nonce; /* random; also in every extent's chunks */

    /* identity */
    int32_t pid;
    uint32_t pid_namespace; /* inode of /proc/self/ns/pid: a PID means little without */
    uint64_t pid_started;   /* starttime of /proc/self/stat: PIDs are reused */
    int32_t exec_root;      /* 1: the very process that `loupe exec` became */
    int32_t world;          /* which MPI_COMM_WORLD of the job: 0 but for spawned ones */
    int32_t rank;           /* in MPI_COMM_WORLD, -1 without MPI */
    int32_t size;
    int32_t thread_level; /* MPI_THREAD_*, as 0 to 3 */
    uint32_t clock;       /* enum record_clock: what a tick is */

    /* life */
    uint32_t state;     /* enum record_state */
    uint32_t mpi_phase; /* enum record_mpi_phase */
    int32_t exit_code;  /* with RECORD_EXITED and RECORD_ABORTED */
    uint32_t trouble;   /* bits of enum record_trouble */
    uint64_t dropped_requests;
    uint64_t unbalanced_regions;
    uint64_t dropped_events; /* of threads for which no block could be had */

    /* clock: the three origins are one moment; tick_ns is measured from there, anew at each slow
     * path, and readers on the same node measure it themselves over the longer way to now */
    double tick_ns;
    uint64_t tick_origin;
    uint64_t monotonic_origin_ns;
    uint64_t realtime_origin_ns;
    uint64_t ticks_per_event; /* calibrated cost of one event to the program, times 1024 */
    uint32_t compensation;    /* enum record_compensation */
    /* Of other nodes, seen from here; 0: there are none. The drift is known at the end. */
    uint32_t clock_error; /* nanoseconds by which their moments may be wrong at most */
    int32_t clock_drift;  /* parts per billion: how much faster than ours the farthest one runs */
    uint32_t ready;       /* can see rank 0's `together` */
    uint64_t carried;     /* headers that came from other nodes */

    /* moments, in ticks; 0: not yet */
    uint64_t started;
    uint64_t mpi_init_begin;
    uint64_t mpi_init_end;
    uint64_t mpi_finalize_begin;
    uint64_t mpi_finalize_end;
    uint64_t ended;
    uint64_t reset_at;  /* when the last reset took effect: time runs from here then */
    uint64_t off_since; /* measurement has been off since; 0: it is on */
    uint64_t off_ticks; /* it was off for so long before; not part of the run's time */

    struct record_control control;
    uint32_t peers_max;
    uint32_t together; /* enum record_together; of rank 0: for all ranks */
    struct record_extent extents[RECORD_EXTENTS];

    char host[64];
    char mpi[128];             /* "Open MPI 4.1.4" */
    char program[RECORD_TEXT]; /* path of the executable */
};

enum record_kind {
    RECORD_KIND_FREE,
    RECORD_KIND_THREADS,    /* struct record_thread, of any thread */
    RECORD_KIND_MODULES,    /* struct record_module, of the process */
    RECORD_KIND_NAMES,      /* struct record_name, of the process */
    RECORD_KIND_STATEMENTS, /* struct record_statement, of one block */
    RECORD_KIND_PEERS,      /* struct record_peer, of one block */
    RECORD_KIND_SPARE,      /* nothing: what was left of an extent where a run did not fit */
    RECORD_KIND_UNITS,      /* struct record_unit, of the process */
    RECORD_KIND_CELLS,      /* struct record_cells, of one block */
    RECORD_KIND_PROBES,     /* struct record_probe, of one block */
    RECORD_KIND_FRAMES,     /* one struct record_probe_frames, of one block */
    RECORD_KIND_PATHS,      /* one struct record_path, of one block */
    RECORD_KINDS
};

/* First 64 bytes of every chunk. Cells of a unit with many sites need more room than one: they have
 * a run of chunks, one behind the other in one extent, of which only the first has a head. */
struct record_chunk {
    uint64_t nonce; /* that of the header */
    uint32_t kind;  /* enum record_kind; written last when a chunk is taken */
    uint32_t used;  /* records in use, only grows; written after the record is ready */
    uint32_t block; /* owner: index of a thread block */
    uint32_t more;  /* chunks of the run behind this one; cells only */
    uint32_t spare[10];
};

/* A loaded object that contains statements: enough to resolve addresses outside, later. */
struct record_module {
    uint64_t base;         /* load bias while it was loaded here */
    uint64_t start, end;   /* its mapped range */
    uint32_t build_id_len; /* 0: none */
    uint8_t build_id[32];
    uint32_t path_len;
    char path[448];
};

struct record_name {
    uint32_t len;
    char text[124];
};

/* An open region; the reader adds `now - begin` to its statement. */
struct record_frame {
    uint64_t begin;
    uint32_t statement; /* index among its block's statements */
    uint32_t spare;
};

/*
 * A thread block: what one living thread writes. A thread that ends leaves its block, statistics
 * in place, for the next thread that starts: the number of blocks is the greatest number of
 * threads that were ever alive at once.
 */
struct record_thread {
    uint32_t held;   /* 1 while a thread holds the block */
    uint32_t resets; /* resets this block has done; fewer than asked for: its records are void */
    int32_t tid;
    uint32_t depth;       /* frames in use */
    uint64_t threads;     /* threads that have held the block */
    uint64_t last;        /* when its last region ended: a killed process has no better end */
    int64_t delay;        /* of its thread: real less virtual time, in ticks; may fall */
    int64_t delay_before; /* the same at the last reset */
    int64_t received;     /* part of the delay that came from others; the rest is its own probes' */
    int64_t received_before;
#define X(name, unit, merge) uint64_t name;
    RECORD_PAIRING_FIELDS(X)
    RECORD_PREEMPTED_FIELDS(X)
#undef X
    uint64_t spare[2];
    struct record_frame frames[RECORD_FRAMES];
};

/* `call` of a statement: the number of an MPI function (record/calls.h), or one of these. The
 * first statement of every block is RECORD_CALL_OTHERS, ready before any table can be full. */
#define RECORD_CALL_REGION 0xfffffffeu
#define RECORD_CALL_OTHERS 0xffffffffu /* statements folded because a table was full */

/* `self` is written for regions only: for a communication readers set it to `time`. */
struct record_statement {
    uint32_t version; /* odd while it changes */
    uint32_t call;    /* number of the MPI function (mpi/calls), or RECORD_CALL_* */
    uint32_t module;  /* index among the modules, RECORD_NO_MODULE: none known */
    uint32_t name;    /* regions: index among the names */
    uint64_t offset;  /* return address, less the module's load bias */
#define X(name, unit, merge) uint64_t name;
    RECORD_STATEMENT_FIELDS(X)
#undef X
    uint64_t sizes[RECORD_SIZE_BUCKETS];
    uint64_t open; /* communications: in progress since then; 0: not. Written at any time */
    uint64_t last; /* communications: when the last one ended */
    /* Posts that came so fast that only some were timed (runtime/post.h): */
    uint64_t estimated; /* of `count`: for which others stand in `time` and `real` */
    uint64_t variance;  /* of `time`, in ticks squared */
};
/* Of so many blocks of posts one is timed, so many in each. */
enum { RECORD_POST_SIZE = 16, RECORD_POST_BLOCK = 16 };
#define RECORD_NO_MODULE 0xffffffffu

enum record_direction { RECORD_SENT, RECORD_RECEIVED, RECORD_DIRECTIONS };

/* `rank` of a peer: a rank in MPI_COMM_WORLD, or one of these. */
#define RECORD_PEER_OTHERS  (-1) /* beyond the limit, totals exact */
#define RECORD_PEER_FOREIGN (-2) /* in another world: spawned or connected */

struct record_peer {
    uint32_t statement; /* index among its block's statements */
    int32_t rank;
    uint32_t direction; /* enum record_direction */
    uint32_t spare0;
#define X(name, unit, merge) uint64_t name;
    RECORD_PEER_FIELDS(X)
#undef X
    uint64_t spare[2];
};

/* What one compilation made: the sites of a unit. */
struct record_unit {
    uint64_t id;
    uint32_t module; /* index among the modules, RECORD_NO_MODULE: none known */
    uint32_t sites;
};

/*
 * The countdowns of one thread block for one unit, one for each site. The program counts them down
 * itself; site k of the unit was executed record.armed - cells[k] times. `used` of such a chunk
 * counts bytes: entries stand one behind the other, each aligned to 8.
 */
struct record_cells {
    uint32_t unit; /* index among the units */
    uint32_t sites;
    int32_t cells[];
};

/* A timed visit that goes on. `begin` is in virtual time: ticks less the thread's delay. */
struct record_probe_frame {
    uint64_t begin;
    uint32_t probe;  /* index among its block's probe records */
    uint32_t weight; /* visits that it stands for */
};

struct record_probe_frames {
    uint32_t depth; /* frames in use; deeper ones than there is room for are not here */
    uint32_t spare[15];
    struct record_probe_frame frames[RECORD_PROBE_FRAMES];
};

enum record_probe_state {
    RECORD_PROBE_TIMED = 1 << 0,   /* its visits are timed, all or some */
    RECORD_PROBE_SAMPLED = 1 << 1, /* not all have been: the time is an estimate */
    RECORD_PROBE_CALLER = 1 << 2,  /* of a procedure, as called from one return address */
    RECORD_PROBE_HELD = 1 << 3,    /* measurement is off: `held` is what counts */
};

/*
 * What is known of a site, or of the calls of a procedure from one return address that is no call
 * statement with a probe. Visits are divided into blocks of RECORD_BLOCK; a stratum is
 * `stratum_size` of them, of which one, drawn before it begins, is timed. Times are signed and in
 * 1/256 ticks.
 */
enum { RECORD_BLOCK = 64, RECORD_TIME_SHIFT = 8 };

struct record_probe {
    uint32_t version; /* odd while it changes */
    uint32_t unit;    /* index among the units */
    uint32_t site;
    uint32_t kind;          /* enum loupe_site_kind */
    uint32_t state;         /* bits of enum record_probe_state */
    uint32_t caller_module; /* RECORD_NO_MODULE; else with RECORD_PROBE_CALLER */
    uint64_t caller_offset;
    uint64_t armed;         /* all that was ever added to the cell */
    uint64_t before;        /* executions up to the last reset, or while measurement was off */
    uint64_t held;          /* executions when measurement was switched off */
    uint64_t count;         /* executions, of those without a cell (RECORD_PROBE_CALLER) */
    uint64_t timed;         /* of strata that are complete */
    int64_t time;           /* of strata that are complete, each weighted */
    uint64_t min, max;      /* ticks, of timed visits */
    uint64_t stratum_begin; /* executions when the stratum in progress began */
    int64_t stratum_time;   /* in it: of timed visits that have ended */
    uint32_t stratum_timed; /* their number */
    uint32_t stratum_size;  /* in blocks; 1: all are timed */
    int64_t mean;           /* of a visit in the last stratum */
    uint64_t squares[2];    /* variance of `time`, low and high word, in 1/256 ticks squared */
    uint32_t strata;        /* complete ones that add to it */
    uint32_t cost_spread;   /* of what a timed visit costs, in 1/256 ticks: standard deviation, */
    uint32_t pairs;         /* over so many measurements in place */
    uint32_t spare0;
    uint64_t cost; /* what a timed visit costs, in 1/256 ticks */
    uint64_t spare[3];
};

/*
 * The critical path as one thread knows it (runtime/path.h): the longest one that ends in what it
 * has done so far. All in ticks of virtual time without waiting. What goes on grows with the
 * length: an item in `active` has share + length of the path, the innermost one exclusive + length.
 * And beside it what the thread itself has spent since the path began, whosever path it was on.
 */
enum { RECORD_PATH_ITEMS = 32, RECORD_PATH_STRIP = 64, RECORD_PATH_NO_ITEM = 0xff };

struct record_path_item {
    int64_t share;     /* of the path; less the length at its entry while it is active */
    int64_t exclusive; /* the same without items that it called; less the length while innermost */
    int64_t excess;    /* by which the longest path net of this item exceeds this path net of it */
};

struct record_path {
    uint32_t version;     /* odd while it changes */
    uint32_t generation;  /* of the plan; 0: not started */
    int64_t offset;       /* virtual now less the length; grows by waiting */
    uint64_t waits;       /* virtual ticks: inside a communication since then; 0: it is computing */
    int64_t mpi;          /* of the length: inside communications, not waiting */
    int64_t idle;         /* virtual now less what the thread itself has spent; grows by waiting */
    uint32_t active;      /* items, a bit each */
    uint32_t innermost;   /* item; RECORD_PATH_NO_ITEM: none */
    uint64_t met;         /* others whose path was looked at, */
    uint64_t adopted;     /* and was longer */
    uint64_t unknown;     /* others whose path was not to be had any more */
    uint64_t ended;       /* virtual ticks: its time is over (MPI_Finalize); 0: not yet */
    uint64_t began;       /* real ticks: when this thread began with the generation */
    uint32_t strip_shift; /* a bucket of the strip is 2^strip_shift ticks of the path */
    uint32_t items;       /* in use */
    struct record_path_item item[RECORD_PATH_ITEMS];
    int64_t spent[RECORD_PATH_ITEMS];  /* by the thread in each item; less what it had spent in all
                                          at its entry, while it is active */
    uint16_t strip[RECORD_PATH_STRIP]; /* world rank + 1 that carried it; 0: not reached yet */
};

/* `caller_module` of calls whose return address is not kept: there are too many of them. */
#define RECORD_CALLER_UNKNOWN 0xfffffffeu

#define RECORD_CHUNK_ROOM      (RECORD_CHUNK - (int)sizeof(struct record_chunk))
#define RECORD_PER_CHUNK(type) (RECORD_CHUNK_ROOM / (int)sizeof(type))

_Static_assert(sizeof(struct record_chunk) == 64, "chunk head");
_Static_assert(sizeof(struct record_statement) == 464, "eight statements to a chunk");
_Static_assert(sizeof(struct record_peer) == 64, "63 peers to a chunk");
_Static_assert(sizeof(struct record_module) == 512, "seven modules to a chunk");
_Static_assert(sizeof(struct record_name) == 128, "31 names to a chunk");
_Static_assert(sizeof(struct record_probe) == 192, "21 probes to a chunk");
_Static_assert(sizeof(struct record_unit) == 16, "252 units to a chunk");
_Static_assert(sizeof(struct record_probe_frames) <= RECORD_CHUNK_ROOM, "one to a chunk");
_Static_assert(sizeof(struct record_path) <= RECORD_CHUNK_ROOM, "one to a chunk");
_Static_assert(sizeof(struct record_header) <= RECORD_CHUNK, "one page before MPI_Init");

#endif
