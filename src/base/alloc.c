/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
    if (!p) {
        log_error("out of memory");
        exit(125);
    }
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    return checked(realloc(old, bytes ? bytes : 1));
}

char *xstrdup(const char *text)
{
    return checked(strdup(text));
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    return checked(len < 0 ? NULL : text);
}

void vec_grow(void **array, size_t count, size_t *room, size_t size)
{
    if (count == *room) {
        *room = *room ? 2 * *room : 8;
        *array = xrealloc(*array, *room, size);
    }
    memset((char *)*array + count * size, 0, size);
}
