/* SPDX-License-Identifier: MIT */
/* Processes of a job become one run: states, times, one node per statement, warnings. */
#include "jobs.h"

static void test_merge(void)
{
    begin();
    struct run *none = NULL;
    ok(node_read(job, &none) == -ENOENT && !none, "a job without segments is -ENOENT");
    for (int rank = 0; rank < 2; rank++) {
        uint32_t index;
        struct segment s = rank_segment(rank ? "b" : "a", rank, 2);
        for (int block = 0; block < 2; block++) {
            struct record_thread *thread = segment_thread(&s);
            thread->delay = 500; /* of which its partners have caused some */
            thread->received = 60;
        }
        /* the same program, its modules met in another order and under another path */
        uint32_t lib = rank ? segment_module(&s, "/lib/x.so", "") : 0;
        uint32_t app = segment_module(&s, rank ? "/mnt/app" : "/usr/bin/app", "\x01\xab");
        if (!rank)
            lib = segment_module(&s, "/lib/x.so", "");
        uint32_t solve = segment_name(&s, "sol\nve");
        for (uint32_t block = 0; block < 2; block++) {
            segment_statement(&s, block, RECORD_CALL_OTHERS, RECORD_NO_MODULE, 0, NULL);
            struct record_statement *r = segment_statement(&s, block, SEND, app, 0x40, &index);
            struct record_peer *p = segment_peer(&s, block, index, !rank, RECORD_SENT);
            segment_event(r, p, 2000000000, 8);
            segment_event(r, p, 4000000000, 8);
            segment_event(segment_statement(&s, block, RECV, app, 0x40, NULL), NULL, 2000, 0);
            segment_event(segment_statement(&s, block, SEND, lib, 0x40, NULL), NULL, 2000, 0);
            r = segment_statement(&s, block, RECORD_CALL_REGION, app, 0x80, NULL);
            r->name = solve;
            segment_event(r, NULL, 6000000000, 0);
        }
        segment_event(segment_statement(&s, 0, INIT, app, 0x90, NULL), NULL, 2000000000, 0);
    }
    struct run *run = read_run();
    uint32_t send = node_named(run, "MPI_Send", 0x40);
    ok(run->rank_count == 2 && run->ranks[0].rank == 0 && run->ranks[1].rank == 1, "two ranks");
    ok(run->graph.count == 6, "one node per statement, however many threads and processes");
    ok(run->graph.nodes[0].kind == GRAPH_PROGRAM && !strcmp(run->graph.nodes[0].name, "app"),
       "the first is the program");
    ok(send != GRAPH_NONE && !strcmp(run->graph.nodes[send].build_id, "01ab") &&
           !strcmp(run->graph.nodes[send].module, "/usr/bin/app"),
       "nodes know module and build-id");
    struct run_value total = run_total(run, send);
    ok(total.count == 8 && total.bytes == 64 && near(total.time, 12), "values of all are summed");
    ok(near(total.min, 1) && near(total.max, 2), "least and greatest, in seconds");
    size_t count;
    const struct run_peer *peers = run_peers(run, send, &count);
    ok(count == 2 && peers[0].peer == 1 && peers[0].count == 4 && peers[1].peer == 0,
       "peers of the threads of a rank are summed");
    uint32_t region = node_named(run, "sol?ve", 0x80);
    ok(region != GRAPH_NONE && run->graph.nodes[region].kind == GRAPH_REGION,
       "a region has its name, without control characters");
    ok(node_named(run, "(other statements)", 0) == GRAPH_NONE, "nothing was folded");
    const struct run_rank *r = &run->ranks[0];
    ok(r->state == RUN_FINISHED && run->complete && !run->live, "finished, complete");
    ok(near(r->real_s, 10) && near(r->init_real_s, 1) && near(r->finalize_real_s, 1), "its times");
    ok(near(r->mpi_s, 3.000002), "time in MPI is the mean of its threads, without MPI_Init");
    ok(r->events == 11 && r->threads == 2 && fabs(r->overhead_s - 500 * 0.5e-9) < 1e-12 &&
           fabs(r->probe_s - 440 * 0.5e-9) < 1e-12,
       "events and what they cost");
    ok(!strcmp(run->mpi, "Open MPI 4.1.4") && !strcmp(run->program, "app") &&
           !strcmp(run->command[1], "./app") && !strcmp(run->job, job->id) &&
           run->started_ns == job->started_ns && !strcmp(r->host, "here"),
       "what the run was");
    ok(run->warning_count == 0, "no warnings");
    run_free(run);
    end();
}

static void test_states(void)
{
    begin();
    struct segment s[7];
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        s[i] = rank_segment(name, i, 9);
        s[i].header->ended = 0;
    }
    s[1].header->state = RECORD_RUNNING; /* dead after MPI_Finalize */
    s[2].header->state = RECORD_RUNNING; /* dead before it */
    s[2].header->mpi_phase = RECORD_MPI_INITIALIZED;
    s[2].header->mpi_finalize_begin = s[2].header->mpi_finalize_end = 0;
    struct record_thread *t = segment_thread(&s[2]);
    t->last = 8000000000;
    t->depth = 1;
    t->frames[0] = (struct record_frame){.begin = 10000000000, .statement = 0};
    segment_statement(&s[2], 0, BARRIER, RECORD_NO_MODULE, 1, NULL)->count = 1;
    s[3].header->state = RECORD_EXITED;
    s[3].header->mpi_phase = RECORD_MPI_INITIALIZED;
    s[3].header->exit_code = 3;
    s[4].header->state = s[5].header->state = RECORD_ABORTED;
    s[4].header->exit_code = s[5].header->exit_code = 5;
    s[6].header->state = RECORD_RUNNING; /* alive */
    s[6].header->mpi_phase = RECORD_MPI_INITIALIZED;
    s[6].header->pid = getpid();
    s[6].header->pid_started = process_started(getpid());
    s[6].header->mpi_finalize_begin = s[6].header->mpi_finalize_end = 0;
    struct run *run = read_run();
    static const enum run_state expected[] = {RUN_FINISHED, RUN_FINISHED, RUN_KILLED, RUN_EXITED,
                                              RUN_ABORTED,  RUN_ABORTED,  RUN_RUNNING};
    static const char *const words[] = {"finished: finished",
                                        "dead after MPI_Finalize: finished",
                                        "dead while running: killed",
                                        "exit: exited",
                                        "MPI_Abort: aborted",
                                        "another one",
                                        "alive: running"};
    ok(run->rank_count == 7, "all ranks are there");
    for (size_t i = 0; i < 7 && i < run->rank_count; i++)
        ok(run->ranks[i].state == expected[i], "%s", words[i]);
    ok(near(run->ranks[2].real_s, 3), "a killed rank's time ends with what it told last");
    ok(run->ranks[3].exit_code == 3 && run->ranks[0].exit_code == -1, "exit codes");
    ok(run->live && !run->complete, "some still run, so it is not complete");
    ok(warned(run, "rank 2 was killed; its statistics end there"), "a warning about the killed");
    ok(warned(run, "rank 3 ended without MPI_Finalize (exit code 3)"), "about the exited");
    ok(warned(run, "ranks 4,5 called MPI_Abort; their statistics end there (exit code 5)"),
       "about both that aborted, in one line");
    ok(warned(run, "only 7 of 9 ranks were on this machine or left statistics"),
       "about the missing");
    size_t before = run->warning_count;
    run->ranks[2].signal = 9;
    node_warn_endings(run);
    ok(warned(run, "rank 2 was killed by signal 9; its statistics end there"), "with the signal");
    ok(run->warning_count == before, "in place of the one without");
    run_free(run);
    end();
}

static void test_trouble(void)
{
    begin();
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        struct segment s = rank_segment(name, i, 6);
        if (i != 4)
            s.header->trouble = RECORD_TROUBLE_PEERS;
        if (i < 2) {
            s.header->trouble |= RECORD_TROUBLE_REQUESTS;
            s.header->dropped_requests = 10;
        }
        if (i == 5)
            s.header->extents[1].chunks = 1;
    }
    struct segment bad = segment_new(dir, "bad");
    bad.header->magic++;
    struct segment later = segment_new(dir, "later");
    later.header->magic = 0;
    struct run *run = read_run();
    ok(warned(run, "ranks 0-3,5: a statement has more peers than are kept, the rest is summed up "
                   "as others"),
       "the same trouble of several ranks is one line");
    ok(warned(run, "ranks 0,1: too many requests pending, some receives have no peer (20 in all)"),
       "amounts are summed");
    ok(warned(run, "rank 5: its statistics are damaged, what made no sense was left out"),
       "damage is said");
    ok(warned(run, "the statistics of one process cannot be read (bad): they are damaged"),
       "and what cannot be read at all");
    ok(run->warning_count == 4, "one that is not yet written is not worth a warning");
    ok(run->rank_count == 6 && !run->complete, "a run with an unreadable process is incomplete");
    run_free(run);
    end();
}

static void test_wrappers(void)
{
    begin();
    struct segment shell = rank_segment("shell", 0, 1), helper = rank_segment("helper", 1, 1);
    shell.header->mpi_phase = helper.header->mpi_phase = RECORD_MPI_NONE;
    shell.header->rank = helper.header->rank = -1;
    shell.header->exec_root = 1;
    segment_thread(&helper);
    segment_event(segment_statement(&helper, 0, RECORD_CALL_OTHERS, RECORD_NO_MODULE, 0, NULL),
                  NULL, 10, 0);
    struct segment real = rank_segment("real", 0, 1);
    real.header->pid = shell.header->pid;
    real.header->started += 10;
    struct run *run = read_run();
    ok(run->rank_count == 2, "a shell around an MPI program is no rank");
    ok(run->ranks[0].mpi && run->ranks[0].rank == 0, "the MPI program is");
    ok(!run->ranks[1].mpi && run->ranks[1].rank == 1 && run->complete,
       "a process without MPI but with statistics stands behind it");
    int total;
    ok(job_alive(job, &total) == 0 && total == 2, "shell and program are one process");
    run_free(run);
    end();
}

static void test_without_mpi(void)
{
    begin();
    struct segment s[3];
    static const char *const names[] = {"old", "new", "child"};
    for (int i = 0; i < 3; i++) {
        s[i] = rank_segment(names[i], -1, 0);
        s[i].header->mpi_phase = RECORD_MPI_NONE;
        s[i].header->pid = i == 2 ? 100000001 : 100000000;
        s[i].header->started = 1000000000u * (unsigned)(i + 1);
        s[i].header->exec_root = i < 2;
    }
    s[0].header->state = RECORD_RUNNING; /* exec leaves no time to say so */
    strcpy(s[0].header->program, "/bin/sh");
    strcpy(s[1].header->program, "/usr/bin/solver");
    struct run *run = read_run();
    ok(run->rank_count == 1 && run->ranks[0].rank == 0 && !run->ranks[0].mpi,
       "of an exec chain the last program is kept, a child without statistics is not");
    ok(!strcmp(run->program, "solver") && !run->mpi, "it names the run");
    ok(near(run->ranks[0].real_s, 13) && run->complete, "from its start to its end");
    run_free(run);
    s[1].header->reset_at = 26000000000;
    run = read_run();
    ok(near(run->ranks[0].real_s, 1), "or from the last reset");
    run_free(run);
    segment_thread(&s[0]);
    segment_event(segment_statement(&s[0], 0, RECORD_CALL_OTHERS, RECORD_NO_MODULE, 0, NULL), NULL,
                  10, 0);
    run = read_run();
    ok(run->rank_count == 2 && run->ranks[0].state == RUN_FINISHED,
       "a program that was replaced by exec has finished");
    run_free(run);
    end();
}

/* Moves a rank's whole life by so many ticks. */
static void later(struct segment *s, uint64_t ticks)
{
    struct record_header *h = s->header;
    h->started += ticks;
    h->mpi_init_begin += ticks;
    h->mpi_init_end += ticks;
    h->mpi_finalize_begin += ticks;
    h->mpi_finalize_end += ticks;
    h->ended += ticks;
}

static int32_t world_of(const struct run *run, int32_t pid)
{
    for (size_t i = 0; i < run->rank_count; i++)
        if (run->ranks[i].pid == pid)
            return run->ranks[i].world;
    return -1;
}

static void test_worlds(void)
{
    /* Three programs of two ranks: the second a little after the first, the third after their end;
     * and one of three ranks beside the first. */
    static const struct {
        int rank, size;
        uint64_t late;
        int32_t world;
    } ranks[] = {{0, 2, 0, 0},      {1, 2, 1000, 0},        {0, 2, 500000, 2},
                 {1, 2, 498000, 2}, {0, 2, 30000000000, 3}, {1, 2, 30000001000, 3},
                 {0, 3, 2000, 1},   {1, 3, 2000, 1},        {2, 3, 2000, 1}};
    enum { COUNT = sizeof ranks / sizeof *ranks };
    begin();
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", (i * 7 + 3) % COUNT);
        struct segment s = rank_segment(name, ranks[i].rank, ranks[i].size);
        s.header->pid = 100000000 + i;
        later(&s, ranks[i].late);
    }
    struct run *run = read_run();
    bool right = run->rank_count == COUNT;
    for (int i = 0; i < COUNT; i++)
        right &= world_of(run, 100000000 + i) == ranks[i].world;
    ok(right, "programs that MPI was started for are told apart by when they began");
    ok(run->complete && run->ranks[0].world == 0 && run->ranks[COUNT - 1].world == 3,
       "each is complete, and they stand in their order");
    ok(warned(run, "MPI was started 4 times; w1:0 is rank 0 of the second one, and the efficiency "
                   "is of all together. For a report of each: loupe run before each mpirun"),
       "and it is said");
    run_free(run);
    end();
}

int main(void)
{
    int top = segment_begin(root, sizeof root);
    test_merge();
    test_states();
    test_trouble();
    test_wrappers();
    test_without_mpi();
    test_worlds();
    close(top);
    segment_end(root);
    return tap_done();
}
