/* SPDX-License-Identifier: MIT */
/* Two threads that hand items over by a condition variable. With OLD, of glibc's first version: its
 * object is a pointer, and what follows is not its own. */
#include <loupe.h>
#include <pthread.h>
#include <stdio.h>

#if defined(OLD)
__asm__(".symver pthread_cond_wait,pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_timedwait,pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_signal,pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver pthread_cond_broadcast,pthread_cond_broadcast@GLIBC_2.2.5");
enum { WORDS = 1 };
#else
enum { WORDS = sizeof(pthread_cond_t) / sizeof(long) };
#endif
enum { ITEMS = 20000, SPARE = 8 };

static union {
    pthread_cond_t cond;
    long words[WORDS + SPARE];
} object;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int items, taken;

static void *take(void *data)
{
    loupe_begin("take"); /* or there would be nothing to pass on */
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&mutex);
        while (!items)
            pthread_cond_wait(&object.cond, &mutex);
        items--;
        taken++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&object.cond);
    }
    loupe_end("take");
    pthread_barrier_wait(&barrier);
    return data;
}

int main(void)
{
    pthread_t thread;
    void *result = NULL;
    struct timespec past = {0};
    long changed = 0;
    for (int i = WORDS; i < WORDS + SPARE; i++)
        object.words[i] = 77;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, take, &barrier);
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&mutex);
        while (items)
            pthread_cond_wait(&object.cond, &mutex);
        items++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_broadcast(&object.cond);
    }
    int first = pthread_barrier_wait(&barrier);
    pthread_join(thread, &result);
    pthread_mutex_lock(&mutex);
    int late = pthread_cond_timedwait(&object.cond, &mutex, &past);
    pthread_mutex_unlock(&mutex);
    for (int i = WORDS; i < WORDS + SPARE; i++)
        changed += object.words[i] != 77;
    printf("checksum %d %d %d %d %ld\n", taken, result == &barrier,
           first == 0 || first == PTHREAD_BARRIER_SERIAL_THREAD, late, changed);
    return 0;
}
