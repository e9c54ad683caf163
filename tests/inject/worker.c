/* SPDX-License-Identifier: MIT */
/*
 * A target: threads that call small functions again and again and know what must come out.
 * worker MODE THREADS; prints "ready PID ADDRESS..." (behind :OFFSET of a system call, if one is
 * among its no-operations) and, once its standard input ends, "rounds N bad N". Modes: compute,
 * signals, storm, fork, spawn, sleep, stand.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define F(n)                                                                                       \
    __attribute__((noinline, patchable_function_entry(9))) static uint64_t f##n(uint64_t x)        \
    {                                                                                              \
        return (x ^ (n + 1)) * 0x9e3779b97f4a7c15ull + (x >> 7);                                   \
    }
#define TEN(m)  m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9)
#define TEN2(m) m(10) m(11) m(12) m(13) m(14) m(15) m(16) m(17) m(18) m(19)
#define TEN3(m) m(20) m(21) m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29)
TEN(F)
TEN2(F)
TEN3(F)
#define NAME(n) f##n,
static uint64_t (*const table[])(uint64_t) = {TEN(NAME) TEN2(NAME) TEN3(NAME)};
enum { FUNCTIONS = sizeof table / sizeof *table, REPEATS = 200 };

/* Who calls it is among its first nine bytes nearly all the time, in a system call. */
void standing(void);
__asm__(".text\n.p2align 4\n.globl standing\n.type standing, @function\n"
        "standing: nop\nnop\nsyscall\nnop\nnop\nnop\nnop\nnop\nret\n"
        ".size standing, . - standing\n");

static atomic_ulong rounds, bad, in_handler;
static atomic_bool over;
static uint64_t expected;
extern char **environ;

static uint64_t once(void)
{
    uint64_t x = 1;
    for (int i = 0; i < REPEATS; i++)
        for (int k = 0; k < FUNCTIONS; k++)
            x = table[k](x);
    return x;
}

static void check(int right, const char *what)
{
    if (!right) {
        atomic_fetch_add(&bad, 1);
        fprintf(stderr, "wrong: %s (%s)\n", what, strerror(errno));
    }
}

static void compute_round(void)
{
    check(once() == expected, "the sum");
    atomic_fetch_add(&rounds, 1);
}

static void *compute(void *unused)
{
    while (!over)
        compute_round();
    return unused;
}

static void on_alarm(int number)
{
    (void)number;
    uint64_t x = 1;
    for (int k = 0; k < FUNCTIONS; k++)
        x = table[k](x);
    atomic_fetch_add(&in_handler, x != 0);
}

static void *once_more(void *unused)
{
    compute_round();
    return unused;
}

static void storm_round(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        check(pthread_create(&threads[i], NULL, once_more, NULL) == 0, "pthread_create");
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void fork_round(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(once() == expected ? 7 : 8);
    int status = 0;
    check(child > 0 && waitpid(child, &status, 0) == child, "waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
        fprintf(stderr, "the child's status: %#x\n", (unsigned)status);
        check(0, "the child's sum");
    }
    compute_round();
}

static void spawn_round(void)
{
    pid_t child;
    char name[] = "/bin/true", *argv[] = {name, NULL};
    int status = 0;
    check(posix_spawn(&child, name, NULL, NULL, argv, environ) == 0, "posix_spawn");
    check(waitpid(child, &status, 0) == child && status == 0, "the spawned program");
    compute_round();
}

static void sleep_round(void)
{
    static _Thread_local int epoll = -1, semaphores, pair[2];
    if (epoll < 0) {
        epoll = epoll_create1(EPOLL_CLOEXEC);
        semaphores = semget(IPC_PRIVATE, 1, 0600);
        check(semaphores >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "preparing");
        struct timeval limit = {.tv_usec = 20000};
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    struct timespec little = {.tv_nsec = 20000000}, rest;
    struct epoll_event event;
    struct pollfd none = {.fd = -1};
    struct sembuf operation = {.sem_op = -1};
    sigset_t set;
    char byte;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    check(epoll_wait(epoll, &event, 1, 20) == 0, "epoll_wait");
    check(semtimedop(semaphores, &operation, 1, &little) < 0 && errno == EAGAIN, "semtimedop");
    check(sigtimedwait(&set, NULL, &little) < 0 && errno == EAGAIN, "sigtimedwait");
    check(nanosleep(&little, &rest) == 0, "nanosleep");
    check(clock_nanosleep(CLOCK_MONOTONIC, 0, &little, &rest) == 0, "clock_nanosleep");
    check(poll(&none, 1, 20) == 0, "poll");
    check(recv(pair[0], &byte, 1, 0) < 0 && errno == EAGAIN, "recv");
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    check(pthread_cond_timedwait(&never, &lock, &until) == ETIMEDOUT, "pthread_cond_timedwait");
    pthread_mutex_unlock(&lock);
    if (over)
        semctl(semaphores, 0, IPC_RMID);
    compute_round();
}

static void stand_round(void)
{
    struct timespec little = {.tv_nsec = 500000}, *rest = NULL;
    long result = SYS_nanosleep;
    __asm__ volatile("sub $128, %%rsp\n\tcall standing\n\tadd $128, %%rsp"
                     : "+a"(result)
                     : "D"(&little), "S"(rest)
                     : "rcx", "r11", "memory", "cc");
    check(result == 0, "nanosleep in a window");
    compute_round();
}

static void *storm(void *round)
{
    while (!over)
        ((void (*)(void))(uintptr_t)round)();
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "compute";
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    void (*round)(void) = compute_round;
    if (strcmp(mode, "storm") == 0)
        round = storm_round;
    else if (strcmp(mode, "fork") == 0)
        round = fork_round;
    else if (strcmp(mode, "spawn") == 0)
        round = spawn_round;
    else if (strcmp(mode, "sleep") == 0)
        round = sleep_round;
    else if (strcmp(mode, "stand") == 0)
        round = stand_round;
    expected = once();
    if (strcmp(mode, "signals") == 0) {
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval timer = {{0, 300}, {0, 300}};
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    pthread_t others[64];
    for (int i = 1; i < threads && i < 64; i++)
        pthread_create(&others[i], NULL, round == compute_round ? compute : storm,
                       (void *)(uintptr_t)round);
    printf("ready %d", (int)getpid());
    for (int k = 0; k < FUNCTIONS; k++)
        printf(" %lx", (unsigned long)(uintptr_t)table[k]);
    printf(" %lx:2\n", (unsigned long)(uintptr_t)standing);
    fflush(stdout);
    struct pollfd in = {.fd = 0, .events = POLLIN};
    while (poll(&in, 1, 0) <= 0)
        round();
    char line[16] = "";
    ssize_t got = read(0, line, sizeof line - 1);
    if (got > 0 && line[0] == 'x')
        execl("/bin/echo", "echo", "became another program", (char *)NULL);
    over = true;
    for (int i = 1; i < threads && i < 64; i++)
        pthread_join(others[i], NULL);
    if (round == sleep_round)
        sleep_round();
    struct itimerval off = {0};
    setitimer(ITIMER_REAL, &off, NULL);
    printf("rounds %lu bad %lu\n", (unsigned long)rounds, (unsigned long)bad);
    return bad != 0;
}
