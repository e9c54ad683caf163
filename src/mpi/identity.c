/* SPDX-License-Identifier: MIT */
#include "mpi/identity.h"

#include <stdbool.h>
#include <stddef.h>

enum kind { KIND_WORLD = 1, KIND_SELF, KIND_CHILD, KIND_MEMBERS, KIND_GROUP, KIND_INTER, KIND_OLD };

/* Every bit of `value` reaches every bit; equal sequences of values alone give equal results, for
 * all that a job will ever make. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash + value) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 31) * 0xc2b2ae3d27d4eb4fu;
    return hash ^ hash >> 29;
}

static uint64_t not_unknown(uint64_t hash)
{
    return hash ? hash : 1;
}

uint64_t identity_world(uint64_t nonce)
{
    return not_unknown(mix(mix(0, KIND_WORLD), nonce));
}

uint64_t identity_self(uint64_t world, int32_t rank)
{
    if (!world || rank < 0)
        return 0;
    return not_unknown(mix(mix(mix(0, KIND_SELF), world), (uint32_t)rank));
}

uint64_t identity_child(uint64_t parent, uint64_t number, int32_t one, int32_t other)
{
    if (!parent || one < IDENTITY_NOBODY || other < IDENTITY_NOBODY)
        return 0;
    int32_t low = one < other ? one : other, high = one < other ? other : one;
    uint64_t hash = mix(mix(mix(0, KIND_CHILD), parent), number);
    return not_unknown(mix(mix(hash, (uint32_t)low), (uint32_t)high));
}

uint64_t identity_members(uint64_t before, const int32_t *ranks, int32_t count)
{
    uint64_t hash = before == IDENTITY_MEMBERS ? mix(0, KIND_MEMBERS) : before;
    for (int32_t i = 0; hash && i < count; i++)
        hash = ranks[i] < 0 ? 0 : not_unknown(mix(hash, (uint32_t)ranks[i]));
    return hash;
}

uint64_t identity_old(uint64_t world, uint64_t one, uint64_t other)
{
    if (!world || !one)
        return 0;
    uint64_t low = one < other ? one : other, high = one < other ? other : one;
    return not_unknown(mix(mix(mix(mix(0, KIND_OLD), world), low), high));
}

/* The counters, chained by hash. What is freed is used again as long as none was refused. */
struct counter {
    uint64_t hash;
    uint64_t parent; /* with which it goes; 0: never */
    uint32_t count;
    uint16_t next; /* index + 1 */
};
enum { CHAINS = 4096 };
_Static_assert(IDENTITY_COUNTERS < UINT16_MAX, "an index + 1 fits");

static struct counter counters[IDENTITY_COUNTERS];
static uint16_t chains[CHAINS], free_counters;
static uint32_t counters_used;
static bool full;

static struct counter *at(uint16_t index)
{
    return index ? &counters[index - 1] : NULL;
}

static uint16_t take_counter(void)
{
    uint16_t index = free_counters;
    if (full)
        return 0;
    if (index)
        free_counters = at(index)->next;
    else if (counters_used < IDENTITY_COUNTERS)
        index = (uint16_t)++counters_used;
    full = !index;
    return index;
}

static struct counter *counter_of(uint64_t hash, uint64_t parent)
{
    uint16_t *chain = &chains[hash % CHAINS], index = *chain;
    while (index && at(index)->hash != hash)
        index = at(index)->next;
    if (index)
        return at(index);
    index = take_counter();
    if (!index)
        return NULL;
    *at(index) = (struct counter){.hash = hash, .parent = parent, .next = *chain};
    *chain = index;
    return at(index);
}

static uint64_t counted(uint64_t hash, uint64_t parent)
{
    struct counter *c = counter_of(hash, parent);
    return c ? not_unknown(mix(hash, ++c->count)) : 0;
}

uint64_t identity_group(uint64_t parent, uint64_t members, int32_t tag)
{
    if (!parent || !members)
        return 0;
    uint64_t hash = mix(mix(mix(0, KIND_GROUP), parent), members);
    return counted(mix(hash, (uint32_t)tag), parent);
}

uint64_t identity_inter(uint64_t world, uint64_t one, uint64_t other, int32_t tag)
{
    if (!world || !one || !other)
        return 0;
    uint64_t low = one < other ? one : other, high = one < other ? other : one;
    uint64_t hash = mix(mix(mix(mix(0, KIND_INTER), world), low), high);
    return counted(mix(hash, (uint32_t)tag), 0);
}

void identity_forget(uint64_t parent)
{
    for (uint32_t i = 0; parent && i < CHAINS; i++)
        for (uint16_t *link = &chains[i]; *link;) {
            struct counter *c = at(*link);
            if (c->parent != parent) {
                link = &c->next;
                continue;
            }
            uint16_t index = *link;
            *link = c->next;
            c->next = free_counters;
            free_counters = index;
        }
}
