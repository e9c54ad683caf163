/* SPDX-License-Identifier: MIT */
/*
 * Condition variables as references find them that name glibc's old version, whose object is a
 * pointer to the one that libc makes, or none at all: from libraries that were not linked with
 * libc, which get the old ones there, and from programs that another tool's definitions are linked
 * to (a sanitizer's). They are passed on as they are, to where they would have led.
 */
#include "runtime/thread_delay.h"

#include <dlfcn.h>
#include <errno.h>

#define OLD     "GLIBC_2.2.5"
#define CURRENT "GLIBC_2.3.2"

static void *next_old(void **known, const char *name)
{
    void *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (next)
        return next;
    int saved = errno;
    next = dlsym(RTLD_NEXT, name); /* another tool's, or libc's */
    if (next == dlvsym(RTLD_NEXT, name, CURRENT))
        next = dlvsym(RTLD_NEXT, name, OLD);
    __atomic_store_n(known, next, __ATOMIC_RELAXED);
    errno = saved;
    return next;
}

#define PASS(name, prototype, ...)                                                                 \
    __asm__(".symver old_" #name ", pthread_cond_" #name "@" OLD);                                 \
    EXPORT int old_##name prototype;                                                               \
    int old_##name prototype                                                                       \
    {                                                                                              \
        static void *known;                                                                        \
        int(*next) prototype;                                                                      \
        *(void **)&next = next_old(&known, "pthread_cond_" #name);                                 \
        return next ? next(__VA_ARGS__) : EINVAL;                                                  \
    }

PASS(wait, (void *cond, void *mutex), cond, mutex)
PASS(timedwait, (void *cond, void *mutex, const struct timespec *until), cond, mutex, until)
PASS(signal, (void *cond), cond)
PASS(broadcast, (void *cond), cond)
