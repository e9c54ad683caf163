/* SPDX-License-Identifier: MIT */
/*
 * The hot path and its slow paths, without MPI: events at made-up addresses, read back with the
 * reader. The runtime takes its orders from the environment at start, so the test starts itself
 * again with a directory of its own.
 */
#include "runtime/hot.h"
#include "runtime/process.h"

#include "lib/tap.h"
#include "record/place.h"
#include "record/reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void loupe_runtime_begin(const char *name);
void loupe_runtime_end(const char *name);

struct sum {
    uint64_t statements, count, bytes, others_count, peers, peer_count, others_peer_count;
    uint64_t region_count, region_time, region_self, blocks, threads;
};

static void on_statement(void *data, uint32_t block, uint32_t index,
                         const struct record_statement *s)
{
    struct sum *sum = data;
    (void)block;
    (void)index;
    if (s->call == RECORD_CALL_REGION) {
        sum->region_count += s->count;
        sum->region_time += s->time;
        sum->region_self += s->self;
        return;
    }
    sum->statements += s->call != RECORD_CALL_OTHERS;
    sum->others_count += s->call == RECORD_CALL_OTHERS ? s->count : 0;
    sum->count += s->count;
    sum->bytes += s->bytes;
}

static void on_peer(void *data, uint32_t block, const struct record_peer *p)
{
    struct sum *sum = data;
    (void)block;
    sum->peers++;
    sum->peer_count += p->count;
    sum->others_peer_count += p->rank == RECORD_PEER_OTHERS ? p->count : 0;
}

static void on_thread(void *data, uint32_t block, const struct record_thread *t)
{
    struct sum *sum = data;
    (void)block;
    sum->blocks++;
    sum->threads += t->threads;
}

static struct sum read_back(void)
{
    struct sum sum = {0};
    const struct record_visitor visitor = {
        .data = &sum, .statement = on_statement, .peer = on_peer, .thread = on_thread};
    struct record_reader *reader;
    const char *dir = getenv(PLACE_ENV_JOB_DIR);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY) : -1;
    if (!record_open(fd, -1, loupe_process.writer.name, &reader))
        record_visit(reader, record_now(reader), &visitor);
    record_close(reader);
    close(fd);
    return sum;
}

/* An event as a wrapper makes it, with a message to `rank`. */
__attribute__((noinline)) static bool event(uintptr_t address, int32_t rank, uint64_t bytes)
{
    struct event e;
    if (!event_begin(&e, 3, (void *)address, __builtin_frame_address(0)))
        return false;
    event_end(&e);
    event_settle(&e);
    statement_bytes(e.site->record, bytes);
    event_peer(e.thread, e.site, rank, RECORD_SENT, bytes, e.ticks);
    event_done(&e);
    return true;
}

static void test_peers(void)
{
    for (int round = 0; round < 3; round++)
        for (int rank = 0; rank < 100; rank++)
            event(0x1000, rank, 10);
    struct sum sum = read_back();
    ok(sum.statements == 1 && sum.count == 300 && sum.bytes == 3000, "one statement, all counted");
    ok(sum.peers == RECORD_PEERS_MAX + 1, "peers up to the limit, and one for the others");
    ok(sum.peer_count == 300 && sum.others_peer_count == 3 * (100 - RECORD_PEERS_MAX),
       "their totals are exact");
    ok(loupe_process.writer.header->trouble & RECORD_TROUBLE_PEERS, "the header says so");
}

static void *one_event(void *address)
{
    event((uintptr_t)address, 0, 1);
    return NULL;
}

static void test_threads(void)
{
    uint32_t chunks = 0;
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, one_event, (void *)0x2000);
        pthread_join(thread, NULL);
        if (i == 0)
            chunks = loupe_process.writer.next;
    }
    struct sum sum = read_back();
    ok(sum.blocks == 2 && sum.threads == 301, "300 threads, one after the other: one more block");
    ok(loupe_process.writer.next == chunks, "and no more space than one of them takes");
    ok(sum.count == 600, "nothing of theirs is lost");
}

static jmp_buf back;

__attribute__((noinline)) static void left_by_jump(void)
{
    struct event e;
    if (event_begin(&e, 4, (void *)0x3000, __builtin_frame_address(0)))
        longjmp(back, 1);
}

__attribute__((noinline)) static bool nested_event(void)
{
    struct event e;
    if (!event_begin(&e, 4, (void *)0x3100, __builtin_frame_address(0)))
        return true;
    /* as if the MPI library called MPI: its own frames lie in between */
    volatile char frames_of_the_library[256] = {0};
    bool inner = event(0x3200 + (uintptr_t)frames_of_the_library[0], 0, 1);
    event_end(&e);
    event_settle(&e);
    event_done(&e);
    return inner;
}

static void test_nesting(void)
{
    ok(!nested_event(), "a call inside a call is not the program's");
    if (!setjmp(back))
        left_by_jump();
    ok(event(0x3300, 0, 1), "after a longjmp out of a call the next one counts");
}

static void test_regions(void)
{
    struct sum before = read_back();
    loupe_runtime_begin("outer");
    event(0x4000, 0, 1);
    loupe_runtime_begin("outer"); /* inside itself */
    loupe_runtime_end("outer");
    loupe_runtime_begin("left open");
    loupe_runtime_end("outer");
    struct sum sum = read_back();
    ok(sum.region_count - before.region_count == 3, "each region is counted, closed or not");
    ok(sum.region_self <= sum.region_time, "no region has more time of its own than in all");
    uint64_t unbalanced = loupe_process.writer.header->unbalanced_regions;
    loupe_runtime_end("never begun");
    ok(loupe_process.writer.header->unbalanced_regions == unbalanced + 1,
       "an end without a begin is noticed");
    for (int i = 0; i < 40; i++)
        loupe_runtime_begin("deep");
    ok(event(0x4100, 0, 1), "too many open regions leave room for a communication");
    for (int i = 0; i < 40; i++)
        loupe_runtime_end("deep");
}

static void set_control(uint32_t word)
{
    __atomic_store_n(&loupe_process.writer.header->control.word, word, __ATOMIC_RELAXED);
}

static void test_control(void)
{
    struct sum before = read_back();
    set_control(RECORD_CONTROL_OFF);
    ok(!event(0x5000, 0, 1), "measurement off: not recorded");
    set_control(1u << RECORD_CONTROL_RESET_SHIFT);
    struct sum sum = read_back();
    ok(sum.count == 0, "after a reset readers see nothing, even of threads that do not know yet");
    event(0x5000, 0, 1);
    sum = read_back();
    ok(sum.count == 1 && before.count > 1, "then what came since");
    ok(loupe_process.writer.header->reset_at && loupe_process.writer.header->off_ticks == 0,
       "the clock starts anew");
}

/* Last: afterwards the table of this thread is full. */
static void test_full(void)
{
    struct sum before = read_back();
    for (uintptr_t i = 0; i < RECORD_STATEMENTS_MAX + 1000; i++)
        event(0x100000 + 16 * i, 0, 2);
    struct sum sum = read_back();
    uint64_t events = RECORD_STATEMENTS_MAX + 1000;
    ok(sum.count - before.count == events, "more statements than there is room for: all counted");
    ok(sum.bytes - before.bytes == 2 * events, "with all bytes");
    ok(sum.others_count >= 1000 && sum.others_count < events, "the last of them as others: %lu",
       (unsigned long)sum.others_count);
    ok(loupe_process.writer.header->trouble & RECORD_TROUBLE_STATEMENTS, "and the header says so");
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv(PLACE_ENV_JOB_DIR)) {
        char dir[] = "/tmp/loupe-test-XXXXXX", command[64];
        if (!mkdtemp(dir))
            return 1;
        setenv(PLACE_ENV_JOB_DIR, dir, 1);
        pid_t child = fork();
        if (child == 0) {
            execv("/proc/self/exe", argv);
            _exit(1);
        }
        int status = 1;
        waitpid(child, &status, 0);
        snprintf(command, sizeof command, "rm -rf %s", dir);
        return system(command) || status;
    }
    loupe_process.writer.spare_shm = false;
    test_peers();
    test_threads();
    test_nesting();
    test_regions();
    test_control();
    test_full();
    return tap_done();
}
