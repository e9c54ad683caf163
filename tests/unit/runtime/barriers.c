/* SPDX-License-Identifier: MIT */
/* Delay between threads: barriers. */
#include "delays.h"

enum { CROWD = 8, ROUNDS = 2000 };
static pthread_barrier_t barrier;
static double came[CROWD], ideal[CROWD], left_with[CROWD];
static int serials, unequal;
static int64_t shown[2][CROWD];

static void *at_barrier(void *data)
{
    int i = (int)(intptr_t)data;
    set_delay(1 + 0.5 * (i * 3 % CROWD));
    nap(5 * i);
    came[i] = now();
    ideal[i] = came[i] - delay();
    int result = pthread_barrier_wait(&barrier);
    if (result == PTHREAD_BARRIER_SERIAL_THREAD)
        __atomic_fetch_add(&serials, 1, __ATOMIC_RELAXED);
    left_with[i] = delay();
    return NULL;
}

static void test_barrier(void)
{
    pthread_t threads[CROWD];
    double last = 0, last_ideal = 0;
    int right = 0;
    set_delay(1);
    pthread_barrier_init(&barrier, NULL, CROWD);
    serials = 0;
    for (intptr_t i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, at_barrier, (void *)i);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CROWD; i++) {
        last = fmax(last, came[i]);
        last_ideal = fmax(last_ideal, ideal[i]);
    }
    for (int i = 0; i < CROWD; i++)
        right += near(left_with[i], last - last_ideal, 0.005);
    ok(right == CROWD && serials == 1, "all leave a barrier as late as the last, without us: %d",
       right);
    pthread_barrier_destroy(&barrier);
}

/* Round after round, everyone with new delay of its own: all have the same afterwards. */
static void *rounds(void *data)
{
    int i = (int)(intptr_t)data;
    uint32_t random = (uint32_t)i + 1;
    set_delay(0);
    for (int r = 0; r < ROUNDS; r++) {
        random = random * 1664525 + 1013904223;
        thread_delay_set(loupe_tls.self, thread_delay_now() + (int64_t)(random >> 4));
        int result = pthread_barrier_wait(&barrier);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&serials, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&shown[r % 2][i], thread_delay_now(), __ATOMIC_RELEASE);
        pthread_barrier_wait(&barrier);
        int64_t others = __atomic_load_n(&shown[r % 2][(i + 1) % CROWD], __ATOMIC_ACQUIRE);
        int64_t mine = __atomic_load_n(&shown[r % 2][i], __ATOMIC_ACQUIRE);
        if (llabs(others - mine) > 4 << RECORD_TIME_SHIFT)
            __atomic_fetch_add(&unequal, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void test_rounds(void)
{
    pthread_t threads[CROWD];
    serials = unequal = 0;
    set_delay(0);
    pthread_barrier_init(&barrier, NULL, CROWD); /* the same address as before */
    for (intptr_t i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, rounds, (void *)i);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    ok(unequal == 0 && serials == ROUNDS, "round after round: %d", unequal);
}

static void test_many_barriers(void)
{
    static pthread_barrier_t many[1000];
    int fine = 0;
    set_delay(2);
    for (int i = 0; i < 1000; i++)
        fine += !pthread_barrier_init(&many[i], NULL, 1);
    for (int i = 0; i < 1000; i++) {
        int result = pthread_barrier_wait(&many[i]);
        fine += result == PTHREAD_BARRIER_SERIAL_THREAD;
    }
    for (int i = 0; i < 1000; i++)
        fine += !pthread_barrier_destroy(&many[i]);
    fine += pthread_barrier_init(&many[0], NULL, 0) == EINVAL;
    ok(fine == 3001 && near(delay(), 2, 0.01), "more barriers than there is room for: %d", fine);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=5%");
    delays_start();
    test_barrier();
    test_rounds();
    test_many_barriers();
    return tap_done();
}
