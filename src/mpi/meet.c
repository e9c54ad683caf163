/* SPDX-License-Identifier: MIT */
#include "mpi/meet.h"

#include "runtime/process.h"

#include <stddef.h>

/* A member whose ring was not there is looked at again at every 2nd, 4th, ... collective only. */
enum { TRIES_MOST = 10 };

const struct meet_slot meet_nowhere[MEET_SLOTS];
uint32_t meet_searches;
void (*meet_path)(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                  int64_t at);

static struct meet *owners[MEET_RINGS];
static uint32_t lock, hand;
static bool several_threads;

void meet_open(bool multiple)
{
    several_threads = multiple;
}

static size_t bytes_of(int32_t count)
{
    return sizeof(struct meet) + (size_t)count * sizeof(struct meet_member);
}

struct meet *meet_new(uint64_t id, const int32_t *map, int32_t count, int32_t me)
{
    struct meet *m = pages_alloc(bytes_of(count));
    if (!m)
        return NULL;
    m->id = m->own_id = id;
    m->count = count;
    m->me = me;
    for (int32_t i = 0; i < count; i++)
        m->members[i] = (struct meet_member){.ring = meet_nowhere, .world = map ? map[i] : i};
    return m;
}

/* Slots are left as they are: others may still be reading of the last collective. */
static void give_back(struct meet_area *area, uint32_t ring)
{
    __atomic_store_n(&area->ids[ring], 0, __ATOMIC_RELEASE);
    owners[ring]->own = NULL;
    owners[ring] = NULL;
}

void meet_free(struct meet *m)
{
    if (!m)
        return;
    slow_lock(&lock);
    struct meet_area *area = m->own ? meet_area_own() : NULL;
    if (area)
        give_back(area, (uint32_t)((m->own - area->slots[0]) / MEET_SLOTS));
    slow_unlock(&lock);
    if (m->hosts)
        pages_free(m->hosts, m->hosts->bytes);
    pages_free(m, bytes_of(m->count));
}

/* A free ring, else one whose communicator has had no collective since the hand came by last. */
static uint32_t find_room(struct meet_area *area)
{
    for (uint32_t i = 0; i < MEET_RINGS; i++)
        if (!owners[i])
            return i;
    if (several_threads)
        return MEET_RINGS;
    uint32_t ring;
    for (;;) {
        ring = hand++ % MEET_RINGS;
        if (owners[ring]->last_seen == owners[ring]->last)
            break;
        owners[ring]->last_seen = owners[ring]->last; /* so the second round ends at the latest */
    }
    give_back(area, ring);
    return ring;
}

bool meet_take_ring(struct meet *m)
{
    struct meet_area *area = m->own ? NULL : meet_area_own();
    if (!area)
        return m->own;
    slow_lock(&lock);
    uint32_t ring = m->own ? MEET_RINGS : find_room(area);
    if (ring < MEET_RINGS) {
        owners[ring] = m;
        m->own = area->slots[ring];
        for (uint32_t i = 0; m->midway && i < MEET_SLOTS; i++) /* others search it */
            __atomic_store_n(&m->own[i].key, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&area->ids[ring], m->id, __ATOMIC_RELEASE);
    }
    slow_unlock(&lock);
    return m->own;
}

const struct meet_slot *meet_ring_of(int32_t world, uint64_t id)
{
    const struct meet_area *area = world >= 0 ? meet_area_of(world) : NULL;
    for (uint32_t i = 0; area && i < MEET_RINGS; i++)
        if (__atomic_load_n(&area->ids[i], __ATOMIC_ACQUIRE) == id)
            return area->slots[i];
    return NULL;
}

static bool on_this_node(int32_t world)
{
    return world >= 0 && meet_area_of(world);
}

bool meet_see_slow(struct meet *m, int32_t rank, uint64_t number, uint64_t now,
                   struct meet_slot *seen)
{
    struct meet_member *member = &m->members[rank];
    if (number & (((uint64_t)1 << member->tries) - 1))
        return false;
    __atomic_fetch_add(&meet_searches, 1, __ATOMIC_RELAXED);
    const struct meet_slot *ring = meet_ring_of(member->world, m->id);
    if (!ring) {
        member->tries += member->tries < TRIES_MOST;
        member->ring = meet_nowhere;
        return false;
    }
    member->tries = 0;
    member->ring = ring;
    return meet_read(ring, number, meet_key(m->id, number), now, seen);
}

bool meet_join_world(uint64_t id, int32_t world, uint64_t number, uint64_t now,
                     struct meeting *meeting)
{
    struct meet_slot seen;
    const struct meet_slot *ring = meet_ring_of(world, id);
    if (!ring || !meet_read(ring, number, meet_key(id, number), now, &seen))
        return false;
    meet_join_seen(&seen, id, world, ring, number, seen.begin, meeting);
    return true;
}

/* One who need not be there: not to be there is no reason to look less often. */
static bool glimpse(struct meet *m, int32_t rank, uint64_t number, uint64_t now,
                    struct meet_slot *seen)
{
    uint64_t key = meet_key(m->id, number);
    if (meet_read(m->members[rank].ring, number, key, now, seen))
        return true;
    const struct meet_slot *ring = meet_ring_of(m->members[rank].world, m->id);
    return ring && meet_read(ring, number, key, now, seen);
}

static void learn(uint32_t *least, uint64_t took)
{
    if (took < UINT32_MAX && (!*least || took < *least))
        *least = took ? (uint32_t)took : 1;
}

bool meet_held_up(struct meet *m, uint64_t number, uint64_t since, uint64_t now, uint32_t *least)
{
    uint64_t took = now > since ? now - since : 0, usual = *least;
    learn(least, took);
    if (usual && took <= 2 * usual)
        return false;
    for (int32_t i = 0; i < m->count; i++) {
        struct meet_slot seen;
        if (i == m->me)
            continue;
        /* Who has not begun has held nobody up; of those elsewhere nothing is known. */
        if (glimpse(m, i, number, now, &seen) ? seen.begin > since + usual
                                              : !on_this_node(m->members[i].world))
            return true;
    }
    return false;
}
