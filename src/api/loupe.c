/* SPDX-License-Identifier: MIT */
/*
 * The regions of include/loupe.h, for programs in C, C++ and Fortran. It is linked into the
 * program as a static library so that a program that names regions runs where Loupe is not.
 *
 * The runtime, when it is preloaded, exports
 *     void loupe_runtime_begin(const char *name);
 *     void loupe_runtime_end(const char *name);
 * which must not keep `name`: a Fortran name lives on the caller's stack.
 */
#include "loupe.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

typedef void region_function(const char *name);

enum { NAME_ROOM = 124 };

static void find_begin(const char *name);
static void find_end(const char *name);

/* Who is called. At first each finds the runtime and replaces itself; threads that do so at the
 * same time find the same, so no lock is needed. */
static _Atomic(region_function *) region_begin = find_begin;
static _Atomic(region_function *) region_end = find_end;

static void do_nothing(const char *name)
{
    (void)name;
}

static region_function *find(const char *symbol)
{
    region_function *function;
    void *address = dlsym(RTLD_DEFAULT, symbol);
    if (!address)
        return do_nothing;
    memcpy(&function, &address, sizeof function); /* ISO C has no cast for this */
    return function;
}

static void find_begin(const char *name)
{
    region_function *function = find("loupe_runtime_begin");
    atomic_store_explicit(&region_begin, function, memory_order_relaxed);
    function(name);
}

static void find_end(const char *name)
{
    region_function *function = find("loupe_runtime_end");
    atomic_store_explicit(&region_end, function, memory_order_relaxed);
    function(name);
}

void loupe_begin(const char *name)
{
    atomic_load_explicit(&region_begin, memory_order_relaxed)(name);
}

void loupe_end(const char *name)
{
    atomic_load_explicit(&region_end, memory_order_relaxed)(name);
}

/* Fortran passes the length, and pads with blanks instead of ending with a NUL. */
static const char *c_name(char room[NAME_ROOM], const char *name, size_t length)
{
    while (length > 0 && name[length - 1] == ' ')
        length--;
    if (length >= NAME_ROOM)
        length = NAME_ROOM - 1;
    memcpy(room, name, length);
    room[length] = '\0';
    return room;
}

/* gfortran and flang call these; module or not, the symbol is the same. */
void loupe_begin_(const char *name, size_t length);
void loupe_end_(const char *name, size_t length);

void loupe_begin_(const char *name, size_t length)
{
    char room[NAME_ROOM];
    loupe_begin(c_name(room, name, length));
}

void loupe_end_(const char *name, size_t length)
{
    char room[NAME_ROOM];
    loupe_end(c_name(room, name, length));
}
