/* SPDX-License-Identifier: MIT */
/* burns: prints its pid; told to go, four threads use 100 ms of CPU time each, in burn. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, MS = 100 };

void burn(void);

__attribute__((noinline)) void burn(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < MS);
}

static void *run(void *unused)
{
    burn();
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    char line[8];
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, NULL))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
