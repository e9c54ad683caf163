/* SPDX-License-Identifier: MIT */
/* Allocation for the tool side: these never return NULL, they end the tool with a message. */
#ifndef LOUPE_BASE_ALLOC_H
#define LOUPE_BASE_ALLOC_H

#include <stddef.h>

void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more element in a growing array and returns the new element, zeroed. */
#define VEC_PUSH(array, count, room)                                                               \
    (vec_grow((void **)&(array), (count), &(room), sizeof *(array)), &(array)[(count)++])
void vec_grow(void **array, size_t count, size_t *room, size_t size);

#endif
