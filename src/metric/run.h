/* SPDX-License-Identifier: MIT */
/*
 * A run: what is known about a program, during it (src/tree fills it from the segments) and
 * afterwards (src/store from the run file). Views only ever see this.
 */
#ifndef LOUPE_METRIC_RUN_H
#define LOUPE_METRIC_RUN_H

#include "graph/graph.h"
#include "record/fields.h"
#include "record/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_state { RUN_RUNNING, RUN_FINISHED, RUN_EXITED, RUN_KILLED, RUN_ABORTED, RUN_STATES };
const char *run_state_name(enum run_state state);
int run_state_by_name(const char *name); /* -1: no such state */

/* What was taken out of the times. */
enum run_compensation {
    RUN_COMPENSATION_FULL,  /* what probes cost, also where the delay came from other processes */
    RUN_COMPENSATION_LOCAL, /* what the process's own probes cost */
    RUN_COMPENSATION_NONE,
    RUN_COMPENSATIONS
};
const char *run_compensation_name(enum run_compensation compensation);
int run_compensation_by_name(const char *name); /* -1: no such one */

/* One process: an MPI rank, or a process without MPI (then rank is its number in the run). */
struct run_rank {
    int32_t rank;
    int32_t world;
    int32_t pid;
    bool mpi; /* false: it never called MPI_Init */
    enum run_state state;
    int32_t exit_code; /* of exited and aborted ones; -1: not known */
    int32_t signal;    /* of killed ones; 0: not known */
    char *host;
    double real_s;        /* MPI_Init's return to MPI_Finalize's entry, or start to end */
    double overhead_s;    /* delay at the end, of either sign; time_s = real_s - overhead_s */
    double probe_s;       /* what its own probes cost; the rest of the delay came from others */
    double probe_error_s; /* how sure that is: half the 95 % interval of what probes in the source
                             cost; NAN: there were none, or it is not known */
    double init_real_s, finalize_real_s;
    double mpi_s;           /* inside MPI between init and finalize */
    double sync_s;          /* part of it: waiting for others; the rest is transfer */
    double preempted_s;     /* kept from running by others, outside MPI; NAN: not known */
    double preempted_mpi_s; /* the same inside MPI */
    /* Other hosts: how wrong their moments may be here, and how far the clocks drifted apart, as a
     * part of the time; NAN: all ranks are on one host. */
    double clock_error_s, clock_drift;
#define X(name, unit, merge) uint64_t name;
    RECORD_PAIRING_FIELDS(X)
#undef X
    uint64_t carried; /* headers that came from other hosts */
    uint64_t events;
    uint64_t threads;
    uint64_t segment_bytes;
};

#define RUN_TYPE_COUNT uint64_t
#define RUN_TYPE_BYTES uint64_t
#define RUN_TYPE_TICKS double /* seconds from here on */

/* What one process has for one node. */
struct run_value {
    uint32_t node;
    uint32_t rank; /* index into ranks[], not the MPI rank */
#define X(name, unit, merge) RUN_TYPE_##unit name;
    RECORD_VALUE_FIELDS(X)
#undef X
    uint64_t sizes[RECORD_SIZE_BUCKETS];
};

enum { RUN_PEER_OTHERS = -1, RUN_PEER_FOREIGN = -2 };

struct run_peer {
    uint32_t node;
    uint32_t rank;     /* index into ranks[] of the process that executed the statement */
    int32_t peer;      /* world rank of the other one, or RUN_PEER_* */
    uint32_t received; /* 0: sent to the peer, 1: received from it */
#define X(name, unit, merge) RUN_TYPE_##unit name;
    RECORD_PEER_FIELDS(X)
#undef X
};

/* An item of the critical path. */
struct run_path_item {
    char *name;                  /* as selected, where no node is known; NULL: that of the node */
    uint32_t node;               /* 0: none */
    double share_s, exclusive_s; /* of the path: with, and without other items that it called */
    double zeroed_s;             /* how long the longest path would be without it */
    double cpu_s;                /* spent in it by all threads since then, without waiting */
    uint32_t number;             /* in the plan, until the nodes are known */
};

/* Which keys an item has (record/plan.h), until the nodes are known. */
struct run_path_range {
    uint64_t from, to;
    uint32_t item;
};

/* The longest path at the end, or now. */
struct run_path {
    bool known;          /* it was, or is, computed */
    bool on, searching;  /* now; the search for the greatest items goes on */
    uint32_t generation; /* which selection of items this is */
    double since_s;      /* of the run's time, when that began; NAN: not known */
    double length_s;
    double mpi_s;                /* of it: inside communications, not waiting */
    double cpu_s;                /* spent by all threads since then, without waiting */
    double covered;              /* share of the path that the items have, exclusive; 0 to 1 */
    bool complete;               /* the items with at least 1/top of the path are known */
    uint32_t top;                /* as asked for; 0: the items were named */
    uint32_t rank;               /* index into ranks[]: where it ends */
    struct run_path_item *items; /* the greatest saving first */
    size_t item_count, item_room;
    struct run_path_range *ranges;
    size_t range_count, range_room;
    double strip_s;                   /* seconds of the path that a part of the strip stands for */
    int32_t strip[RECORD_PATH_STRIP]; /* world ranks that carried it; -1: it ended before */
};

struct run {
    struct run_path path;
    char **command;     /* NULL-terminated; what the user typed after "--" */
    char *program;      /* its name, without directories */
    char *mpi;          /* "Open MPI 4.1.4"; NULL: no MPI */
    char *job;          /* identity of the job */
    int64_t started_ns; /* since the epoch */
    bool complete;      /* every rank reached MPI_Finalize (or ended normally without MPI) */
    bool live;          /* read from running processes */
    enum run_compensation compensation;

    struct run_rank *ranks;
    size_t rank_count, rank_room;
    struct graph graph;
    struct run_value *values; /* sorted by node, then rank, after run_finish */
    size_t value_count, value_room;
    struct run_peer *peers; /* sorted by node, rank, received, peer, after run_finish */
    size_t peer_count, peer_room;
    char **warnings;
    size_t warning_count, warning_room;
    /* Static tables of probes that were inserted into machine code, until the graph is structured:
     * no binary has them (graph/unit.h). Those of one module have one id. */
    struct unit *units;
    size_t unit_count, unit_room;
};

struct run *run_new(void);
void run_free(struct run *run); /* accepts NULL */
struct run_rank *run_add_rank(struct run *run);
struct run_value *run_add_value(struct run *run, uint32_t node,
                                uint32_t rank); /* min starts at infinity */
struct run_peer *run_add_peer(struct run *run, uint32_t node, uint32_t rank, int32_t peer,
                              uint32_t received);
/* Items, the greatest saving first. */
void run_path_sort(struct run_path *path);
/* By how much the run would be shorter without an item, at most. */
double run_path_saves(const struct run_path *path, const struct run_path_item *item);
void run_warn(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

void run_value_merge(struct run_value *into, const struct run_value *from); /* by the field list */
void run_peer_merge(struct run_peer *into, const struct run_peer *from);
/* There were messages; else the statement only waited for the peer (a Wait, a collective). */
bool run_peer_exchanged(const struct run_peer *peer);

/* Sorts values and peers and merges entries with the same key. A send that waited for its receiver
 * has an entry of its own for that, without messages, which becomes part of what was sent to it.
 * Call once after filling. */
void run_finish(struct run *run);

/* After run_finish: the values of a node (one per rank that has any), and their merged total. */
const struct run_value *run_values(const struct run *run, uint32_t node, size_t *count);
const struct run_peer *run_peers(const struct run *run, uint32_t node, size_t *count);
struct run_value run_total(const struct run *run, uint32_t node);

/*
 * The graph of a run whose program was built with `loupe cc`. Procedures and groups of them are
 * children of the program, the members of a group are children of the group; loops, calls and
 * communications hang below their procedure as they are written. Calls from code without probes are
 * children of the program as well (RUN_UNKNOWN_CALLER, without a file). A call leads to node
 * `callee`.
 */
#define RUN_UNKNOWN_CALLER  "unknown caller"
#define RUN_RECURSIVE_CALLS "recursive calls" /* of a procedure, several statements together */

/* The call statements of a procedure or group; free() them. */
size_t run_callers(const struct run *run, uint32_t procedure, uint32_t **calls);
/* The procedures of a group, itself not among them: none unless `group` is the group's node. */
size_t run_members(const struct run *run, uint32_t group, uint32_t **members);
/*
 * Where most of the time goes, downwards from a node (0: the program), that node first: of what is
 * in a node the dearest, from a call on into the procedure, until a node's own time is more than
 * what any of its children takes. free() it.
 */
size_t run_hot_path(const struct run *run, uint32_t from, uint32_t **path);

/* MPI_Init, MPI_Init_thread and MPI_Finalize lie outside the rank's time: they have no share of it,
 * no place among the most expensive statements, and no part in their procedure's sum. */
bool run_outside_time(const struct graph_node *node);
double run_rank_time(const struct run_rank *rank);    /* virtual: real_s - overhead_s */
double run_rank_compute(const struct run_rank *rank); /* outside MPI, and not preempted */
/* Inside MPI and not waiting: time = compute + preempted + sync + transfer. */
double run_rank_transfer(const struct run_rank *rank);
/* The same of a value, without MPI_Init and MPI_Finalize; those of a region are not known. */
double run_value_transfer(const struct run_value *value);
double run_value_compute(const struct run_value *value);
/* Of the call with this peer; 0 where the peer has no time of its own. */
double run_peer_transfer(const struct run_peer *peer);
double run_time(const struct run *run); /* of the longest rank */

struct run_efficiency {
    double parallel, load_balance, communication; /* 0 to 1; NAN without ranks or time */
};
struct run_efficiency run_efficiency(const struct run *run);
/* Number of different hosts. */
size_t run_hosts(const struct run *run);

#endif
