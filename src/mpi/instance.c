/* SPDX-License-Identifier: MIT */
#include "mpi/instance.h"

enum { AGREED = 2, SERIAL_SHIFT = 40 };
#define STEP        0x9e3779b97f4a7c15u /* as in meet_key */
#define PROVISIONAL 0x5851f42d4c957f2du

/* Numbers of one communicator are not those of another that had the same members before. */
uint64_t instance_open(struct meet *m)
{
    static uint64_t serial;
    m->midway = m->full = true;
    m->anchored = m->me == 0;
    m->own_id = m->anchored ? m->id : m->id ^ PROVISIONAL;
    return ++serial << SERIAL_SHIFT;
}

/* The number that was written with this key: STEP is odd, so there is one. */
static uint64_t number_of(uint64_t id, uint64_t key)
{
    uint64_t inverse = STEP; /* right in 3 bits, and in twice as many each time */
    for (int i = 0; i < 5; i++)
        inverse *= 2 - STEP * inverse;
    return (key - id) * inverse;
}

/* In the spare word of a slot: which call it is, and how long it took, rounded up. */
enum { CALL_BITS = 12, TOOK_SHIFT = 12 };
#define CALL_MASK ((1u << CALL_BITS) - 1)

/* What the first member has begun. */
struct begun {
    uint64_t number; /* 0: nothing */
    uint64_t begin;
    uint64_t took; /* 0: it has not ended, or it is not sure that each has waited for all */
    uint32_t call; /* 0: not known */
};

static bool read_slot(const struct meet_slot *s, uint64_t id, uint32_t index, struct begun *b)
{
    uint64_t key = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);
    uint32_t word = __atomic_load_n(&s->spare, __ATOMIC_RELAXED);
    b->number = number_of(id, key);
    b->begin = __atomic_load_n(&s->begin, __ATOMIC_RELAXED);
    b->call = word & CALL_MASK;
    b->took = (uint64_t)(word >> CALL_BITS) << TOOK_SHIFT;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return key && __atomic_load_n(&s->key, __ATOMIC_RELAXED) == key && b->number &&
           meet_at(b->number) == index;
}

/* What it can have been at the first member that was `w` here: what had begun last when that began,
 * and all that began until it ended, as far as it was the same call. */
struct choice {
    struct begun before, last; /* the last that began before it; and by its end */
    struct begun one;          /* one that it can have been, */
    uint32_t count;            /* of so many */
};

static bool can_be(const struct begun *b, uint32_t call)
{
    return b->number && (!b->call || !call || b->call == call);
}

static struct choice choices(struct meet *m, const struct meet_waited *w)
{
    const struct meet_slot *ring = meet_ring_of(m->members[0].world, m->id);
    struct choice c = {.count = 0};
    for (uint32_t i = 0; ring && i < MEET_SLOTS; i++) {
        struct begun b;
        if (!read_slot(&ring[i], m->id, i, &b) || b.begin > w->end)
            continue;
        if (b.begin >= w->begin && can_be(&b, w->call)) {
            c.one = b;
            c.count++;
        }
        if (b.begin < w->begin && b.number > c.before.number)
            c.before = b;
        if (b.number > c.last.number)
            c.last = b;
    }
    if (can_be(&c.before, w->call)) {
        c.one = c.before;
        c.count++;
    }
    return c;
}

static int64_t found(struct meet *m, int64_t differs)
{
    if (m->anchored && !differs)
        return 0;
    if (m->anchored || differs != m->differs)
        m->agreed = 0;
    m->differs = differs;
    m->agreed++;
    m->anchored = m->agreed >= AGREED;
    m->own_id = m->anchored ? m->id : m->id ^ PROVISIONAL;
    if (!m->anchored)
        return 0;
    m->differs = 0;
    m->waited.number = 0;
    return differs;
}

int64_t instance_come(struct meet *m, uint64_t now)
{
    const struct meet_waited w = m->waited;
    m->waited.number = 0;
    if (m->me == 0 || !w.number)
        return 0;
    /* Was it the first member who came later, and has it left before we go on? */
    struct begun there = choices(m, &w).last;
    if (there.begin < w.begin || !there.took || there.begin + there.took >= now)
        return 0;
    return found(m, (int64_t)(there.number - w.number));
}

void instance_begin(struct meet *m, uint64_t number, uint32_t call)
{
    if (m->own)
        __atomic_store_n(&m->own[meet_at(number)].spare, call & CALL_MASK, __ATOMIC_RELEASE);
}

/* So that others can learn from it; if it took too long for that, they cannot. */
static void say_end(struct meet *m, uint64_t number, uint64_t begin, uint64_t end)
{
    uint64_t took = ((end > begin ? end - begin : 0) >> TOOK_SHIFT) + 1;
    uint32_t *word = m->own ? &m->own[meet_at(number)].spare : NULL;
    if (word && took <= UINT32_MAX >> CALL_BITS)
        __atomic_store_n(word, (*word & CALL_MASK) | (uint32_t)took << CALL_BITS, __ATOMIC_RELEASE);
}

int64_t instance_end(struct meet *m, const struct meet_waited *w)
{
    say_end(m, w->number, w->begin, w->end);
    if (m->me == 0)
        return 0;
    struct choice c = choices(m, w);
    m->waited = *w;
    if (c.count != 1 || !c.before.number) /* what was before may have been overwritten */
        return 0;
    return found(m, (int64_t)(c.one.number - w->number));
}
