/* SPDX-License-Identifier: MIT */
/*
 * Early messages. Rank 0, without probes to speak of, sends jobs faster than the others, with many
 * probes, work on them: each finds its next job waiting, and has still to keep the delay that its
 * own probes made. A rule without the slack of early messages takes that delay away at each
 * receive.
 */
#include "stage.h"

enum { JOB = 1, RESULT = 2 };

static uint64_t prepare(uint64_t job)
{
    return solid(job, 113000);
}

static uint64_t take_job(void)
{
    uint64_t job;
    MPI_Recv(&job, 1, MPI_UINT64_T, 0, JOB, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return job;
}

static uint64_t do_job(uint64_t job)
{
    uint64_t sum = job;
    for (long i = 0; i < 420000; i++)
        sum += grain(job + (uint64_t)i);
    return sum;
}

static uint64_t wait_for_results(void)
{
    uint64_t sum = 0, result;
    for (int r = 1; r < run.ranks; r++) {
        MPI_Recv(&result, 1, MPI_UINT64_T, r, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += result;
    }
    return sum;
}

static void send_jobs(long jobs)
{
    uint64_t job = 1;
    for (long i = 0; i < jobs; i++) {
        double begin = clock_now();
        job = prepare(job);
        stage("prepare", begin);
        for (int r = 1; r < run.ranks; r++)
            MPI_Send(&job, 1, MPI_UINT64_T, r, JOB, MPI_COMM_WORLD);
    }
}

static uint64_t do_jobs(long jobs)
{
    uint64_t sum = 0;
    for (long i = 0; i < jobs; i++) {
        double begin = clock_now();
        uint64_t job = take_job();
        stage("take_job", begin);
        begin = clock_now();
        sum += do_job(job);
        stage("do_job", begin);
    }
    return sum;
}

int main(int argc, char **argv)
{
    long jobs = scale(argc, argv, 32);
    uint64_t sum;
    run_begin(&argc, &argv);
    if (run.rank == 0) {
        send_jobs(jobs);
        double begin = clock_now();
        sum = wait_for_results();
        stage("wait_for_results", begin);
    } else {
        sum = do_jobs(jobs);
        MPI_Send(&sum, 1, MPI_UINT64_T, 0, RESULT, MPI_COMM_WORLD);
    }
    return run_end(sum);
}
