/* SPDX-License-Identifier: MIT */
/* Probes through the lives of threads, processes and libraries. */
#define LOUPE_UNIT_ID    0x4001
#define LOUPE_UNIT_SITES 1500
enum { KEY_WORK = 31 };
/* So many sites that the cells need a run of chunks; the last ones are used. */
enum { WORK = 1400, CALL = 1401, LOOP = 1402, CHILD = 1403, LATE = 1404 };
#define LOUPE_UNIT_TABLE                                                                           \
    [WORK] = LOUPE_SITE(LOUPE_SITE_PROCEDURE, KEY_WORK),                                           \
    [CALL] = LOUPE_SITE(LOUPE_SITE_CALL, KEY_WORK), [LOOP] = LOUPE_SITE(LOUPE_SITE_LOOP, 0),       \
    [CHILD] = LOUPE_SITE(LOUPE_SITE_LOOP, 0), [LATE] = LOUPE_SITE(LOUPE_SITE_LOOP, 0),             \
    [LOUPE_UNIT_SITES - 1] = 0
#include <loupe-probe.h>

#include "probing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>

extern char **environ;
static volatile int sink;

static struct record_probe_reading at(const struct readings *r, uint32_t site)
{
    return reading_of(r, LOUPE_UNIT_ID, site, false);
}

__attribute__((noinline)) static void work(void)
{
    LOUPE_PROCEDURE(WORK)
    sink++;
}

static void visit(int n)
{
    for (int i = 0; i < n; i++)
        (LOUPE_CALL(CALL), work());
}

static void *visiting_thread(void *data)
{
    visit((int)(intptr_t)data);
    return data;
}

static void *leaving_thread(void *data)
{
    LOUPE_LOOP(LOOP)
    visit((int)(intptr_t)data);
    pthread_exit(data);
}

static void test_churn(void)
{
    uint32_t chunks = 0;
    uint64_t before = at(read_back(), CALL).count;
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, i % 2 ? visiting_thread : leaving_thread, (void *)1000);
        pthread_join(thread, &result);
        if (result != (void *)1000)
            ok(false, "the thread's result");
        if (i == 1)
            chunks = loupe_process.writer.next;
    }
    struct readings *r = read_back();
    ok(at(r, CALL).count - before == 300000 && at(r, WORK).count == at(r, CALL).count,
       "300 threads, one after the other: all counted");
    ok(at(r, LOOP).count == 150 && at(r, LOOP).timed == 150,
       "also by those who leave in the middle");
    ok(r->blocks == 2 && loupe_process.writer.next == chunks, "with no more space than one takes");
}

static void test_crowd(void)
{
    enum { CROWD = 8, VISITS = 300000 };
    pthread_t threads[CROWD];
    uint64_t before = at(read_back(), CALL).count;
    for (int i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, visiting_thread, (void *)VISITS);
    for (int k = 0; k < 50; k++) {
        struct readings *r = read_back();
        if (r->damaged)
            ok(false, "read while they run");
    }
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    ok(at(read_back(), CALL).count - before == CROWD * VISITS, "threads at once: all counted");
}

static void test_pass_through(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    uint64_t before = at(read_back(), CALL).count;
    int error = pthread_create(&thread, &attributes, visiting_thread, (void *)10);
    while (!error && at(read_back(), CALL).count < before + 10)
        sched_yield();
    ok(!error && pthread_join(thread, NULL) == EINVAL, "attributes of threads are passed on");
    struct sched_param priority = {.sched_priority = 1000};
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    ok(pthread_attr_setschedparam(&attributes, &priority) == EINVAL, "such a priority is refused");
    size_t most = (size_t)1 << 46;
    pthread_attr_setstacksize(&attributes, most);
    errno = 0;
    error = pthread_create(&thread, &attributes, visiting_thread, (void *)10);
    ok(error == EAGAIN || error == ENOMEM, "and so are errors: %d", error);
    pthread_attr_destroy(&attributes);
}

/* The segment of the process with this PID, by way of its header. */
static struct readings *read_process(pid_t pid)
{
    const char *path = getenv(PLACE_ENV_JOB_DIR);
    DIR *dir = opendir(path ? path : "/");
    struct readings *r = NULL;
    for (struct dirent *e; dir && (e = readdir(dir)) && !r;) {
        char *dot = strstr(e->d_name, PLACE_HEADER_SUFFIX);
        struct record_reader *reader;
        if (!dot)
            continue;
        *dot = '\0';
        if (record_open(dirfd(dir), -1, e->d_name, &reader))
            continue;
        bool same = record_header(reader)->pid == pid;
        record_close(reader);
        if (same)
            r = read_segment(e->d_name);
    }
    if (dir)
        closedir(dir);
    return r;
}

static void test_fork(void)
{
    uint64_t before = at(read_back(), CALL).count, loops = at(read_back(), LOOP).count;
    pid_t child;
    {
        LOUPE_LOOP(LOOP)
        child = fork();
        if (child == 0) {
            for (int i = 0; i < 5; i++) {
                LOUPE_LOOP(CHILD)
                visit(1000);
            }
        } else {
            visit(500);
            waitpid(child, NULL, 0);
        }
    } /* the child leaves a loop that its parent entered */
    if (child == 0)
        _exit(0);
    struct readings *r = read_back();
    ok(at(r, CALL).count - before == 500 && at(r, CHILD).count == 0 &&
           at(r, LOOP).count == loops + 1,
       "a forked child does not count in its parent's place");
    r = read_process(child);
    ok(r && at(r, CALL).count == 5000 && at(r, CHILD).count == 5 && at(r, LOOP).count == 0,
       "but in its own: %lu", r ? (unsigned long)at(r, CALL).count : 0);
}

static void test_spawn(void)
{
    char *arguments[] = {(char *)"true", NULL};
    uint64_t before = at(read_back(), CALL).count;
    pid_t child = vfork(); /* NOLINT: that it is dangerous is why it is tested */
    if (child == 0) {
        visit(1); /* NOLINT */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    int status = -1;
    if (!posix_spawnp(&child, "true", NULL, NULL, arguments, environ))
        waitpid(child, &status, 0);
    visit(100);
    uint64_t after = at(read_back(), CALL).count - before;
    ok(status == 0 && (after == 100 || after == 101), "vfork and posix_spawn break nothing");
}

static int killed(void)
{
    loupe_process.writer.spare_shm = false;
    for (int i = 0; i < 100; i++) {
        LOUPE_LOOP(LOOP)
        visit(12345);
    }
    {
        LOUPE_LOOP(LATE)
        kill(getpid(), SIGKILL);
    }
    return 1;
}

static void test_kill(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "lives", "killed", NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    struct readings *r = read_process(child);
    ok(WIFSIGNALED(status) && r && at(r, CALL).count == 1234500 && at(r, WORK).count == 1234500 &&
           at(r, LOOP).count == 100,
       "killed with SIGKILL: every execution is there");
    ok(r && at(r, LATE).count == 1 && at(r, LATE).timed == 1, "and the loop that was going on");
}

typedef int module_function(int n);
static module_function *volatile module_work;
static volatile int stop, waiting;

static void *module_thread(void *data)
{
    (void)data;
    visit(10);
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    while (!module_work)
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sink += module_work(10);
    __atomic_fetch_add(&waiting, -1, __ATOMIC_SEQ_CST);
    while (!stop) {
        visit(1);
        sched_yield();
    }
    return NULL;
}

static uint64_t module_count(uint32_t site)
{
    return reading_of(read_back(), 0x4002, site, false).count;
}

static void test_module(const char *path)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, module_thread, NULL);
    while (waiting < 3)
        sched_yield();
    void *module = dlopen(path, RTLD_NOW);
    module_work = module ? (module_function *)dlsym(module, "module_work") : NULL;
    ok(module && module_work, "a library is loaded while threads run");
    if (!module || !module_work)
        return;
    sink += module_work(10);
    while (waiting > 0)
        sched_yield();
    ok(module_count(0) == 3001 && module_count(1) == 3001 && module_count(2) == 30010,
       "all of them count in it: %lu", (unsigned long)module_count(0));
    uint32_t chunks = loupe_process.writer.next;
    for (int i = 0; i < 100; i++) {
        dlclose(module);
        pthread_t another;
        pthread_create(&another, NULL, visiting_thread, (void *)10);
        pthread_join(another, NULL);
        module = dlopen(path, RTLD_NOW);
        if (!module)
            break;
        module_work = (module_function *)dlsym(module, "module_work");
        sink += module_work(10);
    }
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    ok(module_count(0) == 3101 && module_count(2) == 31010, "unloaded and loaded again: %lu",
       (unsigned long)module_count(0));
    ok(loupe_process.writer.next <= chunks + 8, "with no more space");
    if (module)
        dlclose(module);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "killed"))
        return killed();
    if (!getenv(PLACE_ENV_JOB_DIR))
        return probing_start(argv, "budget=5%");
    loupe_process.writer.spare_shm = false;
    visit(1);
    test_churn();
    test_crowd();
    test_pass_through();
    test_fork();
    test_spawn();
    test_kill();
    if (argc > 1)
        test_module(argv[1]);
    ok(!read_back()->damaged && !read_back()->torn, "the reader finds nothing wrong");
    return tap_done();
}
