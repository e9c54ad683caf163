/* SPDX-License-Identifier: MIT */
/* What others had of a thread's processor is taken off once, and off what it was taken from. A
 * process on the same processor takes it away, so that something is lost for certain; how much, the
 * kernel says. Each case is tried a few times, for the processor may also be lost where a case does
 * not expect it: a wrong rule is wrong each time. */
#include "lib/tap.h"

#include "runtime/hot.h"
#include "runtime/process.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 20, LOST_NS = 10000000 };

static struct record_header header;
static struct record_thread block;
static struct plan plan = {.on = 1, .generation = 1, .items = 2};
static struct record_path record;
static struct record_statement statement;
static struct path path;
static struct thread thread;
static struct site site = {.record = &statement};
static double ticks_per_ns;

static uint64_t ns_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The other one: until we are gone. */
static pid_t rival(void)
{
    cpu_set_t one;
    pid_t parent = getpid(), pid;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    if ((pid = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            for (volatile int i = 0; i < 100000; i++)
                ;
        _exit(0);
    }
    return pid;
}

/* Computes until so much was lost, or gives the processor away until then; returns how much, in
 * ticks. */
static double lose_so(bool computing)
{
    int64_t wall = (int64_t)ns_of(CLOCK_MONOTONIC), cpu = (int64_t)ns_of(CLOCK_THREAD_CPUTIME_ID);
    int64_t lost;
    do {
        if (!computing)
            sched_yield();
        lost = cpu - (int64_t)ns_of(CLOCK_THREAD_CPUTIME_ID);
        lost += (int64_t)ns_of(CLOCK_MONOTONIC) - wall;
    } while (lost < LOST_NS);
    return (double)lost * ticks_per_ns;
}

static double lose(void)
{
    return lose_so(true);
}

static void look(void)
{
    thread.look();
}

static int64_t virtual_now(void)
{
    return (int64_t)clock_now() - (thread.own_delay >> RECORD_TIME_SHIFT);
}

static double difference(uint64_t before, uint64_t after)
{
    return (double)(after - before);
}

static bool elsewhere(void)
{
    look();
    uint64_t before = block.preempted;
    double lost = lose();
    look();
    double found = difference(before, block.preempted);
    return found > 0.9 * lost && found < 1.5 * lost;
}

static bool charged(void)
{
    look();
    uint64_t before = block.preempted, began = clock_now();
    double lost = lose();
    event_spent_since(&thread, began);
    look();
    bool once = difference(before, block.preempted) < lost / 4;
    before = block.preempted;
    lost = lose();
    look();
    return once && difference(before, block.preempted) > 0.9 * lost;
}

/* Somebody looks while a communication is in progress. */
static bool in_a_communication(void)
{
    look();
    uint64_t before = block.preempted, inside = block.preempted_mpi;
    thread.open = &site;
    thread.guard = 1;
    statement.open = clock_now();
    double lost = lose();
    look();
    bool its = difference(inside, block.preempted_mpi) > 0.9 * lost &&
               difference(before, block.preempted) < lost / 4;
    thread.talked += clock_now() - statement.open;
    statement.open = thread.guard = 0;
    before = block.preempted;
    lost = lose();
    look();
    return its && difference(before, block.preempted) > 0.9 * lost;
}

/* It is lost before and after the moment at which an item ends, and found then. */
static bool around_an_end(void)
{
    path_start_at(&thread, &plan, virtual_now());
    uint64_t cpu = ns_of(CLOCK_THREAD_CPUTIME_ID);
    path_enter(&thread, 0, virtual_now());
    double lost = lose();
    int64_t end = virtual_now();
    double spent = (double)(ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu) * ticks_per_ns;
    lose_so(false); /* between the two nothing is done that takes long */
    path_leave(&thread, 0, end, 1, 0, 0);
    double off = (double)record.item[0].share - spent;
    path_end(&thread);
    return off < lost / 4 && off > -lost / 4;
}

/* It has slept too: the path has to know before it is told to anyone. */
static bool after_sleeping(void)
{
    path_start_at(&thread, &plan, virtual_now());
    look();
    int64_t before = record.offset;
    thread.preempt.read_at = clock_now(); /* not due for a while */
    usleep(1000);
    double lost = lose();
    look();
    double found = (double)(record.offset - before);
    path_end(&thread);
    return found > 0.9 * lost && found < 1.5 * lost;
}

static void begin(void)
{
    uint64_t ns = ns_of(CLOCK_MONOTONIC), ticks = clock_now();
    while (ns_of(CLOCK_MONOTONIC) - ns < 50000000)
        ;
    ticks_per_ns = (double)(clock_now() - ticks) / (double)(ns_of(CLOCK_MONOTONIC) - ns);
    loupe_process.writer.header = &header;
    path.record = &record;
    thread.path_kept = &path;
    thread.block = &block;
    thread.delay = &thread.own_delay;
    thread.taken = thread.told = -1;
    loupe_tls.self = &thread;
    lose(); /* schedstat has something then */
    preempt_start(&thread);
}

static bool any_of(bool (*try)(void))
{
    for (int i = 0; i < TRIES; i++)
        if (try())
            return true;
    return false;
}

int main(void)
{
    pid_t other = rival();
    begin();
    ok(any_of(elsewhere), "what was lost is found");
    ok(any_of(charged), "not what is delay already, but what comes then");
    ok(any_of(in_a_communication), "in a communication in progress, and after it");
    ok(any_of(around_an_end), "before and after the end of an item, and found at it");
    if (access("/proc/thread-self/schedstat", R_OK) == 0)
        ok(any_of(after_sleeping), "at once, also of who has slept, if there is a path");
    else
        printf("# the kernel does not say how long threads wait\n");
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    loupe_tls.self = NULL;
    return tap_done();
}
