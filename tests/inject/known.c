/* SPDX-License-Identifier: MIT */
/*
 * A program with known counts for the tests of `loupe probe`: known ROUNDS THREADS [MODE]. It
 * prints its PID, waits for a line on standard input, works, and prints its results. Each round
 * calls work() once, which calls leaf() `rounds % 7` times, and writes 3 bytes into /dev/null.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

long leaf(long value, long weight);
long work(long round);
void nap(long ms);

static int null_fd;
static long rounds;
static void *library;

__attribute__((noinline)) long leaf(long value, long weight)
{
    __asm__ volatile("" : "+r"(value)); /* is called, and not only once */
    return value * weight + 1;
}

__attribute__((noinline)) void nap(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

__attribute__((noinline)) long work(long round)
{
    long sum = 0;
    for (long i = 0; i < round % 7; i++) /* @leaves */
        sum += leaf(i, round);
    if (write(null_fd, "abc", 3) != 3)
        abort();
    return sum;
}

static void *body(void *result)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++)
        sum += work(i);
    *(long *)result = sum;
    return NULL;
}

/* After a moment, one of the things that programs do while they are watched. */
static void misbehave(const char *mode, char **argv)
{
    if (strcmp(mode, "exec") == 0) {
        char *again[] = {argv[0], argv[1], argv[2], NULL};
        execv("/proc/self/exe", again);
    } else if (strcmp(mode, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            long sum;
            body(&sum);
            _exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0)
            printf("the child ended with %d\n", status);
    } else if (strcmp(mode, "unload") == 0) {
        long (*passing)(long) = (long (*)(long))dlsym(library, "passing");
        for (long i = 0; i < 1000; i++)
            if (passing(i) != i + 1)
                abort();
        dlclose(library);
        nap(200);
    } else if (strcmp(mode, "exit") == 0) {
        _exit(3);
    } else if (strcmp(mode, "kill") == 0) {
        raise(SIGKILL);
    }
}

int main(int argc, char **argv)
{
    char line[16];
    pthread_t threads[16];
    long results[17] = {0}, sum = 0;
    if (argc < 3)
        return 2;
    rounds = atol(argv[1]);
    int count = atoi(argv[2]);
    null_fd = open("/dev/null", O_WRONLY);
    if (argc > 4)
        library = dlopen(argv[4], RTLD_NOW);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 2;
    nap(20);
    if (argc > 3)
        misbehave(argv[3], argv);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, body, &results[i]))
            return 2;
    body(&results[count]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i <= count; i++)
        sum += results[i];
    printf("%ld\n", sum);
    return 0;
}
