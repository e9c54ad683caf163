/* SPDX-License-Identifier: MIT */
/* Waiting, delays and headers in segments become those of the run. Ticks are half nanoseconds. */
#include "jobs.h"

#define SECOND 2000000000

static struct record_statement *event(struct segment *s, uint32_t call, uint64_t offset,
                                      uint64_t ticks, uint64_t sync, uint32_t *index)
{
    struct record_statement *r = segment_statement(s, 0, call, RECORD_NO_MODULE, offset, index);
    segment_event(r, NULL, ticks, 0);
    r->real = ticks + SECOND / 2;
    r->sync = sync;
    return r;
}

static void test_sums(void)
{
    begin();
    for (int rank = 0; rank < 2; rank++) {
        uint32_t recv;
        struct segment s = rank_segment(rank ? "b" : "a", rank, 2);
        struct record_thread *t = segment_thread(&s);
        t->delay = 3 * (int64_t)SECOND;
        t->delay_before = SECOND;
        t->received = SECOND;
        t->received_before = SECOND / 2;
        t->paired = 10;
        t->missing = rank ? 3 : 0;
        t->ambiguous = rank ? 2 : 0;
        event(&s, INIT, 1, SECOND, 0, NULL);
        struct record_statement *r = event(&s, RECV, 2, 2u * SECOND, SECOND, &recv);
        r->unknown = 1;
        r->reordered = 2;
        r->uncertain = 3;
        struct record_peer *p = segment_peer(&s, 0, recv, !rank, RECORD_RECEIVED);
        p->count = 1;
        p->time = 2u * SECOND;
        p->sync = SECOND;
        event(&s, BARRIER, 3, SECOND, SECOND / 4, NULL);
    }
    struct run *run = read_run();
    const struct run_rank *r = &run->ranks[1];
    ok(near(r->overhead_s, 2) && near(run_rank_time(r), r->real_s - 2),
       "the delay since the last reset is the overhead, and not part of the time");
    ok(near(r->probe_s, 1.5), "what did not come from others is its own probes'");
    ok(near(r->mpi_s, 3) && near(r->sync_s, 1.25) && near(run_rank_transfer(r), 1.75),
       "inside MPI, without MPI_Init: waiting and transfer");
    ok(near(run_rank_compute(r) + r->sync_s + run_rank_transfer(r), run_rank_time(r)),
       "with computing they are the rank's time");
    ok(r->paired == 10 && r->missing == 3 && r->ambiguous == 2, "headers");
    ok(isnan(r->preempted_s) && isnan(r->probe_error_s), "what nobody measured is not known");
    ok(warned(run, "rank 1: messages came without their header, so waiting for them counts as "
                   "transfer and their senders' delay stays in the times (3)") &&
           warned(run, "rank 1: messages whose header could not be told from others, so waiting "
                       "for them counts as transfer and their senders' delay stays in the times "
                       "(2)"),
       "missing and ambiguous ones are warned of, with what that means");
    struct run_value v = run_total(run, node_named(run, "MPI_Recv", 2));
    ok(near(v.real, 5) && v.unknown == 2 && v.reordered == 4 && v.uncertain == 6,
       "a statement's real time and what is not sure of it");
    ok(near(v.sync, 2) && near(run_value_transfer(&v), 2) && near(run_value_compute(&v), 0),
       "its waiting and transfer");
    v = run_total(run, node_named(run, "MPI_Init", 1));
    ok(near(v.mpi, 2) && near(v.outside, 2) && near(run_value_transfer(&v), 0),
       "MPI_Init is inside MPI, but no transfer");
    ok(run->peer_count == 2 && near(run->peers[0].sync, 1) &&
           near(run_peer_transfer(&run->peers[0]), 1),
       "its peer's");
    ok(run->compensation == RUN_COMPENSATION_FULL, "all delays are taken out unless said");
    run_free(run);
    end();
}

static void test_threads(void)
{
    begin();
    struct segment s = rank_segment("a", 0, 1);
    for (uint32_t block = 0; block < 3; block++) {
        struct record_thread *t = segment_thread(&s);
        struct record_statement *r = segment_statement(
            &s, block, block < 2 ? BARRIER : RECORD_CALL_REGION, RECORD_NO_MODULE, 1, NULL);
        segment_name(&s, "region");
        segment_event(r, NULL, SECOND, 0);
        r->sync = block ? 0 : SECOND;
        t->delay = block < 2 ? (int64_t)(block + 1) * SECOND : 0;
        t->received = block ? -(int64_t)SECOND : SECOND;
    }
    segment_thread(&s); /* one that has done nothing */
    struct run *run = read_run();
    const struct run_rank *r = &run->ranks[0];
    ok(near(r->mpi_s, 1) && near(r->sync_s, 0.5), "of threads that communicate the mean");
    ok(near(r->overhead_s, 1) && near(r->probe_s, 4.0 / 3), "of those that were delayed the mean");
    run_free(run);
    s.header->control.word = 1u << RECORD_CONTROL_RESET_SHIFT;
    run = read_run();
    ok(run->ranks[0].overhead_s == 0 && run->ranks[0].probe_s == 0,
       "before a block has done a reset nothing of it counts");
    run_free(run);
    end();
}

static void test_signs(void)
{
    begin();
    struct segment s = rank_segment("a", 0, 1);
    struct record_thread *t = segment_thread(&s);
    t->delay = -(int64_t)SECOND;
    struct record_statement *r = event(&s, RECV, 2, SECOND, 0, NULL);
    r->sync = (uint64_t)-4;
    struct run *run = read_run();
    ok(near(run->ranks[0].overhead_s, -1) && near(run_rank_time(&run->ranks[0]), 11),
       "a delay below 0 stands as it is");
    ok(near(run->ranks[0].sync_s, -2e-9), "and a sum that has gone below 0 is not a huge number");
    run_free(run);
    s.header->compensation = RECORD_COMPENSATE_LOCAL;
    run = read_run();
    ok(run->compensation == RUN_COMPENSATION_LOCAL, "compensation is known");
    run_free(run);
    s.header->compensation = 77;
    t->delay = INT64_MIN;
    t->delay_before = INT64_MAX;
    t->received = INT64_MAX;
    t->received_before = INT64_MIN;
    t->paired = UINT64_MAX;
    r->time = r->sync = r->real = UINT64_MAX / 2;
    run = read_run();
    ok(run->rank_count == 1 && isfinite(run->ranks[0].overhead_s) &&
           isfinite(run->ranks[0].probe_s) && isfinite(run->ranks[0].sync_s),
       "nonsense does no harm");
    ok(run->compensation == RUN_COMPENSATION_FULL, "nor does a compensation that is none");
    run_free(run);
    end();
}

/* It lost the processor while we delayed it: what is taken out once is not taken out again. */
static void test_preempted(void)
{
    begin();
    struct segment s = rank_segment("a", 0, 1);
    struct record_thread *t = segment_thread(&s);
    t->looks = 1;
    t->delay = 4 * (int64_t)SECOND;
    t->preempted = 3u * (uint64_t)SECOND;
    event(&s, RECV, 2, 2u * (uint64_t)SECOND, 0, NULL);
    struct run *run = read_run(); /* of 10 s */
    ok(near(run->ranks[0].preempted_s, 3) && near(run_rank_compute(&run->ranks[0]), 1),
       "what was lost outside MPI is no computing");
    run_free(run);
    t->preempted = 5u * (uint64_t)SECOND;
    run = read_run();
    ok(near(run->ranks[0].preempted_s, 4) && near(run_rank_compute(&run->ranks[0]), 0),
       "no more than the time outside MPI, less our delay, was");
    run_free(run);
    t->delay = 9 * (int64_t)SECOND;
    run = read_run();
    ok(run->ranks[0].preempted_s == 0 && near(run_rank_compute(&run->ranks[0]), -1),
       "nor less than nothing");
    run_free(run);
    end();
}

/* A process that is still in a receive: its real time goes on as well. */
static void test_open(void)
{
    begin();
    struct segment s = rank_segment("a", 0, 1);
    s.header->ended = 0;
    s.header->mpi_phase = RECORD_MPI_INITIALIZED;
    s.header->mpi_finalize_begin = s.header->mpi_finalize_end = 0;
    s.header->state = RECORD_RUNNING;
    segment_thread(&s)->last = 10u * (uint64_t)SECOND;
    struct record_statement *r = event(&s, RECV, 2, SECOND, SECOND / 2, NULL);
    r->open = 8u * (uint64_t)SECOND;
    struct run *run = read_run();
    struct run_value v = run_total(run, node_named(run, "MPI_Recv", 2));
    ok(fabs(v.time - 3) < 1e-5 && fabs(v.real - 3.5) < 1e-5 && v.mpi == v.time,
       "an open receive goes on in real time too");
    run_free(run);
    end();
}

static struct record_peer *wait_for(struct segment *s, uint32_t statement, int32_t rank,
                                    uint32_t direction, uint64_t count, uint64_t sync)
{
    struct record_peer *p = segment_peer(s, 0, statement, rank, direction);
    p->count = count;
    p->time = count * SECOND;
    p->sync = sync;
    return p;
}

static void test_peers(void)
{
    begin();
    uint32_t send, barrier;
    struct segment s = rank_segment("a", 0, 1);
    segment_thread(&s);
    event(&s, SEND, 1, SECOND, SECOND, &send);
    event(&s, BARRIER, 2, SECOND, SECOND, &barrier);
    wait_for(&s, send, 3, RECORD_SENT, 2, 0);
    wait_for(&s, send, 1, RECORD_SENT, 1, 0);
    wait_for(&s, send, 3, RECORD_RECEIVED, 0, SECOND); /* a rendezvous */
    wait_for(&s, send, 2, RECORD_RECEIVED, 0, SECOND);
    wait_for(&s, send, 1, RECORD_RECEIVED, 5, SECOND); /* messages: stays what it is */
    wait_for(&s, barrier, 3, RECORD_RECEIVED, 0, SECOND);
    struct run *run = read_run();
    size_t count;
    const struct run_peer *p = run_peers(run, node_named(run, "MPI_Send", 1), &count);
    ok(count == 4, "waiting for whom something was sent to is not a peer of its own");
    ok(count == 4 && p[1].peer == 3 && !p[1].received && p[1].count == 2 && near(p[1].sync, 1) &&
           near(p[1].time, 2),
       "but stands with what was sent to it");
    ok(count == 4 && p[0].peer == 1 && p[0].sync == 0 && p[2].peer == 1 && p[2].count == 5 &&
           p[3].peer == 2 && !run_peer_exchanged(&p[3]) && near(p[3].sync, 1),
       "messages received and waiting for others stay apart");
    p = run_peers(run, node_named(run, "MPI_Barrier", 2), &count);
    ok(count == 1 && p[0].peer == 3 && near(p[0].sync, 1) && !run_peer_exchanged(p),
       "a collective has whom it waited for, without messages");
    run_free(run);
    end();
}

int main(void)
{
    int top = segment_begin(root, sizeof root);
    test_sums();
    test_threads();
    test_signs();
    test_preempted();
    test_open();
    test_peers();
    close(top);
    segment_end(root);
    return tap_done();
}
