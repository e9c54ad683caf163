/* SPDX-License-Identifier: MIT */
/* A thread that works longer than the one that has made it and joins it. One rank. */
#include "unit.h"

#include <pthread.h>

enum { ROUNDS = 4 };

static void before(void)
{
    units(2);
}

static void worker(void)
{
    units(5);
}

static void *other(void *data)
{
    worker();
    unit_thread_end();
    return data;
}

static void meanwhile(void)
{
    units(3);
}

static void after(void)
{
    units(1);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        before();
        pthread_create(&thread, NULL, other, NULL);
        meanwhile();
        pthread_join(thread, NULL);
        after();
    }
    return unit_end();
}
