/* SPDX-License-Identifier: MIT */
/*
 * Loads a library, has its procedures called by this thread and one that was there before, unloads
 * it, and that again:
 *     loads LIBRARY TIMES [fork]
 * With fork, a child does the same first. Says on standard error how often they were called, ends
 * with 4.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 5000 };

static long (*work)(long);
static pthread_barrier_t begin, end;
static long other_sum, counts[2];

static void *other(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&begin);
        if (!work)
            return unused;
        other_sum += work(CALLS);
        pthread_barrier_wait(&end);
    }
}

static long once(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    long (*count)(int);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&work = dlsym(library, "later_work");
    *(void **)&count = dlsym(library, "later_count");
    pthread_barrier_wait(&begin);
    long sum = work(CALLS);
    pthread_barrier_wait(&end);
    for (int i = 0; i < 2; i++)
        counts[i] += count(i);
    return dlclose(library) ? -1 : sum;
}

static long all(const char *path, int times)
{
    pthread_t thread;
    long sum = 0;
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    if (pthread_create(&thread, NULL, other, NULL))
        return -1;
    for (int i = 0; i < times; i++)
        sum += once(path);
    work = NULL;
    pthread_barrier_wait(&begin);
    pthread_join(thread, NULL);
    return sum + other_sum;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (argc > 3 && !strcmp(argv[3], "fork")) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(all(argv[1], 3) < 0);
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    printf("sum %ld\n", all(argv[1], atoi(argv[2])));
    fprintf(stderr, "count later_leaf %ld\ncount later_work %ld\n", counts[0], counts[1]);
    return 4;
}
