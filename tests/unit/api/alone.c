/* SPDX-License-Identifier: MIT */
/* A program with regions that does not run under Loupe: nothing happens, in any thread. */
#include "tap.h"

#include <errno.h>
#include <loupe.h>
#include <pthread.h>

enum { THREADS = 4, TURNS = 10000 };

static void *turns(void *argument)
{
    for (int i = 0; i < TURNS; i++) {
        loupe_begin("outer");
        loupe_begin("inner");
        loupe_end("inner");
        loupe_end("outer");
    }
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS];
    int started = 0, joined = 0;

    errno = 42;
    loupe_begin("first");
    loupe_end("first");
    ok(errno == 42, "errno is left alone");

    for (int i = 0; i < THREADS; i++)
        started += pthread_create(&threads[i], NULL, turns, NULL) == 0;
    for (int i = 0; i < started; i++)
        joined += pthread_join(threads[i], NULL) == 0;
    ok(joined == THREADS, "%d threads with %d regions each end", THREADS, 2 * TURNS);

    loupe_end("never begun");
    ok(1, "an end without a begin is harmless");
    return tap_done();
}
