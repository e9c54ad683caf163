/* SPDX-License-Identifier: MIT */
/*
 * Who waits for whom in a collective (collective.h). What an algorithm does inside a rooted one is
 * not to be seen: where its end can be explained by a member who should not matter, it is marked as
 * uncertain, and nobody but the root is waited for.
 */
#include "mpi/board.h"
#include "mpi/collective.h"
#include "mpi/instance.h"
#include "mpi/request.h"
#include "mpi/word.h"

#include <errno.h>

/* ---- areas of the boards ---- */

/* What is known of a rank of MPI_COMM_WORLD. */
struct place {
    const struct meet_area *area; /* NULL: not found (yet) */
    uint32_t seen;                /* of its board */
};
static struct place *places;
static int32_t place_count;
static struct meet_area *own_area;
static bool no_area;
static uint32_t lock;

struct meet_area *meet_area_own(void)
{
    if (!own_area && !no_area) {
        own_area = board_area(BOARD_MEET, 0, sizeof *own_area);
        no_area = !own_area;
    }
    return own_area;
}

/* Where its paths are, beside the slots. */
struct path_place {
    const struct carried *paths; /* NULL: not found (yet) */
    uint32_t seen;
};
static struct path_place *path_places; /* by rank of MPI_COMM_WORLD */

static void meet_carried(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                         int64_t at);
static bool read_carried(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                         struct path_told *told);

static bool make_places(void)
{
    const struct record_header *h = loupe_process.writer.header;
    slow_lock(&lock);
    if (!places && h && h->size > 0) {
        place_count = h->size;
        path_places = pages_alloc((size_t)h->size * sizeof *path_places);
        meet_path = meet_carried;
        word_path_of = read_carried;
        __atomic_store_n(&places, pages_alloc((size_t)h->size * sizeof *places), __ATOMIC_RELEASE);
    }
    slow_unlock(&lock);
    return places;
}

const struct meet_area *meet_area_of(int32_t world)
{
    if (!__atomic_load_n(&places, __ATOMIC_ACQUIRE) && !make_places())
        return NULL;
    if (world < 0 || world >= place_count)
        return NULL;
    struct place *p = &places[world];
    const struct meet_area *area = __atomic_load_n(&p->area, __ATOMIC_ACQUIRE);
    if (!area) {
        const struct board *board = board_of(world);
        slow_lock(&lock);
        area = p->area ? p->area : board_look(board, BOARD_MEET, 0, sizeof *area, &p->seen);
        __atomic_store_n(&p->area, area, __ATOMIC_RELEASE);
        slow_unlock(&lock);
    }
    return area;
}

/* ---- paths beside the slots ---- */

enum { PATHS = MEET_RINGS * MEET_SLOTS };
static struct carried *own_paths;
static bool no_paths;

/* What stands beside that slot of a ring; NULL: not to be found. */
static const struct carried *carried_at(int32_t world, const struct meet_slot *ring,
                                        uint64_t number)
{
    const struct meet_area *area = meet_area_of(world);
    if (!area || !path_places)
        return NULL;
    struct path_place *p = &path_places[world];
    if (!__atomic_load_n(&p->paths, __ATOMIC_ACQUIRE)) {
        const struct board *board = board_of(world);
        slow_lock(&lock);
        if (!p->paths)
            __atomic_store_n(
                &p->paths,
                board_look(board, BOARD_MEET_PATHS, 0, PATHS * sizeof *p->paths, &p->seen),
                __ATOMIC_RELEASE);
        slow_unlock(&lock);
    }
    size_t index = (size_t)(ring - area->slots[0]) + meet_at(number);
    return p->paths && index < PATHS ? &p->paths[index] : NULL;
}

static void meet_carried(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                         int64_t at)
{
    carry_meet(world, carried_at(world, ring, number), key, carry_begin(at));
}

static bool read_carried(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                         struct path_told *told)
{
    return carry_read(world, carried_at(world, ring, number), key, told);
}

uint32_t coll_tell_path(struct thread *t, const struct meet *m, uint64_t number)
{
    const struct meet_area *area = m->own ? meet_area_own() : NULL;
    struct carried c;
    if (!own_paths && !no_paths) {
        own_paths = board_area(BOARD_MEET_PATHS, 0, PATHS * sizeof *own_paths);
        no_paths = !own_paths;
    }
    if (!area || !own_paths || !carry_now(t, -1, &c))
        return 0;
    carry_write(&own_paths[(size_t)(m->own - area->slots[0]) + meet_at(number)],
                meet_key(m->own_id, number), &c);
    return MEET_PATH;
}

void coll_leave(void)
{
    own_area = NULL;
    own_paths = NULL;
    no_area = no_paths = false;
    pages_free(places, (size_t)place_count * sizeof *places);
    pages_free(path_places, (size_t)place_count * sizeof *path_places);
    places = NULL;
    path_places = NULL;
    place_count = 0;
}

/* ---- coming ---- */

/* What is known of a communicator without asking MPI about a handle that may be none. */
static struct comm_info *known(struct site *site, MPI_Comm comm)
{
    comms_enter();
    const struct comm_info *info = comm_as_parent(comm);
    bool there = info && info->id;
    comms_leave();
    there |= streams_midway && comm != ABI_COMM_NULL; /* those that nobody saw being made */
    return there ? (struct comm_info *)comm_of_slow(site, comm) : NULL;
}

static struct meet *meet_of(struct comm_info *info)
{
    int saved = errno;
    if (!info->meet && info->id && info->count > 0 && (!streams_midway || info->me >= 0)) {
        info->meet = meet_new(info->id, info->map, info->count, info->me);
        if (info->meet && streams_midway)
            info->collectives = instance_open(info->meet);
    }
    if (info->meet) {
        meet_take_ring(info->meet);
        word_hosts(info->meet);
    }
    errno = saved;
    return info->meet;
}

/* The first on a communicator, or here: what it costs is known when it is over. */
static struct comm_info *come_slow(struct site *site, MPI_Comm comm, enum coll_kind kind)
{
    struct spending looking = spending_begin(site->thread);
    struct comm_info *info = known(site, comm);
    if (info) {
        meet_of(info);
        if (kind == COLL_NEIGHBORS)
            comm_with_neighbors(site, comm);
    }
    spending_end(site->thread, &looking);
    return info;
}

void coll_come(struct coming *c, struct site *site, MPI_Comm comm, enum coll_kind kind, int root)
{
    struct comm_info *info = (struct comm_info *)site->comm_info;
    if (UNLIKELY(!shim_headers)) {
        *c = (struct coming){.kind = (uint16_t)kind, .root = root};
        return;
    }
    if (UNLIKELY(site->comm != HANDLE(comm) || site->comm_epoch != shim_comm_epoch || !info ||
                 !info->meet || !info->meet->own || (kind == COLL_NEIGHBORS && info->in_count < 0)))
        info = come_slow(site, comm, kind);
    *c = (struct coming){.info = info, .kind = (uint16_t)kind, .root = root};
    if (LIKELY(info != NULL)) {
        c->meet = info->meet;
        if (UNLIKELY(c->meet && c->meet->midway)) {
            struct spending looking = spending_begin(site->thread);
            info->collectives += (uint64_t)instance_come(c->meet, clock_now());
            spending_end(site->thread, &looking);
        }
        c->number = ++info->collectives;
    }
}

/* ---- meeting ---- */

static int32_t size_of(uint64_t bytes)
{
    uint32_t bucket = size_bucket(bytes);
    return bucket < MEET_SIZES ? (int32_t)bucket : MEET_SIZES - 1;
}

/* The data come from the root: as with a message, they are there when they have been moved. */
bool coll_meet_root(const struct coming *c, struct pairing *x, const struct meet_slot *root)
{
    uint64_t begin = (uint64_t)x->since, now = (uint64_t)x->until;
    uint32_t *least = &c->meet->least[0][c->size], usual = *least;
    uint64_t there = root->begin + usual < now ? root->begin + usual : now;
    int64_t before = x->meeting.ideal;
    const struct meet_member *member = &c->meet->members[c->root];
    meet_join_seen(root, c->meet->id, member->world, member->ring, c->number, there, &x->meeting);
    if (x->meeting.ideal != before)
        x->transfer = (int64_t)(there - root->begin);
    if (begin < root->begin) /* it has waited, so that the rest is the transfer */
        return !meet_held_up(c->meet, c->number, root->begin, now, least);
    return !usual || !meet_held_up(c->meet, c->number, begin, now, &usual); /* learns nothing */
}

static bool meet_root(const struct coming *c, struct pairing *x)
{
    struct meet_slot root;
    return c->root >= 0 && c->root < c->meet->count &&
           meet_see(c->meet, c->root, c->number, (uint64_t)x->until, &root) &&
           coll_meet_root(c, x, &root);
}

static bool meet_neighbors(const struct coming *c, struct pairing *x)
{
    const struct comm_info *info = c->info;
    bool all = info->in_count >= 0;
    for (int32_t i = 0; i < info->in_count; i++)
        if (info->in[i] != SHIM_NOBODY)
            all &= meet_join_world(c->meet->id, info->in[i], c->number, (uint64_t)x->until,
                                   &x->meeting);
    return all;
}

bool coll_meet_here(const struct coming *c, struct pairing *x)
{
    struct meet *meet = c->meet;
    uint64_t now = (uint64_t)x->until;
    bool root = c->root == MPI_ROOT || c->root == meet->me;
    if (c->kind == COLL_ALL || (c->kind == COLL_TO_ROOT && root))
        return meet_join_all(meet, c->number, now, &x->meeting);
    if (c->kind == COLL_LOWER)
        return meet_join(meet, 0, meet->me, c->number, now, &x->meeting);
    if (c->kind == COLL_NEIGHBORS)
        return meet_neighbors(c, x);
    if (c->root == MPI_PROC_NULL)
        return true;
    if (c->kind == COLL_FROM_ROOT && !root)
        return meet_root(c, x);
    /* It leaves when it leaves; a large message may have to wait for who takes it. */
    return !meet_held_up(meet, c->number, (uint64_t)x->since, now, &meet->least[1][c->size]);
}

/* The others join whom this rank has waited for; `wait`: for a little while, if they are on other
 * hosts. */
static void meet_others(const struct coming *c, struct pairing *x, bool wait)
{
    const struct meet *meet = c->info ? c->meet : NULL;
    bool alone = c->info && c->info->count == 1 && c->info->me == 0;
    int64_t ideal = x->meeting.ideal;
    if (!alone && (!meet || (meet->midway && !meet->anchored) ||
                   !(meet->hosts ? coll_meet_hosts(c, x, wait) : coll_meet_here(c, x))))
        x->uncertain = 1;
    if (x->meeting.ideal != ideal && c->kind != COLL_FROM_ROOT)
        x->transfer = 0; /* there was that of a message, perhaps */
    x->met = 1;
}

/* What meeting the others has cost, in 1/256 ticks, if it began at `since`. When nothing had to be
 * looked for and it took that long all the same, someone else had the processor: no cost of ours.
 */
static int64_t spent(const struct thread *t, uint64_t since, uint32_t searches)
{
    enum { TOO_LONG = 1 << 20 };
    uint64_t ticks = clock_since(since, clock_now());
    if (ticks > TOO_LONG && searches == __atomic_load_n(&meet_searches, __ATOMIC_RELAXED))
        ticks = 0;
    return (int64_t)(ticks << RECORD_TIME_SHIFT) + t->full_cost.inside;
}

void coll_go(struct coming *c, struct event *e, uint64_t bytes)
{
    c->size = (uint16_t)size_of(bytes);
    if (c->request || UNLIKELY(!shim_headers)) {
        event_settle(e);
        if (c->request)
            request_track_collective(e, c);
        return;
    }
    struct pairing x = pairing_begin(e);
    uint32_t searches = __atomic_load_n(&meet_searches, __ATOMIC_RELAXED);
    int64_t known = *e->thread->delay; /* meeting paths accounts for itself */
    meet_others(c, &x, true);
    int64_t cost = spent(e->thread, e->now, searches) - (*e->thread->delay - known);
    if (cost > 0)
        event_charged(e->thread, (uint64_t)cost >> RECORD_TIME_SHIFT);
    pairing_settle(e, &x);
    event_spent(e->thread, cost); /* part of what comes after */
    if (UNLIKELY(c->meet && c->meet->midway && c->kind == COLL_ALL && bytes)) {
        struct spending looking = spending_begin(e->thread);
        const struct meet_waited w = {c->number, e->begin, e->now, coll_call(e)};
        c->info->collectives += (uint64_t)instance_end(c->meet, &w);
        spending_end(e->thread, &looking);
    }
}

/* ---- nonblocking ones ---- */

enum { SIZE = 0xff, KIND_SHIFT = 8 }; /* in the tag */

void request_track_collective(struct event *e, const struct coming *c)
{
    if (!c->meet || *c->request == ABI_REQUEST_NULL)
        return;
    requests_enter();
    request_put(&(struct pending){.key = HANDLE(*c->request),
                                  .site = e->site,
                                  .info = c->info,
                                  .kind = PENDING_COLLECTIVE,
                                  .rank = c->root,
                                  .tag = c->kind << KIND_SHIFT | c->size,
                                  .bytes = c->number});
    requests_leave();
}

void coll_complete(struct pairing *x, const struct pending *p)
{
    struct coming c = {.info = (struct comm_info *)p->info,
                       .meet = p->info->meet,
                       .number = p->bytes,
                       .root = p->rank,
                       .kind = (uint16_t)(p->tag >> KIND_SHIFT),
                       .size = (uint16_t)(p->tag & SIZE)};
    meet_others(&c, x, false);
}

/* ---- failure, and what is not to be seen ---- */

/* Does this error say that the call was refused, so that the others never saw it? */
static bool refused(int error)
{
    static const int classes[] = {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,    MPI_ERR_COMM,
                                  MPI_ERR_ROOT,   MPI_ERR_OP,    MPI_ERR_ARG,     MPI_ERR_RANK,
                                  MPI_ERR_GROUP,  MPI_ERR_DIMS,  MPI_ERR_TOPOLOGY};
    int class = MPI_SUCCESS;
    PM(Error_class)(error, &class);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (class == classes[i])
            return true;
    return false;
}

void coll_take_back(struct comm_info *info, int returned)
{
    if (info && refused(returned))
        info->collectives--;
}

void coll_failed(struct coming *c, struct event *e, int returned)
{
    event_settle(e);
    coll_take_back(c->info, returned);
}

struct comm_info *coll_inside(MPI_Comm comm)
{
    if (!shim_headers)
        return NULL;
    comms_enter();
    struct comm_info *info = comm_as_parent(comm);
    if (info)
        info->collectives++;
    comms_leave();
    return info;
}

/* ---- the short way ---- */

int64_t short_learn(struct meet *m, uint64_t since)
{
    return learnt_now(&m->cost, clock_since(since, short_clock()));
}

int short_failed(struct ending e, struct site *site, int returned)
{
    event_settle_short(&e);
    coll_take_back(shim_headers ? (struct comm_info *)site->comm_info : NULL, returned);
    event_shut(&e);
    return returned;
}
