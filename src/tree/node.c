/* SPDX-License-Identifier: MIT */
#include "tree/node.h"

#include "base/alloc.h"
#include "base/path.h"
#include "record/plan.h"
#include "tree/collect.h"
#include "tree/inserted.h"
#include "tree/members.h"
#include "tree/notes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trouble {
    uint32_t bit;
    const char *one, *many;
};

static const struct trouble troubles[] = {
    {RECORD_TROUBLE_SPILLED, ": shared memory is scarce, part of its statistics is in a file",
     ": shared memory is scarce, part of their statistics is in files"},
    {RECORD_TROUBLE_NO_SPACE,
     ": no room for more statistics, further statements are summed up as \"(other statements)\"",
     NULL},
    {RECORD_TROUBLE_STATEMENTS,
     ": too many different statements, further ones are summed up as \"(other statements)\"", NULL},
    {RECORD_TROUBLE_PEERS,
     ": a statement has more peers than are kept, the rest is summed up as others", NULL},
    {RECORD_TROUBLE_UNKNOWN_MPI,
     ": uses an MPI that is neither Open MPI nor MPICH, its communication is not monitored",
     ": use an MPI that is neither Open MPI nor MPICH, their communication is not monitored"},
    {RECORD_TROUBLE_CELLS,
     ": no room to count in some threads, their procedures, calls and loops are not all counted",
     NULL},
    {RECORD_TROUBLE_PROBES,
     ": no room for more procedures, calls and loops, further ones are not counted", NULL},
    {RECORD_TROUBLE_UNITS,
     ": more instrumented source files than Loupe can handle, some are not monitored", NULL},
    {RECORD_TROUBLE_APART,
     ": not all ranks are watched: waiting is not told from transfer, and what monitoring cost "
     "others is not taken out",
     NULL},
    {RECORD_TROUBLE_ATTACHED,
     ": attached to while running, with several threads in MPI or without room for headers: "
     "waiting is not told from transfer, and what monitoring cost others is not taken out",
     NULL},
    {RECORD_TROUBLE_HEADERS,
     ": --no-headers: waiting is not told from transfer, and what monitoring cost others is not "
     "taken out",
     NULL},
    {RECORD_TROUBLE_COMMS, ": too many communicators at once, some peers are summed up as others",
     NULL},
};

static bool has_mpi(const struct record_header *h)
{
    return h->mpi_phase != RECORD_MPI_NONE;
}

static enum run_state state_of(const struct member *m)
{
    const struct record_header *h = record_header(m->reader);
    bool finalized = h->mpi_phase == RECORD_MPI_FINALIZED;
    uint32_t state = h->state;
    if (state == RECORD_RUNNING && m->replaced)
        state = RECORD_REPLACED;
    switch (state) {
    case RECORD_FINISHED: return RUN_FINISHED;
    case RECORD_EXITED: return finalized ? RUN_FINISHED : RUN_EXITED;
    case RECORD_ABORTED: return RUN_ABORTED;
    case RECORD_KILLED: return RUN_KILLED;
    case RECORD_REPLACED: return finalized || !has_mpi(h) ? RUN_FINISHED : RUN_EXITED;
    default: break;
    }
    if (m->life != PROCESS_DEAD)
        return RUN_RUNNING;
    return finalized ? RUN_FINISHED : RUN_KILLED;
}

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Up to when the process is known: this moment, its end, or the last it told before it was gone. */
static uint64_t known_until(const struct member *m, enum run_state state)
{
    const struct record_header *h = record_header(m->reader);
    if (state == RUN_RUNNING)
        return record_now(m->reader);
    if (h->ended)
        return h->ended;
    uint64_t until = max(h->started, max(h->mpi_init_begin, h->mpi_init_end));
    until = max(until, max(h->mpi_finalize_begin, h->mpi_finalize_end));
    return max(until, collect_last(m->reader));
}

static double seconds(const struct record_header *h, uint64_t from, uint64_t to)
{
    return from && to > from ? (double)(to - from) * h->tick_ns * 1e-9 : 0;
}

/* How long measurement was off: nothing was counted then, so it is not part of the time either. */
static double off_seconds(const struct record_header *h, uint64_t end)
{
    double off = (double)h->off_ticks * h->tick_ns * 1e-9;
    return off + (h->off_since ? seconds(h, h->off_since, end) : 0);
}

/* Where a rank's time begins; 0: it has not yet. */
static uint64_t time_origin(const struct record_header *h)
{
    uint64_t begin = has_mpi(h) ? h->mpi_init_end : h->started;
    return begin ? max(begin, h->reset_at) : 0;
}

static void set_times(struct run_rank *rank, const struct record_header *h, uint64_t until)
{
    uint64_t begin = time_origin(h);
    uint64_t end = has_mpi(h) && h->mpi_finalize_begin ? h->mpi_finalize_begin : until;
    if (begin)
        rank->real_s = seconds(h, begin, end) - off_seconds(h, end);
    if (rank->real_s < 0)
        rank->real_s = 0;
    rank->init_real_s = seconds(h, h->mpi_init_begin, h->mpi_init_end ? h->mpi_init_end : until);
    rank->finalize_real_s =
        seconds(h, h->mpi_finalize_begin, h->mpi_finalize_end ? h->mpi_finalize_end : until);
}

/* The delay stands as it is: one that partners made may be below 0, or above the rank's time. */
static void set_totals(struct run_rank *rank, const struct collect_totals *totals)
{
    rank->events = totals->events;
    rank->threads = totals->threads;
    rank->overhead_s = totals->delay_s;
    rank->probe_s = totals->probe_s;
    rank->probe_error_s = totals->probe_error_s;
    rank->mpi_s = totals->mpi_s;
    rank->sync_s = totals->sync_s;
    rank->preempted_s = totals->preempted_s;
    rank->preempted_mpi_s = totals->preempted_mpi_s;
#define X(name, unit, merge) rank->name = totals->name;
    RECORD_PAIRING_FIELDS(X)
#undef X
}

/* A thread that loses the processor in a short piece of our code has lost it to others and was
 * delayed by us: that is in both (event_charged tells long ones apart). So it may have lost more
 * outside MPI than the time that is left there. */
static void bound_preempted(struct run_rank *rank)
{
    double outside = fmax(run_rank_time(rank) - rank->mpi_s, 0);
    if (rank->preempted_s > outside)
        rank->preempted_s = outside;
}

/* What it means for the numbers. */
#define UNPAIRED                                                                                   \
    ", so waiting for them counts as transfer and their senders' delay stays in the times"
#define MISSING ": messages came without their header" UNPAIRED
#define MIDWAY                                                                                     \
    ": attached to while running: messages that were under way, or whose order was not yet "       \
    "known, "                                                                                      \
    "came without their header" UNPAIRED
#define AMBIGUOUS ": messages whose header could not be told from others" UNPAIRED

static void add_notes(struct notes *notes, const struct member *m, const struct run_rank *rank,
                      const struct collect_totals *totals)
{
    const struct record_header *h = record_header(m->reader);
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (h->trouble & troubles[i].bit)
            notes_add(notes, rank, troubles[i].one,
                      troubles[i].many ? troubles[i].many : troubles[i].one, NULL, 0);
    if (h->trouble & RECORD_TROUBLE_REQUESTS || h->dropped_requests)
        notes_add(notes, rank, ": too many requests pending, some receives have no peer",
                  ": too many requests pending, some receives have no peer", NULL,
                  h->dropped_requests);
    if (h->trouble & RECORD_TROUBLE_REGIONS || h->unbalanced_regions)
        notes_add(notes, rank, ": regions ended that had not begun, or were nested too deeply",
                  ": regions ended that had not begun, or were nested too deeply", NULL,
                  h->unbalanced_regions);
    if (h->dropped_events)
        notes_add(notes, rank, ": events of threads without a record were not counted",
                  ": events of threads without a record were not counted", NULL, h->dropped_events);
    if (h->trouble & RECORD_TROUBLE_MIDWAY)
        notes_add(notes, rank, MIDWAY, MIDWAY, NULL, totals->missing);
    else if (totals->missing && !(h->trouble & RECORD_TROUBLE_ATTACHED)) /* that says it already */
        notes_add(notes, rank, MISSING, MISSING, NULL, totals->missing);
    if (totals->ambiguous)
        notes_add(notes, rank, AMBIGUOUS, AMBIGUOUS, NULL, totals->ambiguous);
    if (record_damaged(m->reader))
        notes_add(notes, rank, ": its statistics are damaged, what made no sense was left out",
                  ": their statistics are damaged, what made no sense was left out", NULL, 0);
    if (totals->torn)
        notes_add(notes, rank, ": stopped within an event, which is perhaps counted in part",
                  ": stopped within an event, which is perhaps counted in part", NULL, 0);
}

struct reading {
    struct run *run;
    struct collect *collect;
    struct notes notes;
    bool mpi; /* some process of the job has MPI */
    bool all; /* keep every process */
};

/* Wrapper scripts and the like are processes of the job too, but nothing to report on. */
static bool worth_keeping(const struct reading *r, const struct member *m,
                          const struct collect_totals *totals)
{
    const struct record_header *h = record_header(m->reader);
    if (has_mpi(h) || totals->values || r->all)
        return true;
    return !r->mpi && h->exec_root && !m->replaced;
}

static int read_member(struct reading *r, const struct member *m)
{
    const struct record_header *h = record_header(m->reader);
    enum run_state state = state_of(m);
    uint64_t until = known_until(m, state);
    size_t number = r->run->rank_count;
    struct collect_totals totals;
    struct collect_moment moment = {until, time_origin(h), state == RUN_RUNNING};
    int err = collect_process(r->collect, m->reader, &moment, (uint32_t)number, &totals);
    bool worth = !err && worth_keeping(r, m, &totals);
    collect_keep_paths(r->collect, worth && (has_mpi(h) || !r->mpi));
    if (!worth)
        return err;
    struct run_rank *rank = run_add_rank(r->run);
    rank->mpi = has_mpi(h);
    rank->rank = rank->mpi ? h->rank : (int32_t)number;
    rank->world = rank->mpi ? m->world : 0;
    rank->pid = h->pid;
    rank->state = state;
    rank->exit_code = state == RUN_EXITED || state == RUN_ABORTED ? h->exit_code : -1;
    rank->host = xstrdup(h->host);
    rank->segment_bytes = record_bytes(m->reader);
    set_times(rank, h, until);
    set_totals(rank, &totals);
    if (h->compensation == RECORD_COMPENSATE_NONE)
        rank->overhead_s = 0; /* nothing was taken out of the times */
    bound_preempted(rank);
    if (h->clock_error) {
        rank->clock_error_s = h->clock_error * 1e-9;
        rank->clock_drift = h->clock_drift * 1e-9;
    }
    rank->carried = h->carried;
    add_notes(&r->notes, m, rank, &totals);
    return 0;
}

static enum run_compensation compensation_of(const struct record_header *h)
{
    switch (h->compensation) {
    case RECORD_COMPENSATE_LOCAL: return RUN_COMPENSATION_LOCAL;
    case RECORD_COMPENSATE_NONE: return RUN_COMPENSATION_NONE;
    default: return RUN_COMPENSATION_FULL;
    }
}

static void describe(struct run *run, const struct job *job, const struct members *members)
{
    size_t args = 0;
    while (job->command && job->command[args])
        args++;
    run->command = xcalloc(args + 1, sizeof *run->command);
    for (size_t i = 0; i < args; i++)
        run->command[i] = xstrdup(job->command[i]);
    run->job = xstrdup(job->id);
    run->started_ns = job->started_ns;
    /* MPI processes come first; without MPI the last of an exec chain is the program. */
    const struct record_header *first = NULL;
    for (size_t i = 0; i < members->count && (!first || !has_mpi(first)); i++) {
        const struct record_header *h = record_header(members->list[i].reader);
        if (has_mpi(h) || !first || (h->exec_root && !members->list[i].replaced))
            first = h;
        if (first == h && h->exec_root && !members->list[i].replaced)
            break;
    }
    if (first && *first->program)
        run->program = xstrdup(path_base(first->program));
    else
        run->program = xstrdup(path_base(args ? job->command[0] : "program"));
    if (first && has_mpi(first) && *first->mpi)
        run->mpi = xstrdup(first->mpi);
    run->compensation = first ? compensation_of(first) : RUN_COMPENSATION_FULL;
    graph_add(&run->graph, &(struct graph_node){
                               .parent = GRAPH_NONE, .kind = GRAPH_PROGRAM, .name = run->program});
}

/* Whether every rank of every world is here; ranks that have not come out of MPI_Init yet do not
 * know who they are, so nothing is said while there are some. */
static bool check_worlds(struct run *run, const struct members *members)
{
    bool whole = true, starting = false;
    for (size_t i = 0; i < members->count; i++)
        starting |= record_header(members->list[i].reader)->mpi_phase == RECORD_MPI_INITIALIZING;
    for (size_t i = 0, j; i < members->count; i = j) {
        const struct record_header *h = record_header(members->list[i].reader);
        int32_t seen = 0, size = 0;
        for (j = i; j < members->count; j++) {
            const struct record_header *other = record_header(members->list[j].reader);
            if (has_mpi(other) != has_mpi(h) || members->list[j].world != members->list[i].world)
                break;
            seen += other->rank >= 0;
            size = other->size > size ? other->size : size;
        }
        if (!has_mpi(h) || seen >= size)
            continue;
        whole = false;
        if (!starting)
            run_warn(run, "only %d of %d ranks were on this machine or left statistics", seen,
                     size);
    }
    return whole;
}

static void warn_worlds(struct run *run)
{
    int32_t most = 0;
    for (size_t i = 0; i < run->rank_count; i++)
        most = run->ranks[i].world > most ? run->ranks[i].world : most;
    if (most)
        run_warn(run,
                 "MPI was started %d times; w1:0 is rank 0 of the second one, and the efficiency "
                 "is of all together. For a report of each: loupe run before each mpirun",
                 most + 1);
}

static void conclude(struct reading *r, const struct members *members)
{
    struct run *run = r->run;
    bool finished = run->rank_count > 0;
    for (size_t i = 0; i < run->rank_count; i++) {
        const struct run_rank *rank = &run->ranks[i];
        run->live |= rank->state == RUN_RUNNING;
        if (rank->mpi || !r->mpi)
            finished &= rank->state == RUN_FINISHED;
    }
    node_warn_endings(run);
    run->complete = check_worlds(run, members) && finished && !members->unreadable_count;
    warn_worlds(run);
    notes_warn(&r->notes, run);
    for (size_t i = 0; i < members->unreadable_count; i++) {
        const struct unreadable *u = &members->unreadable[i];
        run_warn(run, "the statistics of one process cannot be read (%s): %s", u->name,
                 u->err == -EPROTO    ? "they are damaged"
                 : u->err == -ENOTSUP ? "another version of Loupe wrote them"
                                      : strerror(-u->err));
    }
}

/* The plan is read last: what processes have begun with is in it by then. */
static void read_path(struct reading *r, int dir)
{
    struct plan *shared = plan_open(dir), plan;
    bool good = shared && plan_read(shared, &plan);
    collect_path(r->collect, good ? &plan : NULL);
    plan_close(shared);
}

int node_read(const struct job *job, struct run **run)
{
    struct members members;
    *run = NULL;
    int err = members_open(job, &members);
    if (err)
        return err;
    struct reading r = {.run = run_new()};
    r.collect = collect_new(r.run);
    describe(r.run, job, &members);
    for (size_t i = 0; i < members.count; i++)
        r.mpi |= has_mpi(record_header(members.list[i].reader));
    for (size_t i = 0; i < members.count && !err; i++)
        err = read_member(&r, &members.list[i]);
    if (!err && !r.run->rank_count) { /* better something that is not much than nothing */
        r.all = true;
        for (size_t i = 0; i < members.count && !err; i++)
            err = read_member(&r, &members.list[i]);
    }
    if (!err) {
        read_path(&r, members.dir);
        inserted_read(r.run, members.dir);
        conclude(&r, &members);
        run_finish(r.run);
        *run = r.run;
    } else {
        run_free(r.run);
    }
    collect_free(r.collect);
    notes_free(&r.notes);
    members_close(&members);
    return err;
}
