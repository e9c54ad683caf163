/* SPDX-License-Identifier: MIT */
/* From a 64-bit hash to the number of something that the caller keeps in an array. */
#ifndef LOUPE_BASE_MAP_H
#define LOUPE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
    uint64_t hash;
    uint32_t value; /* MAP_NONE: empty */
};

struct map { /* zeroed: empty */
    struct map_slot *slots;
    size_t count, room;
};

/* Is the caller's element `value` the one that `key` asks for? */
typedef bool map_same(const void *key, uint32_t value, const void *data);

uint32_t map_find(const struct map *map, uint64_t hash, map_same *same, const void *key,
                  const void *data);
/* Adds without looking for an equal one. */
void map_add(struct map *map, uint64_t hash, uint32_t value);
void map_free(struct map *map);

#define MAP_SEED 0xcbf29ce484222325ull
uint64_t map_hash(uint64_t seed, const void *bytes, size_t len);

#endif
