/* SPDX-License-Identifier: MIT */
/*
 * The master/worker program of paper 4's Table 1: the master waits for a request from any worker
 * and sends it a packet of random numbers; the workers find out which points are below the curve.
 * The probes are the workers', and it is the master that waits for them.
 */
#include "stage.h"

enum { NUMBERS = 256, EACH = 7, REQUEST = 1, PACKET = 2 };

static double packet[2 * NUMBERS];
static uint64_t state = 88172645463325252u, check;

static void generate(void)
{
    for (int i = 0; i < 2 * NUMBERS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        packet[i] = (double)(state >> 11) * 0x1p-53;
    }
}

/* Whether the point is below the curve; and what came with it, so that a visit takes some 75 ns. */
__attribute__((noinline)) static int is_below(double x, double y)
{
    check += GRAIN((uint64_t)(x * 0x1p53));
    return y * (1 + x * x) < 1;
}

static long count_points(void)
{
    long hits = 0;
    for (int i = 0; i < NUMBERS; i++)
        for (int j = 0; j < EACH; j++)
            hits += is_below(packet[i], packet[NUMBERS + (i + j) % NUMBERS]);
    return hits;
}

static int wait_for_request(long *hits)
{
    MPI_Status status;
    long found;
    MPI_Recv(&found, 1, MPI_LONG, MPI_ANY_SOURCE, REQUEST, MPI_COMM_WORLD, &status);
    *hits += found;
    return status.MPI_SOURCE;
}

static void get_packet(long hits)
{
    MPI_Send(&hits, 1, MPI_LONG, 0, REQUEST, MPI_COMM_WORLD);
    MPI_Recv(packet, 2 * NUMBERS, MPI_DOUBLE, 0, PACKET, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static long serve(long packets)
{
    long hits = 0;
    int working = run.ranks - 1;
    while (working > 0) {
        double begin = clock_now();
        if (packets-- > 0) {
            generate();
            stage("generate", begin);
        } else {
            packet[0] = -1; /* no more */
            working--;
        }
        begin = clock_now();
        int worker = wait_for_request(&hits);
        stage("wait_for_request", begin);
        MPI_Send(packet, 2 * NUMBERS, MPI_DOUBLE, worker, PACKET, MPI_COMM_WORLD);
    }
    return hits;
}

static void work(void)
{
    long hits = 0;
    for (;;) {
        double begin = clock_now();
        get_packet(hits);
        stage("get_packet", begin);
        if (packet[0] < 0)
            return;
        begin = clock_now();
        hits = count_points();
        stage("count_points", begin);
    }
}

int main(int argc, char **argv)
{
    long packets = scale(argc, argv, 7000), hits = 0;
    run_begin(&argc, &argv);
    if (run.rank == 0)
        hits = serve(packets);
    else
        work();
    return run_end((uint64_t)hits + check);
}
