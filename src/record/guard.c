/* SPDX-License-Identifier: MIT */
#include "record/segment.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static pthread_once_t installed = PTHREAD_ONCE_INIT;
static struct sigaction before;
static _Thread_local struct record_reader *volatile guarded;

static bool inside(const struct segment_map *map, const char *address)
{
    return map->start && address >= map->start && address < map->start + map->bytes;
}

static bool replace_page(struct record_reader *reader, const char *address)
{
    bool ours = inside(&reader->live, address);
    for (int i = 0; i < RECORD_EXTENTS && !ours; i++)
        ours = inside(&reader->extents[i], address);
    if (!ours)
        return false;
    void *page = (void *)((uintptr_t)address & ~(uintptr_t)(RECORD_CHUNK - 1));
    reader->damaged = true;
    return mmap(page, RECORD_CHUNK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           page;
}

static void on_bus_error(int signal, siginfo_t *info, void *context)
{
    if (guarded && replace_page(guarded, info->si_addr))
        return;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
    else
        sigaction(SIGBUS, &before, NULL); /* not ours: it happens again, and ends the process */
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

void guard_enter(struct record_reader *reader)
{
    pthread_once(&installed, install);
    guarded = reader;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void guard_leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    guarded = NULL;
}
