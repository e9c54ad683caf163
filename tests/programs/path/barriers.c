/* SPDX-License-Identifier: MIT */
/* Two threads of one rank. They meet at a barrier, to which one comes late; then one of them wakes
 * the other up, which has waited for that and goes on alone. */
#include "unit.h"

#include <pthread.h>

enum { ROUNDS = 3 };

static pthread_barrier_t meeting;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int done; /* rounds whose first part is over */

static void early(void)
{
    units(2);
}

static void late(void)
{
    units(5);
}

static void first(void)
{
    units(3);
}

static void second(void)
{
    units(2);
}

static void *other(void *data)
{
    for (int i = 0; i < ROUNDS; i++) {
        late();
        pthread_barrier_wait(&meeting);
        pthread_mutex_lock(&mutex);
        while (done <= i)
            pthread_cond_wait(&ready, &mutex);
        pthread_mutex_unlock(&mutex);
        second();
        pthread_barrier_wait(&meeting);
    }
    unit_thread_end();
    return data;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    unit_begin(&argc, &argv);
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&thread, NULL, other, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        early();
        pthread_barrier_wait(&meeting);
        first();
        pthread_mutex_lock(&mutex);
        done = i + 1;
        pthread_cond_signal(&ready);
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&meeting);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&meeting);
    return unit_end();
}
