/* SPDX-License-Identifier: MIT */
/*
 * Communicators and windows: from a rank in one to the rank in MPI_COMM_WORLD. Looked up with
 * local calls on first use, kept until the communicator is freed. That it is there, and its id, is
 * known from when it was made (create.c).
 *
 * Writers: any thread, under `lock` with MPI_THREAD_MULTIPLE. MPI is asked without the lock: it
 * has locks of its own, and may hold them while a callback of the program frees a communicator. A
 * site's cached pointer is good while
 * shim_comm_epoch stands still; it moves on whenever an info may go away.
 */
#include "mpi/fast.h"
#include "mpi/identity.h"
#include "mpi/meet.h"

#include <errno.h>
#include <string.h>

enum { BUCKETS = 1024, INFOS_MAX = 65536 };

uint32_t shim_comm_epoch = 1;

static struct comm_info *buckets[BUCKETS];
static struct comm_info *free_infos, predefined[2];
static uint32_t info_count, lock;

void comms_enter(void)
{
    if (shim_multiple)
        slow_lock(&lock);
}

void comms_leave(void)
{
    if (shim_multiple)
        slow_unlock(&lock);
}

static struct comm_info **bucket(uintptr_t key)
{
    return &buckets[(key ^ key >> 8 ^ key >> 16) % BUCKETS];
}

static struct comm_info *new_info(uintptr_t key)
{
    struct comm_info *info = free_infos;
    if (comm_predefined(key)) /* never in want of room: what is counted on them must not be lost */
        info = &predefined[key == HANDLE(ABI_COMM_SELF)];
    else if (info)
        free_infos = info->next_free;
    else if (info_count < INFOS_MAX && (info = arena_alloc(sizeof *info)))
        info_count++;
    if (info)
        *info =
            (struct comm_info){.key = key, .me = -1, .users = 1, .out_count = -1, .in_count = -1};
    return info;
}

static void free_map(int32_t *map, int32_t count)
{
    pages_free(map, (size_t)count * sizeof *map);
}

static void free_info(struct comm_info *info)
{
    free_map(info->map, info->count);
    if (info->in && info->in != info->out)
        free_map(info->in, info->in_count);
    if (info->out_count > 0)
        free_map(info->out, info->out_count);
    meet_free(info->meet);
    info->map = info->out = info->in = NULL;
    info->meet = NULL;
    info->next_free = free_infos;
    free_infos = info;
}

static bool is_identity(const int32_t *map, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (map[i] != i)
            return false;
    return true;
}

/* World ranks of all members of a group; NULL with *identity set if they are 0, 1, 2, ... */
static int32_t *world_ranks(MPI_Group group, int count, bool *identity)
{
    *identity = true;
    if (count <= 0)
        return NULL;
    size_t bytes = (size_t)count * sizeof(int);
    int *ranks = pages_alloc(bytes);
    int32_t *map = pages_alloc(bytes);
    *identity = false;
    for (int i = 0; ranks && map && i < count; i++) {
        ranks[i] = i;
        map[i] = MPI_UNDEFINED;
    }
    if (ranks && map) {
        if (shim_world_known)
            PM(Group_translate_ranks)(group, count, ranks, shim_world, map);
        for (int i = 0; i < count; i++)
            if (map[i] == MPI_UNDEFINED)
                map[i] = RECORD_PEER_FOREIGN;
        *identity = is_identity(map, count);
    }
    bool known = ranks != NULL;
    pages_free(ranks, bytes);
    if (*identity || !known) {
        pages_free(map, bytes);
        return NULL;
    }
    return map;
}

static void fill_from_group(struct comm_info *info, MPI_Group group)
{
    bool identity;
    int count = 0;
    PM(Group_size)(group, &count);
    info->count = count;
    info->map = world_ranks(group, count, &identity);
    if (!info->map && !identity)
        info->count = 0; /* no memory: peers become foreign rather than wrong */
}

static void fill_comm(struct comm_info *info, MPI_Comm comm)
{
    MPI_Group group;
    int inter = 0;
    PM(Comm_test_inter)(comm, &inter);
    if (!inter)
        PM(Comm_rank)(comm, &info->me);
    int result = inter ? PM(Comm_remote_group)(comm, &group) : PM(Comm_group)(comm, &group);
    if (result != MPI_SUCCESS)
        return;
    fill_from_group(info, group);
    PM(Group_free)(&group);
}

static void fill_win(struct comm_info *info, MPI_Win win)
{
    MPI_Group group;
    if (PM(Win_get_group)(win, &group) != MPI_SUCCESS)
        return;
    fill_from_group(info, group);
    PM(Group_free)(&group);
}

static struct comm_info *find(uintptr_t key)
{
    struct comm_info *info = *bucket(key);
    while (info && info->key != key)
        info = info->next_free;
    return info;
}

static struct comm_info *add(uintptr_t key)
{
    struct comm_info *info = new_info(key);
    if (info) {
        info->id = comm_predefined_id(key);
        info->next_free = *bucket(key);
        *bucket(key) = info;
    }
    return info;
}

static const struct comm_info *remember(struct site *site, uintptr_t key,
                                        const struct comm_info *info)
{
    if (site->comm != key || site->comm_epoch != shim_comm_epoch)
        event_near_none(site);
    site->comm = key;
    site->comm_epoch = shim_comm_epoch;
    site->comm_info = info;
    return info;
}

static const struct comm_info *known(struct site *site, uintptr_t key)
{
    comms_enter();
    const struct comm_info *info = find(key);
    if (info && info->filled)
        remember(site, key, info);
    else
        info = NULL;
    comms_leave();
    return info;
}

/* ---- a job that was attached to ---- */

/* Nobody has seen how its communicators were made: they are known by their members. Of two that
 * have the same and are in use, neither can be told from the other. */
enum { MIXED_MAX = 64 };
static uint64_t mixed[MIXED_MAX];
static uint32_t mixed_count;

static bool is_mixed(uint64_t id)
{
    bool is = mixed_count == MIXED_MAX; /* there may be more of them */
    for (uint32_t i = 0; i < mixed_count; i++)
        is |= mixed[i] == id;
    return is;
}

static struct comm_info *with_id(uint64_t id)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct comm_info *info = buckets[i]; info; info = info->next_free)
            if (info->id == id)
                return info;
    return NULL;
}

static uint64_t id_by_members(uint64_t id)
{
    struct comm_info *other = id && !is_mixed(id) ? with_id(id) : NULL;
    if (!other)
        return id && !is_mixed(id) ? id : 0;
    mixed[mixed_count++] = id;
    other->id = 0;
    meet_free(other->meet);
    other->meet = NULL;
    streams_mixed(id);
    __atomic_fetch_add(&shim_comm_epoch, 1, __ATOMIC_RELEASE);
    epoch_moves();
    return 0;
}

/* ---- what is known ---- */

/* Takes over what was found out; two threads may have done so at once. */
static const struct comm_info *add_filled(struct site *site, const struct comm_info *filled)
{
    comms_enter();
    struct comm_info *info = find(filled->key);
    if (!info)
        info = add(filled->key);
    if (!info)
        record_trouble(loupe_process.writer.header, RECORD_TROUBLE_COMMS);
    bool ours = info && !info->filled;
    if (ours) {
        info->map = filled->map;
        info->count = filled->count;
        info->me = filled->me;
        info->filled = true;
        if (streams_midway && !comm_predefined(info->key))
            info->id = id_by_members(filled->id);
    }
    remember(site, filled->key, info);
    comms_leave();
    if (!ours)
        free_map(filled->map, filled->count);
    return info;
}

const struct comm_info *comm_of_slow(struct site *site, MPI_Comm comm)
{
    const struct comm_info *info = known(site, HANDLE(comm));
    if (info)
        return info;
    int saved = errno;
    uint64_t began = clock_now();
    struct comm_info filled = {.key = HANDLE(comm), .me = -1};
    fill_comm(&filled, comm);
    if (streams_midway)
        filled.id = comm_id_by_members(comm);
    info = add_filled(site, &filled);
    event_spent_since(site->thread, began);
    errno = saved;
    return info;
}

const struct comm_info *win_of_slow(struct site *site, MPI_Win win)
{
    const struct comm_info *info = known(site, HANDLE(win));
    if (info)
        return info;
    int saved = errno;
    uint64_t began = clock_now();
    struct comm_info filled = {.key = HANDLE(win), .me = -1};
    fill_win(&filled, win);
    info = add_filled(site, &filled);
    event_spent_since(site->thread, began);
    errno = saved;
    return info;
}

static void drop(uintptr_t key)
{
    if (comm_predefined(key)) /* the attempt will fail; what was counted on it must stay */
        return;
    struct comm_info **at = bucket(key);
    while (*at && (*at)->key != key)
        at = &(*at)->next_free;
    struct comm_info *info = *at;
    if (!info)
        return;
    *at = info->next_free;
    if (info->has_groups)
        identity_forget(info->id);
    if (info->filled) { /* or no site knows it */
        __atomic_fetch_add(&shim_comm_epoch, 1, __ATOMIC_RELEASE);
        epoch_moves();
    }
    if (--info->users == 0)
        free_info(info);
}

void comm_forget(uintptr_t key)
{
    comms_enter();
    drop(key);
    comms_leave();
}

/* It has another id from now on, and its place is always the same. */
static void leave_predefined(struct comm_info *info)
{
    struct comm_info **at = bucket(info->key), *free = free_infos;
    while (*at != info)
        at = &(*at)->next_free;
    *at = info->next_free;
    free_info(info);
    free_infos = free;
}

void comms_forget(void)
{
    comms_enter();
    for (int i = 0; i < BUCKETS; i++)
        for (struct comm_info *info = buckets[i], *next; info; info = next) {
            next = info->next_free;
            if (shim_multiple) /* a thread may still be in a call that uses it */
                info->users++;
            if (comm_predefined(info->key) && !shim_multiple)
                leave_predefined(info);
            else
                drop(info->key);
        }
    mixed_count = 0;
    __atomic_fetch_add(&shim_comm_epoch, 1, __ATOMIC_RELEASE);
    epoch_moves();
    comms_leave();
}

struct comm_info *comm_as_parent(MPI_Comm comm)
{
    struct comm_info *info = find(HANDLE(comm));
    if (!info && comm_predefined(HANDLE(comm)))
        info = add(HANDLE(comm));
    return info;
}

void comm_identify(MPI_Comm comm, uint64_t id)
{
    comms_enter();
    drop(HANDLE(comm));
    struct comm_info *info = id ? add(HANDLE(comm)) : NULL;
    if (info)
        info->id = id;
    comms_leave();
}

void comm_hold(const struct comm_info *info)
{
    comms_enter();
    ((struct comm_info *)info)->users++;
    comms_leave();
}

void comm_release(const struct comm_info *info)
{
    comms_enter();
    struct comm_info *i = (struct comm_info *)info;
    if (--i->users == 0)
        free_info(i);
    comms_leave();
}

/* Of a topology: whom this rank sends to, and whom it receives from. */
struct neighbors {
    int32_t *out, *in; /* may be the same */
    int out_count, in_count;
};

static void degrees(MPI_Comm comm, int topology, int me, struct neighbors *n)
{
    int weighted, dims = 0;
    if (topology == MPI_DIST_GRAPH) {
        PM(Dist_graph_neighbors_count)(comm, &n->in_count, &n->out_count, &weighted);
        return;
    }
    if (topology == MPI_GRAPH)
        PM(Graph_neighbors_count)(comm, me, &n->out_count);
    else if (topology == MPI_CART && PM(Cartdim_get)(comm, &dims) == MPI_SUCCESS)
        n->out_count = 2 * dims;
    n->in_count = n->out_count;
}

static int32_t *new_ranks(int count)
{
    int32_t *ranks = count > 0 ? pages_alloc((size_t)count * sizeof *ranks) : NULL;
    for (int i = 0; ranks && i < count; i++)
        ranks[i] = MPI_PROC_NULL;
    return ranks;
}

static void to_world(const struct comm_info *info, int32_t *ranks, int count)
{
    for (int i = 0; ranks && i < count; i++)
        ranks[i] = ranks[i] == MPI_PROC_NULL ? SHIM_NOBODY : world_rank(info, ranks[i]);
}

static void graph_ranks(MPI_Comm comm, struct neighbors *n)
{
    size_t bytes = (size_t)(n->in_count + n->out_count + 1) * sizeof(int);
    int *weights = pages_alloc(bytes), none;
    if (weights)
        PM(Dist_graph_neighbors)
    (comm, n->in_count, n->in ? n->in : &none, weights, n->out_count, n->out ? n->out : &none,
     weights + n->in_count);
    pages_free(weights, bytes);
}

static void free_neighbors(struct neighbors *n)
{
    if (n->in && n->in != n->out)
        free_map(n->in, n->in_count);
    free_map(n->out, n->out_count);
    *n = (struct neighbors){0};
}

static struct neighbors find_neighbors(const struct comm_info *info, MPI_Comm comm)
{
    struct neighbors n = {0};
    int topology = MPI_UNDEFINED;
    PM(Topo_test)(comm, &topology);
    degrees(comm, topology, info->me, &n);
    n.out = new_ranks(n.out_count);
    n.in = topology == MPI_DIST_GRAPH ? new_ranks(n.in_count) : n.out;
    if ((n.out_count > 0 && !n.out) || (n.in_count > 0 && !n.in)) {
        free_neighbors(&n);
        return n;
    }
    if (topology == MPI_DIST_GRAPH)
        graph_ranks(comm, &n);
    else if (topology == MPI_GRAPH)
        PM(Graph_neighbors)(comm, info->me, n.out_count, n.out);
    else
        for (int d = 0; 2 * d + 1 < n.out_count; d++)
            PM(Cart_shift)(comm, d, 1, &n.out[2 * d], &n.out[2 * d + 1]);
    to_world(info, n.out, n.out_count);
    if (n.in != n.out)
        to_world(info, n.in, n.in_count);
    return n;
}

const struct comm_info *comm_with_neighbors(struct site *site, MPI_Comm comm)
{
    struct comm_info *info = (struct comm_info *)comm_of(site, comm);
    if (info && __atomic_load_n(&info->out_count, __ATOMIC_ACQUIRE) < 0) {
        int saved = errno;
        struct neighbors n = find_neighbors(info, comm);
        comms_enter();
        bool ours = info->out_count < 0;
        if (ours) {
            info->out = n.out;
            info->in = n.in;
            info->in_count = n.in_count;
            __atomic_store_n(&info->out_count, n.out_count, __ATOMIC_RELEASE);
        }
        comms_leave();
        if (!ours)
            free_neighbors(&n);
        errno = saved;
    }
    return info;
}
