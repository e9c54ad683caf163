/* SPDX-License-Identifier: MIT */
/*
 * In each of these collectives one rank is late by MS milliseconds, ROUNDS times: the last one
 * (rank 0 of the reversed communicator), where it matters who is the root or comes first.
 *
 *     latecomer MS ROUNDS [off|one]   off: measurement is off in every second round; one: only
 *                                     that of the last rank
 *
 * In the end rank 0 runs ahead by RUN_AHEAD broadcasts.
 */
#include "checksum.h"
#include <string.h>
#include <time.h>

enum { RUN_AHEAD = 40 };

static void be_late(int late, int ms)
{
    if (late)
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, rank_here, ms = argument(argc, argv, 1, 20);
    int rounds = argument(argc, argv, 2, 3), off = 0;
    long mine, sum, all[64];
    MPI_Comm turned, alone;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int late = rank == size - 1;
    if (argc > 3)
        off = !strcmp(argv[3], "off") || (late && !strcmp(argv[3], "one"));
    uint64_t check = 0;
    be_late(late, ms);
    /* @split */
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Comm_rank(turned, &rank_here);
    for (int round = 0; round < rounds; round++) {
        if (off)
            MPI_Pcontrol(round % 2 ? 0 : 1);
        mine = rank + round;
        MPI_Barrier(MPI_COMM_WORLD); /* @begin */
        be_late(late, ms);
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier */
        be_late(late, ms);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, turned); /* @allreduce */
        check += (uint64_t)sum;
        be_late(late, ms);
        MPI_Bcast(&sum, 1, MPI_LONG, 0, turned); /* @bcast */
        MPI_Barrier(turned);                     /* @between */
        be_late(late, ms);
        MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD); /* @reduce */
        MPI_Barrier(turned);
        be_late(late, ms);
        MPI_Scan(&mine, &sum, 1, MPI_LONG, MPI_SUM, turned); /* @scan */
        check += (uint64_t)sum;
        MPI_Barrier(turned);
        be_late(late, ms);
        MPI_Allgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD); /* @allgather */
        check = mix(check, all, (size_t)size * sizeof *all);
        be_late(late, ms);
        MPI_Ibarrier(turned, &request);        /* @ibarrier */
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* @wait */
        MPI_Barrier(turned);
        /* Posted in time, waited for late: then nobody is waited for, but at the barrier. */
        MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
        be_late(late, ms);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); /* @late-wait */
        check += (uint64_t)sum;
        MPI_Barrier(turned); /* @after */
        be_late(late, ms);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, alone); /* @alone */
    }
    if (off)
        MPI_Pcontrol(1);
    MPI_Barrier(MPI_COMM_WORLD);
    be_late(rank != 0, ms);
    for (int i = 0; i < RUN_AHEAD; i++)
        MPI_Bcast(&check, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD); /* @ahead */
    be_late(late, ms);
    MPI_Barrier(MPI_COMM_WORLD); /* @in-step */
    print_checksum(check);
    MPI_Comm_free(&turned);
    MPI_Comm_free(&alone);
    MPI_Finalize();
    return 0;
}
