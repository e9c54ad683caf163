/* SPDX-License-Identifier: MIT */
#include "mpi/word.h"

#include "runtime/process.h"

#include <sched.h>
#include <string.h>

bool (*word_path_of)(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                     struct path_told *told);

/* A word that was fetched. */
struct kept {
    uint32_t comm, number; /* 0: none */
    int32_t node, last;
    uint64_t real;
    int64_t delay;
    bool has_path;
};

/* A path in the board, beside a slot with the same key. */
struct word_path {
    uint64_t key; /* 0: being written */
    struct path_told told;
};

enum { PART = 1, PATH = 2, KEPT_LEAST = 1024 }; /* in the statement of a slot: not all hosts */

static const struct nodes *nodes;
static uint64_t wait_ticks;
static struct kept *kept;
static struct path_told *kept_paths; /* beside them; NULL: none has come */
static uint32_t kept_mask;
static struct meet_slot *own_slots; /* in the board */
static struct word_path *own_paths;
static bool no_slots, no_paths;

void words_open(const struct nodes *all, uint64_t wait)
{
    uint32_t count = KEPT_LEAST;
    while (count < WORD_KEPT * (uint64_t)all->count)
        count *= 2;
    kept = pages_alloc(count * sizeof *kept);
    kept_mask = count - 1;
    wait_ticks = wait;
    nodes = kept ? all : NULL;
}

/* ---- the hosts of a communicator ---- */

static int32_t node_of(const struct meet *m, int32_t rank)
{
    int32_t world = m->members[rank].world;
    return world >= 0 && world < nodes->size && nodes->monitored[world] ? nodes->of[world] : -1;
}

/* Hosts are numbered as their first members come, the own one apart. */
static void fill(struct meet_hosts *h, const struct meet *m, int32_t *number, int32_t mine)
{
    for (int32_t i = 0; i < m->count; i++) {
        int32_t node = node_of(m, i);
        if (node == mine) {
            h->members[h->here++] = i;
        } else if (!number[node]) {
            h->host[h->others] = (struct meet_host){node, m->members[i].world};
            number[node] = ++h->others;
        }
    }
    h->envoy = h->members[0];
}

void word_hosts(struct meet *m)
{
    int32_t here = 0, mine = nodes ? nodes->of[nodes->me] : 0;
    if (m->hosts || !nodes || m->me < 0)
        return;
    for (int32_t i = 0; i < m->count; i++) {
        int32_t node = node_of(m, i);
        if (node < 0)
            return;
        here += node == mine;
    }
    if (here == m->count)
        return;
    size_t hosts = sizeof *m->hosts + (size_t)nodes->count * sizeof(struct meet_host);
    size_t bytes = hosts + (size_t)here * sizeof(int32_t);
    size_t room = (size_t)nodes->count * sizeof(int32_t);
    struct meet_hosts *h = pages_alloc(bytes);
    int32_t *number = pages_alloc(room);
    if (h && number) {
        h->bytes = bytes;
        h->patience = WORD_PATIENCE;
        h->members = (int32_t *)((char *)h + hosts);
        fill(h, m, number, mine);
        m->hosts = h;
        m->full = true;
    } else {
        pages_free(h, bytes);
    }
    pages_free(number, room);
}

/* ---- paths together ---- */

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t net_of(const struct path_told *p, uint32_t item)
{
    return plus(minus(p->length, p->item[item].share), p->item[item].excess);
}

void word_join_path(struct word *w, const struct path_told *other)
{
    int64_t net[RECORD_PATH_ITEMS] = {0};
    if (other->items > RECORD_PATH_ITEMS)
        return;
    bool newer = !w->has_path || (int32_t)(other->generation - w->told.generation) > 0;
    if (!newer && (other->generation != w->told.generation || other->items != w->told.items))
        return;
    uint32_t touched = other->touched | (newer ? 0 : w->told.touched);
    for (uint32_t i = 0; i < other->items; i++) {
        int64_t its = net_of(other, i), mine = newer ? its : net_of(&w->told, i);
        net[i] = its > mine ? its : mine;
    }
    if (newer || other->length > w->told.length)
        memcpy(&w->told, other, path_told_bytes(other->items));
    w->told.touched = touched;
    w->has_path = true;
    for (uint32_t i = 0; i < other->items; i++)
        w->told.item[i].excess = minus(net[i], minus(w->told.length, w->told.item[i].share));
}

/* ---- before the collective ---- */

static void word_clear(struct word *w)
{
    w->sum = (struct meeting){.real = INT64_MIN, .ideal = INT64_MIN, .last = MEETING_SELF};
    w->has_path = false;
}

/* Who is not there has mostly not come yet: where its slots are is looked for only until they were
 * found once. */
static bool is_there(struct meet *m, int32_t rank, uint64_t number, struct meet_slot *seen)
{
    const uint64_t now = (uint64_t)1 << 62; /* whenever: it may come while we look */
    uint64_t key = meet_key(m->id, number);
    if (m->members[rank].ring != meet_nowhere)
        return meet_read(m->members[rank].ring, number, key, now, seen);
    m->members[rank].tries = 0;
    return meet_see(m, rank, number, now, seen);
}

static void add_path(const struct meet *m, int32_t rank, uint64_t number, struct word *w,
                     uint32_t *unknown)
{
    struct path_told told;
    const struct meet_member *member = &m->members[rank];
    if (word_path_of &&
        word_path_of(member->world, member->ring, number, meet_key(m->id, number), &told))
        word_join_path(w, &told);
    else
        ++*unknown;
}

/* Two who come at once may both see that all are there, but at least one of them does: each has
 * written before it looks. */
bool word_host(struct meet *m, uint64_t number, struct word *w, uint32_t *unknown)
{
    struct meet_hosts *h = m->hosts;
    struct meet_slot seen;
    *unknown = 0;
    word_clear(w);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!is_there(m, h->members[h->absent], number, &seen))
        return false;
    for (int32_t i = 0; i < h->here; i++) {
        int32_t rank = h->members[i];
        if (!is_there(m, rank, number, &seen)) {
            h->absent = i;
            return false;
        }
        meeting_join(&w->sum, (int64_t)seen.begin, seen.delay, m->members[rank].world);
        if (seen.statement & MEET_PATH)
            add_path(m, rank, number, w, unknown);
    }
    return true;
}

static uint32_t fold(uint64_t id)
{
    return (uint32_t)(id ^ id >> 32);
}

static void say_to(int32_t rank, const struct ring_slot *slot, const struct word *w)
{
    struct twin *twin = ring_carrier ? ring_carrier->to(rank) : NULL;
    if (twin)
        ring_carrier->send(twin, slot, w->has_path ? &w->told : NULL);
}

void word_say(const struct meet *m, uint64_t number, int32_t to, const struct word *w)
{
    const struct meet_hosts *h = m->hosts;
    const struct ring_slot slot = {.number = (uint32_t)number,
                                   .key = fold(m->id),
                                   .begin = (uint64_t)w->sum.real,
                                   .delay = meeting_delay(&w->sum),
                                   .stream = (uint32_t)w->sum.last,
                                   .statement = RING_WORD};
    if (to != WORD_TO_ALL) {
        say_to(to, &slot, w);
        return;
    }
    for (int32_t i = 0; i < h->others; i++)
        say_to(h->host[i].envoy, &slot, w);
}

/* ---- what has come ---- */

/* Those of one communicator have places of their own, for all its hosts and WORD_KEPT in a row. */
static struct kept *place_of(uint32_t comm, uint32_t number, int32_t node)
{
    uint32_t at = comm * 0x9e3779b1u + number * (uint32_t)nodes->count + (uint32_t)node;
    return &kept[at & kept_mask];
}

void word_arrive(int32_t rank, const struct ring_slot *slot, const struct path_told *told)
{
    if (!nodes || rank < 0 || rank >= nodes->size)
        return;
    struct kept *k = place_of(slot->key, slot->number, nodes->of[rank]);
    if (told && !kept_paths)
        kept_paths = pages_alloc((kept_mask + 1) * sizeof *kept_paths);
    *k = (struct kept){.comm = slot->key,
                       .number = slot->number,
                       .node = nodes->of[rank],
                       .last = (int32_t)slot->stream,
                       .real = slot->begin,
                       .delay = slot->delay,
                       .has_path = told && kept_paths};
    if (k->has_path)
        memcpy(&kept_paths[k - kept], told, path_told_bytes(told->items));
}

static bool hear(const struct meet *m, uint64_t number, int32_t node, struct word *w)
{
    const struct kept *k = place_of(fold(m->id), (uint32_t)number, node);
    if (k->comm != fold(m->id) || k->number != (uint32_t)number || k->node != node || k->last < 0 ||
        k->last >= nodes->size)
        return false;
    meeting_join(&w->sum, (int64_t)k->real, k->delay, k->last);
    if (k->has_path)
        word_join_path(w, &kept_paths[k - kept]);
    return true;
}

static void learn(struct meet_hosts *h, bool found, bool waited)
{
    if (found)
        h->patience = WORD_PATIENCE;
    else if (waited && h->patience)
        h->patience--;
}

/* Mostly it is there at once. Where there are more processes than processors it may never come
 * while this one runs; but who gives its processor away does not get it back soon. */
static void be_patient(uint64_t since)
{
    if (clock_since(since, clock_now()) > wait_ticks / 4)
        sched_yield();
}

/* From all other hosts, or from one. */
static bool hear_all(struct meet *m, uint64_t number, int32_t node, bool wait, struct word *w)
{
    struct meet_hosts *h = m->hosts;
    uint64_t since = clock_now();
    bool more = true, again = true, all = false;
    for (int32_t i = 0; !all && again;) {
        again = more; /* what the last time brings is still looked at */
        while (i < h->others &&
               ((node >= 0 && h->host[i].node != node) || hear(m, number, h->host[i].node, w)))
            i++;
        all = i == h->others;
        if (all || !more)
            continue;
        more = ring_carrier->fetch(wait && h->patience, since);
        if (more)
            be_patient(since);
    }
    learn(h, all, wait);
    return all;
}

/* ---- for the whole host ---- */

static uint32_t slot_of(uint64_t id, uint64_t number)
{
    return (fold(id) * 0x9e3779b1u + (uint32_t)number) % WORD_SLOTS;
}

static bool put_path(uint64_t key, uint32_t at, const struct word *w)
{
    if (!own_paths && !no_paths) {
        own_paths = board_area(BOARD_WORD_PATHS, 0, WORD_PATHS * sizeof *own_paths);
        no_paths = !own_paths;
    }
    if (!w->has_path || !own_paths)
        return false;
    struct word_path *p = &own_paths[at % WORD_PATHS];
    __atomic_store_n(&p->key, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(&p->told, &w->told, path_told_bytes(w->told.items));
    __atomic_store_n(&p->key, key, __ATOMIC_RELEASE);
    return true;
}

static void publish(const struct meet *m, uint64_t number, const struct word *w, bool all)
{
    uint64_t key = meet_key(m->id, number);
    uint32_t at = slot_of(m->id, number);
    if (!own_slots && !no_slots) {
        own_slots = board_area(BOARD_WORDS, 0, WORD_SLOTS * sizeof *own_slots);
        no_slots = !own_slots;
    }
    if (!own_slots)
        return;
    struct meet_slot *s = &own_slots[at];
    __atomic_store_n(&s->key, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    s->begin = (uint64_t)w->sum.real;
    s->delay = w->sum.last < 0 ? 0 : meeting_delay(&w->sum);
    s->spare = (uint32_t)w->sum.last;
    s->statement = (all ? 0 : PART) | (w->has_path && put_path(key, at, w) ? PATH : 0);
    __atomic_store_n(&s->key, key, __ATOMIC_RELEASE);
}

static const struct board *envoys_board(const struct meet *m)
{
    return board_of(m->members[m->hosts->envoy].world);
}

static void read_path(const struct meet *m, uint64_t key, uint32_t at, struct word *w)
{
    struct meet_hosts *h = m->hosts;
    if (!h->paths)
        h->paths = board_look(envoys_board(m), BOARD_WORD_PATHS, 0, WORD_PATHS * sizeof *h->paths,
                              &h->seen[1]);
    const struct word_path *p = h->paths ? &h->paths[at % WORD_PATHS] : NULL;
    if (!p || __atomic_load_n(&p->key, __ATOMIC_ACQUIRE) != key)
        return;
    uint32_t items = p->told.items;
    if (items > RECORD_PATH_ITEMS)
        return;
    memcpy(&w->told, &p->told, path_told_bytes(items));
    w->told.items = items;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    w->has_path = __atomic_load_n(&p->key, __ATOMIC_RELAXED) == key;
}

/* What the envoy has put there; false: nothing yet. */
static bool read_board(const struct meet *m, uint64_t number, struct word *w, bool *all)
{
    struct meet_hosts *h = m->hosts;
    uint64_t key = meet_key(m->id, number);
    uint32_t at = slot_of(m->id, number);
    if (!h->slots)
        h->slots =
            board_look(envoys_board(m), BOARD_WORDS, 0, WORD_SLOTS * sizeof *h->slots, &h->seen[0]);
    const struct meet_slot *s = h->slots ? &h->slots[at] : NULL;
    if (!s || __atomic_load_n(&s->key, __ATOMIC_ACQUIRE) != key)
        return false;
    struct meet_slot got = *s;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&s->key, __ATOMIC_RELAXED) != key)
        return false;
    int32_t last = (int32_t)got.spare;
    *all = !(got.statement & PART);
    if (last >= 0 && last < nodes->size)
        meeting_join(&w->sum, (int64_t)got.begin, got.delay, last);
    if (got.statement & PATH)
        read_path(m, key, at, w);
    return true;
}

/* The envoy is waited for only if it is at the same collective, and a little longer than it waits
 * itself. */
static bool from_envoy(struct meet *m, uint64_t number, bool wait, struct word *w)
{
    struct meet_hosts *h = m->hosts;
    struct meet_slot seen;
    uint64_t since = clock_now();
    bool all = false, found;
    wait = wait && h->patience && is_there(m, h->envoy, number, &seen);
    while (!(found = read_board(m, number, w, &all)) && wait &&
           clock_since(since, clock_now()) < 2 * wait_ticks)
        be_patient(since);
    learn(h, found, wait);
    return found && all;
}

bool word_take(struct meet *m, uint64_t number, enum word_for whom, int32_t from, bool wait,
               struct word *w)
{
    struct meet_hosts *h = m->hosts;
    word_clear(w);
    __atomic_fetch_add(&meet_searches, 1, __ATOMIC_RELAXED);
    if (whom == WORD_FOR_HOST && m->me != h->envoy)
        return from_envoy(m, number, wait, w);
    bool all = hear_all(m, number, from < 0 ? -1 : node_of(m, from), wait, w);
    if (whom == WORD_FOR_HOST && h->here > 1)
        publish(m, number, w, all);
    return all;
}
