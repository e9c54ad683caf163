/* SPDX-License-Identifier: MIT */
/*
 * Headers in a job that was attached to in mid-run. Nobody can be asked to come to an exchange, so
 * all that ranks must know of each other follows from the job's directory, which all have been
 * told; and what was under way when it began is found out as it goes on (anchor.h).
 */
#include "mpi/anchor.h"
#include "mpi/collective.h"

#include "record/place.h"

enum { FUNNELED = 1 }; /* as the segment has the level of threads */
enum { LOOKS = 3 };    /* what has come is mostly seen at the first */

static uint64_t job_number(const char *dir)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *dir; dir++)
        hash = (hash ^ (uint8_t)*dir) * 0x100000001b3u;
    return hash | 1;
}

static bool know_boards(uint64_t job, int32_t size, int32_t rank)
{
    size_t bytes = (size_t)size * sizeof(struct board_token);
    struct board_token *tokens = pages_alloc(bytes);
    for (int32_t i = 0; tokens && i < size; i++)
        tokens[i] = board_token_of(job, i);
    bool known = tokens && !board_know(tokens, size, rank);
    pages_free(tokens, bytes);
    return known;
}

/* With MPI_THREAD_MULTIPLE nobody could say which receive was the next. */
bool pair_attach(const struct record_header *h)
{
    const char *dir = process_setting(PLACE_ENV_JOB_DIR);
    if (shim_multiple || !dir || h->rank < 0 || h->size <= 0)
        return false;
    uint64_t job = job_number(dir);
    struct board_token mine = board_token_of(job, h->rank);
    if (board_open_as(&mine, dir, process_setting(PLACE_ENV_SPILL)) ||
        !know_boards(job, h->size, h->rank) || streams_open_midway(h->size, h->rank))
        return false;
    if (h->thread_level <= FUNNELED)
        streams_alone();
    anchor_delivery = (uint64_t)(ANCHOR_DELIVERY_US * 1000.0 / (h->tick_ns > 0 ? h->tick_ns : 1));
    shim_posts++; /* nobody goes the short way with a receive, or waits for one so */
    shim_requests.fast_count = -1;
    comm_world_nonce(job);
    pair_calibrate();
    return true;
}

void pair_leave(void)
{
    requests_forget();
    comms_forget();
    streams_leave();
    coll_leave();
    carry_leave();
    board_leave();
}

/* ---- is there a message? ---- */

/* When it was last not there; 0: it is. */
static uint64_t poll(int source, int tag, MPI_Comm comm, bool patient)
{
    uint64_t absent = 0, now = clock_now(), until = now + anchor_patience();
    for (int look = 0; look < LOOKS || (patient && now < until); look++) {
        int there = 0;
        now = clock_now();
        if (PM(Iprobe)(source, tag, comm, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS || there)
            return patient && look >= LOOKS ? absent : 0;
        absent = now;
    }
    return absent;
}

uint64_t pair_absent(struct event *e, const struct comm_info *info, int source, int tag,
                     MPI_Comm comm, bool patient)
{
    bool any = source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
    struct stream spare, *s = NULL;
    /* What MPI would refuse it is not asked for: its error handler is the program's. */
    if ((source != MPI_ANY_SOURCE && world_rank(info, source) < 0) ||
        (tag != MPI_ANY_TAG && tag < 0))
        return 0;
    if (!any)
        s = stream_from(info->id, world_rank(info, source), tag, &spare);
    if ((!any && !s) || !anchor_due(s))
        return 0;
    struct spending spent = spending_begin(e->thread);
    uint64_t at = poll(source, tag, comm, patient);
    spending_end(e->thread, &spent);
    return at;
}

static void look(struct event *e, const struct comm_info *info, int source, int tag, MPI_Comm comm)
{
    struct stream spare;
    uint64_t at = posts_pending(info) ? 0 : pair_absent(e, info, source, tag, comm, false);
    if (at) {
        struct stream *s = stream_from(info->id, world_rank(info, source), tag, &spare);
        anchor_absent(s, s->count + 1, at);
    }
}

void pair_look_posting(struct event *e, int source, int tag, MPI_Comm comm)
{
    if (source < 0 || tag < 0 || comm == ABI_COMM_NULL)
        return;
    const struct comm_info *info = comm_of(e->site, comm);
    if (info && info->id)
        look(e, info, source, tag, comm);
}

static int rank_in(const struct comm_info *info, int32_t world)
{
    int rank = 0;
    while (rank < info->count && world_rank(info, rank) != world)
        rank++;
    return rank < info->count ? rank : -1;
}

void pair_look_starting(struct event *e, const struct pending *p)
{
    int rank = p->info && p->info->id && p->tag >= 0 ? rank_in(p->info, p->rank) : -1;
    if (rank >= 0)
        look(e, p->info, rank, p->tag, (MPI_Comm)p->info->key);
}
