/* SPDX-License-Identifier: MIT */
/* Regions in ways that are not a plain nesting:
 *   regions recursion N   N calls inside each other, five milliseconds on the way out of each
 *   regions jump          inner regions left by longjmp
 *   regions killed        ends by SIGKILL inside a region
 *   regions forks         threads begin regions while another forks; the children do so too, and
 *                         end by leaving their only thread
 *   regions errno         does a first visit change errno? */
#include <errno.h>
#include <loupe.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf back;
static volatile int stop;

static void recurse(int depth)
{
    loupe_begin("recursion");
    if (depth > 1)
        recurse(depth - 1);
    usleep(5000);
    loupe_end("recursion");
}

static void jump(void)
{
    for (volatile int i = 0; i < 5; i++) {
        loupe_begin("outer");
        if (!setjmp(back)) {
            loupe_begin("left");
            loupe_begin("left too");
            longjmp(back, 1);
        }
        loupe_end("outer");
    }
    loupe_end("never begun");
}

static void *hammer(void *number)
{
    char name[64];
    for (int i = 0; !stop; i++) {
        snprintf(name, sizeof name, "%s %d", (const char *)number, i % 3000);
        loupe_begin(name);
        loupe_end(name);
    }
    return NULL;
}

/* The child's one thread ends as the parent's would: its block is not the parent's. */
static void *fork_one(void *unused)
{
    (void)unused;
    loupe_begin("forking");
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        loupe_begin("in the child");
        loupe_end("in the child");
        return NULL;
    }
    int status = -1;
    waitpid(pid, &status, 0);
    if (status)
        printf("wrong status %d\n", status);
    loupe_end("forking");
    return NULL;
}

static void forks(void)
{
    pthread_t threads[2], one;
    pthread_create(&threads[0], NULL, hammer, "a");
    pthread_create(&threads[1], NULL, hammer, "b");
    pid_t self = getpid();
    for (int i = 0; i < 40; i++) {
        pthread_create(&one, NULL, fork_one, NULL);
        pthread_join(one, NULL);
        if (getpid() != self)
            _exit(3);
    }
    stop = 1;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "recursion"))
        recurse(atoi(argv[2]));
    if (!strcmp(way, "jump"))
        jump();
    if (!strcmp(way, "forks"))
        forks();
    if (!strcmp(way, "errno")) {
        errno = 77;
        loupe_begin("first");
        loupe_end("first");
        printf("checksum errno %d\n", errno);
    }
    printf("checksum done\n");
    fflush(stdout);
    if (!strcmp(way, "killed")) {
        loupe_begin("open");
        usleep(50000);
        raise(SIGKILL);
    }
    return 0;
}
