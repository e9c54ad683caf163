/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

uint64_t map_hash(uint64_t seed, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001b3ull;
    return hash ^ hash >> 32; /* slots are chosen by the low bits */
}

/* Room is a power of two and never full, so a search always meets an empty slot. */
static struct map_slot *slot_for(const struct map *map, uint64_t hash, size_t step)
{
    return &map->slots[(hash + step) & (map->room - 1)];
}

uint32_t map_find(const struct map *map, uint64_t hash, map_same *same, const void *key,
                  const void *data)
{
    for (size_t step = 0; step < map->room; step++) {
        const struct map_slot *slot = slot_for(map, hash, step);
        if (slot->value == MAP_NONE)
            break;
        if (slot->hash == hash && same(key, slot->value, data))
            return slot->value;
    }
    return MAP_NONE;
}

static void put(struct map *map, uint64_t hash, uint32_t value)
{
    size_t step = 0;
    while (slot_for(map, hash, step)->value != MAP_NONE)
        step++;
    *slot_for(map, hash, step) = (struct map_slot){hash, value};
}

void map_add(struct map *map, uint64_t hash, uint32_t value)
{
    if (2 * (map->count + 1) > map->room) {
        struct map old = *map;
        map->room = old.room ? 2 * old.room : 64;
        map->slots = xrealloc(NULL, map->room, sizeof *map->slots);
        memset(map->slots, 0xff, map->room * sizeof *map->slots);
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].value != MAP_NONE)
                put(map, old.slots[i].hash, old.slots[i].value);
        free(old.slots);
    }
    put(map, hash, value);
    map->count++;
}

void map_free(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}
