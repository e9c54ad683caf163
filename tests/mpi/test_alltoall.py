#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All-to-all: bytes are what a rank sends to all, itself included, with a peer per destination."""
import loupetest as lt

RANKS, ROUNDS, N = 4, 3, 5


def expect(run, marker, call, size):
    """size(i, j): bytes that i sends to j in one round."""
    ranks = range(RANKS)
    run.expect(marker, call,
               {i: (ROUNDS, ROUNDS * sum(size(i, j) for j in ranks)) for i in ranks},
               sent={(i, j): (ROUNDS, ROUNDS * size(i, j)) for i in ranks for j in ranks})


def all_forms():
    run = lt.monitor_checked("alltoall", RANKS, ROUNDS, N)
    expect(run, "alltoall", "MPI_Alltoall", lambda i, j: N * 8)
    expect(run, "in-place", "MPI_Alltoall", lambda i, j: N * 8)
    expect(run, "ialltoall", "MPI_Ialltoall", lambda i, j: N * 8)
    expect(run, "alltoallv", "MPI_Alltoallv", lambda i, j: (i + j + 1) * 8)
    expect(run, "ialltoallv", "MPI_Ialltoallv", lambda i, j: (i + j + 1) * 4)
    for marker, call in (("alltoallw", "MPI_Alltoallw"), ("ialltoallw", "MPI_Ialltoallw")):
        expect(run, marker, call, lambda i, j: (i + j + 1) * (8 if j % 2 else 4))
    run.expect("wait", "MPI_Wait", lt.uniform(RANKS, ROUNDS, 0))


lt.main(all_forms)
