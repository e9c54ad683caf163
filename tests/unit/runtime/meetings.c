/* SPDX-License-Identifier: MIT */
/* Delay between threads: create, join, condition variables. */
#include "delays.h"

#include <threads.h>

static struct timespec in_ms(clockid_t clock, int ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    int64_t ns = t.tv_nsec + ms * (int64_t)1000000;
    return (struct timespec){.tv_sec = t.tv_sec + ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* ---- create and join ---- */

struct worker {
    double delay; /* below 0: as it began; without a block */
    int ms;
    double began, left; /* delay at its beginning; moment of its end */
};

static void *work(void *data)
{
    struct worker *w = data;
    w->began = delay();
    if (w->delay >= 0)
        set_delay(w->delay);
    nap(w->ms);
    w->left = now();
    return w;
}

static int work_c11(void *data)
{
    return work(data) == data ? 7 : 0;
}

static void test_create(void)
{
    struct worker plain = {.delay = -1}, other = {.delay = 5};
    pthread_t thread;
    thrd_t c11;
    set_delay(2);
    pthread_create(&thread, NULL, work, &plain);
    pthread_join(thread, NULL);
    ok(near(plain.began, 2, 0.1), "a thread begins with the delay of who starts it");
    ok(near(delay(), 2, 0.1), "one that has no block gives it back: %f", delay());
    int result = 0;
    thrd_create(&c11, work_c11, &other);
    thrd_join(c11, &result);
    ok(near(other.began, 2, 0.1) && result == 7, "so do those of threads.h");
    set_delay(0.5);
    ok(near((double)loupe_tls.self->block->delay / per_second, 0.5, 1e-3) &&
           llabs(loupe_tls.self->block->delay - loupe_tls.self->block->received) <
               (int64_t)(0.1 * per_second),
       "the record has it as received from others");
}

/* Delay of one who joins with delay `own` after `before` ms; the thread ends after `ms`. */
static double join_after(double own, int before, double delayed, int ms, double *waited)
{
    struct worker w = {.delay = delayed, .ms = ms};
    pthread_t thread;
    pthread_create(&thread, NULL, work, &w);
    nap(before);
    set_delay(own);
    double began = now();
    pthread_join(thread, NULL);
    *waited = w.left - began;
    return delay();
}

static void test_join(void)
{
    double waited, after;
    after = join_after(2, 0, 0.5, 30, &waited);
    ok(near(after, 0.5, 0.02), "who waited for a thread with less delay has that of the thread");
    after = join_after(0.5, 0, 2, 30, &waited);
    ok(near(after, 0.5 + waited, 0.02), "of one with more it waited because of that only");
    after = join_after(2, 60, 1, 0, &waited);
    ok(near(after, 1 - waited, 0.02), "one that had ended before counts with its lead");
    after = join_after(1, 60, 1.01, 0, &waited);
    ok(near(after, 1, 0.001), "and not at all where that is greater");
}

static void test_join_others(void)
{
    struct worker w = {.delay = 0.5, .ms = 50};
    struct timespec soon = in_ms(CLOCK_REALTIME, 10), later = in_ms(CLOCK_REALTIME, 60000);
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, work, &w);
    set_delay(2);
    errno = 77;
    ok(pthread_tryjoin_np(thread, &result) == EBUSY &&
           pthread_timedjoin_np(thread, &result, &soon) == ETIMEDOUT &&
           pthread_join(pthread_self(), NULL) == EDEADLK && near(delay(), 2, 1e-3) && errno == 77,
       "joins that fail say so, and meet nobody");
    ok(!pthread_timedjoin_np(thread, &result, &later) && result == &w && near(delay(), 0.5, 0.02),
       "a join in time is a join");
}

/* ---- condition variables ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, waiting, woken_up;
enum how { PLAIN, TIMED, CLOCKED, C11 };

struct sleeper {
    double delay, after, began;
    enum how how;
    int result;
};

static int sleep_until_woken(struct sleeper *s)
{
    struct timespec real = in_ms(CLOCK_REALTIME, 60000), mono = in_ms(CLOCK_MONOTONIC, 60000);
    return s->how == PLAIN     ? pthread_cond_wait(&cond, &mutex)
           : s->how == TIMED   ? pthread_cond_timedwait(&cond, &mutex, &real)
           : s->how == CLOCKED ? pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &mono)
                               : cnd_wait((cnd_t *)(void *)&cond, (mtx_t *)(void *)&mutex);
}

static void unlock(void *m)
{
    pthread_mutex_unlock(m);
}

static void *sleeping(void *data)
{
    struct sleeper *s = data;
    set_delay(s->delay);
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    s->began = now();
    waiting++;
    while (ready <= woken_up && !s->result)
        s->result = sleep_until_woken(s);
    woken_up++;
    s->after = delay();
    pthread_cleanup_pop(1);
    return NULL;
}

static void until_waiting(int threads)
{
    for (bool all = false; !all; nap(1)) {
        pthread_mutex_lock(&mutex);
        all = waiting >= threads;
        pthread_mutex_unlock(&mutex);
    }
    nap(20);
}

/* Wakes one who sleeps; returns when. */
static double wake(double own, bool all, int threads)
{
    set_delay(own);
    pthread_mutex_lock(&mutex);
    ready += threads;
    double at = now();
    errno = 77;
    int error = all ? pthread_cond_broadcast(&cond) : pthread_cond_signal(&cond);
    if (error || errno != 77)
        ok(false, "a signal is a signal");
    pthread_mutex_unlock(&mutex);
    return at;
}

static double sleep_and_wake(double sleepers, double own, enum how how, double *waited)
{
    struct sleeper s = {.delay = sleepers, .how = how};
    pthread_t thread;
    ready = waiting = woken_up = 0;
    pthread_create(&thread, NULL, sleeping, &s);
    until_waiting(1);
    *waited = wake(own, false, 1) - s.began;
    pthread_join(thread, NULL);
    if (s.result)
        ok(false, "it was woken up");
    return s.after;
}

static void test_cond(void)
{
    double waited, after = sleep_and_wake(2, 0.5, PLAIN, &waited);
    ok(near(after, 0.5, 0.02), "who was woken up by one with less delay has that");
    after = sleep_and_wake(0.5, 2, PLAIN, &waited);
    ok(near(after, 0.5 + waited, 0.02), "by one with more, it waited because of that only");
    after = sleep_and_wake(2, 1.99, PLAIN, &waited);
    ok(near(after, 1.99, 0.01), "in between, the one is as late as the other");
    after = sleep_and_wake(2, 0.5, TIMED, &waited);
    ok(near(after, 0.5, 0.02), "the same with a time limit");
    after = sleep_and_wake(2, 0.5, CLOCKED, &waited);
    ok(near(after, 0.5, 0.02), "of another clock");
    after = sleep_and_wake(2, 0.5, C11, &waited);
    ok(near(after, 0.5, 0.02), "and as threads.h has it");
}

static void test_broadcast(void)
{
    enum { SLEEPERS = 6 };
    struct sleeper s[SLEEPERS] = {{.delay = 0}};
    pthread_t threads[SLEEPERS];
    ready = waiting = woken_up = 0;
    for (int i = 0; i < SLEEPERS; i++) {
        s[i].delay = 3 + 0.25 * i;
        pthread_create(&threads[i], NULL, sleeping, &s[i]);
    }
    until_waiting(SLEEPERS);
    wake(1, true, SLEEPERS);
    int right = 0;
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
        right += near(s[i].after, 1, 0.02);
    }
    ok(right == SLEEPERS, "a broadcast reaches all of them: %d", right);
}

/* Each signal is taken once: by the order in which they come, not the last by all. */
static void test_signals(void)
{
    enum { SLEEPERS = 4 };
    struct sleeper s[SLEEPERS] = {{.delay = 0}};
    pthread_t threads[SLEEPERS];
    int seen[SLEEPERS] = {0}, all = 0;
    ready = waiting = woken_up = 0;
    for (int i = 0; i < SLEEPERS; i++) {
        s[i].delay = 9;
        pthread_create(&threads[i], NULL, sleeping, &s[i]);
    }
    until_waiting(SLEEPERS);
    for (int i = 0; i < SLEEPERS; i++)
        wake(1 + i, false, 1);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
        for (int k = 0; k < SLEEPERS; k++)
            seen[k] += fabs(s[i].after - (1 + k)) < 0.02;
    }
    for (int k = 0; k < SLEEPERS; k++)
        all += seen[k] == 1;
    ok(all == SLEEPERS, "of several signals each wakes one: %d", all);
}

static void test_timeout(void)
{
    pthread_cond_t *again = &cond;
    struct timespec soon;
    set_delay(0.25);
    pthread_cond_signal(again); /* nobody waits */
    pthread_cond_broadcast(again);
    pthread_cond_destroy(again);
    pthread_cond_init(again, NULL);
    set_delay(2);
    pthread_mutex_lock(&mutex);
    soon = in_ms(CLOCK_REALTIME, 20);
    int late = pthread_cond_timedwait(again, &mutex, &soon);
    soon.tv_nsec = -1;
    int wrong = pthread_cond_timedwait(again, &mutex, &soon);
    pthread_mutex_unlock(&mutex);
    ok(late == ETIMEDOUT && wrong == EINVAL && near(delay(), 2, 1e-3),
       "who waited in vain has met nobody, nor who was there before at this address");
}

static void test_cancel(void)
{
    struct sleeper s = {.delay = 1};
    pthread_t thread;
    void *result = NULL;
    ready = waiting = woken_up = 0;
    pthread_create(&thread, NULL, sleeping, &s);
    until_waiting(1);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    ok(result == PTHREAD_CANCELED && !pthread_mutex_trylock(&mutex), "cancelled while it waits");
    pthread_mutex_unlock(&mutex);
    double waited;
    ok(near(sleep_and_wake(2, 0.5, PLAIN, &waited), 0.5, 0.02), "the next one is as before");
}

/* ---- together ---- */

/* A queue between many; what it is about is that nothing is lost or stuck. */
enum { ITEMS = 5000, PRODUCERS = 3, CONSUMERS = 5 };
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queued, taken;

static void *produce(void *data)
{
    set_delay((double)(intptr_t)data);
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&mutex);
        while (queued >= 4)
            pthread_cond_wait(&emptied, &mutex);
        queued++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&filled);
    }
    return NULL;
}

static void *consume(void *data)
{
    bool more = true;
    (void)data;
    while (more) {
        pthread_mutex_lock(&mutex);
        while (queued == 0 && taken < PRODUCERS * ITEMS)
            pthread_cond_wait(&filled, &mutex);
        more = taken < PRODUCERS * ITEMS;
        if (more) {
            queued--;
            taken++;
        }
        pthread_mutex_unlock(&mutex);
        more ? pthread_cond_signal(&emptied) : pthread_cond_broadcast(&filled);
    }
    return NULL;
}

static void test_queue(void)
{
    pthread_t threads[PRODUCERS + CONSUMERS];
    for (intptr_t i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, (void *)i);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    ok(taken == PRODUCERS * ITEMS && queued == 0, "a queue between many threads");
}

static void test_fork(void)
{
    set_delay(2);
    pid_t child = fork();
    if (child == 0) {
        double first = delay(), waited;
        double after = sleep_and_wake(2, 0.5, PLAIN, &waited);
        _exit(first == 0 && near(after, 0.5, 0.02) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ok(status == 0, "a forked child begins anew");
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=5%");
    delays_start();
    test_create();
    test_join();
    test_join_others();
    test_cond();
    test_broadcast();
    test_signals();
    test_timeout();
    test_cancel();
    test_queue();
    test_fork();
    ok(!read_back()->damaged, "the reader finds nothing wrong");
    return tap_done();
}
